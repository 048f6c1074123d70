"""English text passes, whatever names it contains; other languages are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.language import unknown_language

ENGLISH = [
    "Employees may take 16 weeks of paid parental leave.",
    "Rooms cost €120 per night, €600 per week.",
    "Employees receive 25 vacation days per year, plus 2 per decade.",
    "Ludwig Mies van der Rohe designed Barcelona Pavilion.",
    "Leonardo da Vinci, Vincent van Gogh, Simone de Beauvoir, Oscar de la Hoya",
    "Los Angeles beat El Paso 3-2 yesterday.",
    "Soldiers die, war over: two generals met.",
    "The Schadenfreude of the maître d'hôtel was visible in the Champs-Élysées.",
    "Siemens AG, Rüdesheim: 4,711 units; Nestlé SA, Vevey: 12,000 units.",
    "MIT beat MIT alumni 3-1",
    "ORDERS OVER 100 EUR SHIP FREE WITHIN THE EU",
    "The angle α is 30° and β is 60°.",
    '{"name": "La Casa de los Tacos", "city": "Santa Barbara", "stars": 4.5, "open": true}',
    "12,5 % 17.3.2024 €1.249,50 – 42",
    "",
    # Titles, names and addresses
    "Les Misérables, La Bohème, Der Ring des Nibelungen, Così fan tutte",
    "Kylian Mbappé, Luka Modrić, Erling Haaland, Robert Lewandowski, Łukasz Fabiański",
    "Universidad Nacional de La Plata, Banco do Brasil, Rio de Janeiro, Ciudad de México",
    "12 rue de la Paix, 75002 Paris, France",
    "The Embassy of China (Russian: Посольство Китайской Народной Республики) is in Moscow.",
    "Effects were reported by Chen et al., van der Laan et al. and Müller et al.",
    # Lists, records and tables
    "flour, sugar, butter, eggs, vanilla extract, baking powder, salt, milk, cinnamon, walnuts",
    "red green blue yellow orange purple black white grey pink brown cyan magenta teal olive navy",
    "cheap hotel paris july family room breakfast included parking pool wifi",
    "name: Cafe Luna. city: Austin. hours: Monday 8:00 to 22:00, Sunday 10:00 to 16:00.",
    "title: Cataract. Symptoms: Faded colors, blurry vision, halos around light, trouble seeing at "
    "night. Causes: Aging, trauma, radiation exposure, eye surgery. Treatment: Glasses, surgery.",
    "| Plan | Price |\n|---|---|\n| Basic | $10 |\n| Pro | $25 |",
    "amoxicillin 500 mg po tid x 7 days, ibuprofen 400 mg prn pain",
    "Escherichia coli, Staphylococcus aureus, Homo sapiens, Canis lupus familiaris",
    "habeas corpus, mens rea, actus reus, pro bono, de facto, prima facie, ex post facto",
    "Grilled jalapeño poppers, piñata cake, café latte, crème fraîche, pâté, soufflé",
    # Code and addresses
    "def total(items): return sum(item.price for item in items)",
    "import io\nimport os\nimport re\nimport sys\nfrom typing import Any as Each",
    "SELECT name, price FROM plans WHERE seats > 5 ORDER BY price DESC LIMIT 10;",
    "body { margin: 0; padding: 0; font-family: sans-serif; color: #333; }",
    "kubectl get pods -n kube-system -o wide --show-labels",
    "[1] https://www.accasoftware.com/en/bim-gis [2] https://www.esri.com/en-us/arcgis/overview",
    "A -- B -- C -- D -- E -- I -- O -- S -- U -- V -- Y -- Z",
    '<span id="choose-primary-care-provider">',
    # Names and Latin in an English sentence
    "Kraków, Łódź, Wrocław and Gdańsk are cities.",
    "Nguyễn Văn Thiệu met Đặng Văn Quang.",
    "The Bundesverfassungsgericht ruled on Grundgesetz matters.",
    "The doctrine of res ipsa loquitur applies.",
    "The plaintiff filed a habeas corpus petition pro se; certiorari was denied.",
    "Metformin inhibits hepatic gluconeogenesis in diabetes mellitus.",
]
OTHERS = [
    ("German", "Der Chef genehmigt keine Reisen"),
    ("French", "La directrice approuve les voyages"),
    ("German", "Die Elternzeit dauert sechzehn Wochen und wird von der Firma bezahlt."),
    ("German", "DIE KOSTEN SIND HOCH UND DAS IST NICHT GUT"),
    ("French", "Le congé parental dure seize semaines et il est payé par l'entreprise."),
    ("Spanish", "Las empleadas tienen dieciséis semanas de permiso y se paga por la empresa."),
    ("Italian", "Il congedo parentale dura sedici settimane ed è pagato dalla società."),
    ("Portuguese", "A licença parental é de dezesseis semanas e não é paga pela empresa."),
    ("Dutch", "Het ouderschapsverlof duurt zestien weken en wordt door de werkgever betaald."),
    ("Cyrillic", "Отпуск длится шестнадцать недель."),
    ("CJK", "育児休暇は十六週間です。"),
    ("CJK", "育兒假為十六週"),
    ("Hangul", "육아 휴직은 16주입니다."),
    ("Arabic", "إجازة الوالدين ستة عشر أسبوعا"),
    ("Hebrew", "חופשת הלידה היא שישה עשר שבועות"),
    ("Greek", "Η άδεια διαρκεί δεκαέξι εβδομάδες."),
    ("Devanagari", "पैतृक अवकाश सोलह सप्ताह का है"),
]


# Two sentences, then one.
SENTENCES = {
    "Polish": [
        "Urlop rodzicielski trwa szesnaście tygodni i jest płatny przez pracodawcę. "
        "Wniosek należy złożyć do działu kadr.",
        "Biuro jest zamknięte w niedziele oraz święta.",
        "Umowa wygasa po dwóch latach, jeśli nikt jej nie przedłuży.",
    ],
    "Turkish": [
        "Ebeveyn izni on altı hafta sürer ve işveren tarafından ödenir. "
        "Başvuru insan kaynaklarına yapılır.",
        "Maaşlar her ayın son günü ödenir.",
        "Ofis pazar günleri kapalıdır ve telefonlara bakılmaz.",
    ],
    "Finnish": [
        "Vanhempainvapaa kestää kuusitoista viikkoa ja työnantaja maksaa sen. "
        "Hakemus tehdään henkilöstöosastolle.",
        "Toimisto on suljettu sunnuntaisin ja juhlapyhinä.",
    ],
    "Dutch": [
        "Het ouderschapsverlof duurt zestien weken en wordt door de werkgever betaald. "
        "De aanvraag gaat naar personeelszaken.",
        "Het salaris komt op de laatste dag van de maand.",
        "Is het kantoor in de zomer open of niet?",
    ],
    "German": [
        "Die Elternzeit dauert sechzehn Wochen. Der Arbeitgeber zahlt sie.",
        "Der Urlaub beträgt dreißig Tage im Jahr.",
        "Das Büro ist sonntags geschlossen.",
        "Im Winter gilt das nicht.",
    ],
    "Swedish": [
        "Föräldraledigheten är sexton veckor och betalas av arbetsgivaren. "
        "Ansökan lämnas till personalavdelningen.",
        "Kontoret är stängt på söndagar.",
        "Lönen betalas ut den sista dagen i månaden.",
    ],
    "Danish": [
        "Forældreorloven varer seksten uger og betales af arbejdsgiveren. "
        "Ansøgningen sendes til personaleafdelingen.",
        "Kontoret er lukket om søndagen.",
    ],
    "Norwegian": [
        "Foreldrepermisjonen varer i seksten uker og betales av arbeidsgiveren. "
        "Søknaden sendes til personalavdelingen.",
        "Lønnen utbetales den siste dagen i måneden.",
    ],
    "Czech": [
        "Rodičovská dovolená trvá šestnáct týdnů a platí ji zaměstnavatel. "
        "Žádost se podává na personálním oddělení.",
        "Kancelář je v neděli zavřená.",
    ],
    "Hungarian": [
        "A szülői szabadság tizenhat hétig tart, és a munkáltató fizeti. "
        "A kérelmet a személyzeti osztályra kell benyújtani.",
        "Az iroda vasárnap zárva van.",
    ],
    "Romanian": [
        "Concediul parental durează șaisprezece săptămâni și este plătit de angajator. "
        "Cererea se depune la resurse umane.",
        "Salariul se plătește în ultima zi a lunii.",
    ],
    "Italian": [
        "Il congedo parentale dura sedici settimane ed è pagato dal datore di lavoro. "
        "La domanda va presentata all'ufficio del personale.",
        "Lo stipendio arriva l'ultimo giorno del mese.",
    ],
    "Portuguese": [
        "A licença parental dura dezesseis semanas e é paga pela empresa. "
        "O pedido deve ser entregue ao setor de pessoal.",
        "O salário é pago no último dia do mês.",
    ],
    "Spanish": [
        "El permiso parental dura dieciséis semanas y lo paga la empresa. "
        "La solicitud se presenta en recursos humanos.",
        "La oficina cierra los domingos.",
        "El jefe no aprueba viajes",
    ],
    "French": [
        "Le congé parental dure seize semaines et l'employeur le paie. "
        "La demande est déposée au service du personnel.",
        "Le salaire est versé le dernier jour du mois.",
    ],
    "Indonesian": [
        "Cuti orang tua berlangsung enam belas minggu dan dibayar oleh perusahaan. "
        "Permohonan diajukan ke bagian personalia.",
        "Gaji dibayarkan pada hari terakhir setiap bulan.",
    ],
    "Vietnamese": [
        "Thời gian nghỉ phép của cha mẹ là mười sáu tuần và được công ty trả lương. "
        "Đơn xin nghỉ được gửi đến phòng nhân sự.",
        "Văn phòng đóng cửa vào ngày chủ nhật.",
    ],
    "Croatian": [
        "Roditeljski dopust traje šesnaest tjedana i plaća ga poslodavac. "
        "Zahtjev se predaje kadrovskoj službi.",
        "Plaća se isplaćuje zadnji dan u mjesecu.",
    ],
}
PROSE = (
    "Parents who work here can take sixteen weeks of leave, and the company pays for all of it. "
    "Send the form to the staff office before the baby is due. If you come back early, tell your "
    "manager first. The office is closed on Sundays and public holidays."
)
MALAGASY = (
    "Maharitra enina ambin'ny folo herinandro ny fialan-tsasatra ho an'ny ray aman-dreny ary "
    "ny mpampiasa no mandoa izany. Alefa any amin'ny sampana mikarakara ny mpiasa ny "
    "fangatahana, ka tsy maintsy miandry valiny soratana ny mpiasa alohan'ny hialany, raha "
    "tsy misy antony manokana eken'ny lehibeny ao anatin'ny herinandro vitsivitsy."
)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_not_flagged(text: str) -> None:
    assert unknown_language(text) == ""


@pytest.mark.parametrize(("name", "text"), OTHERS)
def test_other_languages_are_named(name: str, text: str) -> None:
    assert unknown_language(text).removesuffix(" script") == name


@pytest.mark.parametrize("text", ["Die Katze", "Le chat est noir", "La vita è bella", "über"])
def test_a_few_words_cannot_be_told(text: str) -> None:
    assert unknown_language(text) == ""


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in SENTENCES.items() for text in texts]
)
def test_sentences_of_other_languages(name: str, text: str) -> None:
    # Where two languages share what is there, none is named.
    assert unknown_language(text) in (name, "another language")


@pytest.mark.parametrize("name", ["Polish", "Turkish", "Finnish", "Dutch", "Swedish", "Romanian"])
def test_longer_text_is_named(name: str) -> None:
    assert unknown_language(" ".join(SENTENCES[name])) == name


def test_a_language_without_accents_is_named() -> None:
    assert unknown_language(MALAGASY) == "Malagasy"


@pytest.mark.parametrize("name", SENTENCES)
def test_a_long_text_is_read_to_its_end(name: str) -> None:
    english, other = f"{PROSE} " * 40, " ".join(SENTENCES[name]) + " "
    assert unknown_language(other * (len(english) // len(other)) * 3) != ""
    assert unknown_language(other * 2 + english) == ""
    assert unknown_language(ENGLISH[0] + other * (4 * len(english) // len(other))) != ""


def test_one_word_of_another_script_can() -> None:
    assert unknown_language("漢字") == "CJK script"


def test_a_quotation_does_not_make_a_text_foreign() -> None:
    quoted = "The sign says „Das Betreten der Baustelle ist nicht erlaubt“ and it is old."
    assert unknown_language(quoted) == ""
    assert unknown_language("The board of 株式会社 met in Tokyo. It was a long day.") == ""


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(unknown_language(text), str)
