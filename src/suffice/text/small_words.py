"""The small words that tell a language: articles, prepositions, forms of "to be"."""

from __future__ import annotations

from collections.abc import Iterable

from suffice.text.words import STOP_WORDS

ENGLISH = STOP_WORDS

# Frequent English words that are not small: a terse text may have no others.
COMMON = frozenset(
    """available based best book born business called case change children city code common company
    cost country date day days different early example family feature file film first five
    following food found four free friends full game good government great group half head health
    high history home hour hours house import important include includes including input items
    known large last law left less level life line list long main major means member members men
    minutes money month months music name named names national never new next number off office
    old open order output page part pay people person place play played power price produced
    public rate read region released report result results right role room said school season
    second series service set several show side single size small song source staff standard
    start state states story street support system team text three time times title total town
    two type university user using value version war water way week weeks well white woman women
    word words work works world written year years young""".split()
)

_OTHERS = {
    "German": """der die das und ist sind war waren ein eine einen einer eines einem nicht mit für
        auf von zu zum zur im den dem des sich auch werden wird wurde wurden haben hat bei beim nach
        über aus wie oder aber als an am in es er sie ich wir ihr kann können muss müssen soll nur
        noch mehr durch vor bis wenn dass kein keine keinen diese dieser dieses alle um unter gibt
        pro je ab ins vom ohne gegen zwischen seit während weil dann sein seine ihre ihrer ihren so
        man was will also hier dort mich""",
    "French": """le la les des est sont et un une dans pour pas avec sur par que qui du au aux ce
        cette ces il elle nous vous ils elles ont été être plus leur leurs ou mais de en se sa son
        ses ne où comme tout tous toute sans sous entre fait peut doit très même si quand après
        avant depuis donc ainsi aussi dont on a""",
    "Spanish": """el la los las de del es son un una unos unas en para con por que se su sus al lo
        como más pero fue ha han este esta estos estas ser muy también no si sin sobre entre cuando
        donde hay está están tiene tienen puede pueden debe hasta desde ya todo todos cada porque
        a me he""",
    "Italian": """il lo la gli le di del della dello dei degli delle è sono un una uno per non con
        da dal dalla che si suo sua al alla alle come più ma fu ha hanno questo questa questi anche
        nel nella nei nelle dai dalle ai dell nell dall sull ed se ci essere stato stata viene può
        deve sul sulla tra fra ogni quando dove cui loro tutti tutte solo senza dopo mentre a i in
        no so all""",
    "Portuguese": """da do de é são um uma em para não por que se seu sua ao à aos como mais mas foi
        tem este esta também dos das pela pelo ser está na nas nos os ou sem sobre entre quando onde
        pode podem deve até já todos cada isso antes depois muito outros a as no me""",
    "Dutch": """de het een en is zijn was niet met voor op van te in den der zich ook worden wordt
        werd hebben heeft bij naar over uit als of maar dat die deze dit er om door aan tot kan
        kunnen moet moeten geen meer wel nog ze zij hij wij ik je per onder tussen tegen zonder nu
        dan daar hier hun haar ons onze alle elke na zal zullen omdat waar veel had we me want""",
    "Afrikaans": """die nie en van is het vir om te met op wat word sal kan aan deur moet hierdie as
        by uit ook sy hulle jou was of in""",
    "Swedish": """och att det som en på är av för med den till inte om ett de vid har från kan ska
        skall eller men var sig så när också efter över under utan mellan denna detta dessa måste
        får alla mer sin sitt sina vi du han hon blir varje hos man i""",
    "Danish": """og at det er en som på af til med den ikke der et de har fra kan skal eller men var
        sig så når også efter over under uden mellem denne dette disse må får alle mere sin vi du
        han hun bliver hver ved om for i man""",
    "Norwegian": """og det er en som på av til med den ikke et de har fra kan skal eller men var seg
        så når også etter over under uten mellom denne dette disse må får alle mer sin vi du han hun
        blir hver ved om å ei eit ikkje ein frå for i at man""",
    "Icelandic": """og að er í á sem ekki við um til en var með það af hann fyrir eru frá eða hún
        þeir þessi verður hefur""",
    "Finnish": """ja on ei se että oli ovat mutta kun niin tai myös kuin sen jos vain ole hän tämä
        nämä joka jotka voi voidaan sekä ollut olla mukaan kanssa sitä hänen noin jälkeen ennen yli
        kaikki mitä eikä ne tämän he""",
    "Estonian": """ja on ei et see oli kui aga ning või ka mis selle kes oma ole kõik pärast enne
        üle siis sest nii mida as""",
    "Polish": """i w na z do się nie jest to że jak od po przez dla są za był była było oraz ale lub
        które który która przy tym tego jego jej czy może można tylko już bez pod nad między gdy być
        ma mają we ze tej tych a""",
    "Czech": """a v na se je že z do s k i to jako za po pro jsou byl byla bylo nebo ale který která
        které při od podle být má mají není může lze také jen už ve ze by pokud tento tato toto jeho
        její""",
    "Slovak": """a v na sa je že z do s k aj to ako za po pre sú bol bola bolo alebo ale ktorý ktorá
        ktoré pri od podľa byť má majú nie môže tiež len už vo zo by ak tento táto toto jeho""",
    "Slovenian": """je in v na se za da so z s ne pri ki po od do ali pa kot bi lahko tudi če iz ni
        to ta več med še sta bil bila""",
    "Croatian": """je i u na se da za su od s ne što kao iz po ili koji koja koje nije će biti bio
        bila može samo ako sa do nema ovaj ova ovo prema već to a""",
    "Hungarian": """a az és hogy nem is egy van volt meg csak de ha vagy mint már még ez azt el ki
        be fel majd után között kell lehet minden ezt ahol amely aki nincs lesz szerint alatt""",
    "Romanian": """și în de la cu nu este sunt un o pe din care se ce mai sau dar pentru a fost fi
        prin al ale ai lui ca să au are după până fără între când această acest nici doar""",
    "Turkish": """ve bir bu için ile de da çok daha olarak gibi kadar var yok ne mi mı ama veya
        değil olan ise sonra önce her en ya göre olduğu tarafından""",
    "Lithuanian": """ir yra kad su į iš ne tai kaip buvo nuo už bet ar arba taip pat per po prie
        apie kuris kurie dėl tik gali turi būti jo jos""",
    "Latvian": """un ir ar no uz ka par tas kas tiek vai bet lai pēc kā arī nav pie līdz šī šis var
        bija to ja tikai""",
    "Indonesian": """yang dan di ke dari untuk dengan ini itu tidak adalah pada dalam akan oleh atau
        juga dapat bisa telah sudah karena sebagai ada lebih saya anda kami mereka harus setiap bagi
        selama para seperti semua satu sebuah lain tak jika bila ketika sedang setelah antara sama
        secara bahwa belum hanya""",
    "Tagalog": "ang ng mga sa na ay at para hindi ito kung mula ni kanilang siya may",
    "Swahili": """ya na wa kwa ni katika za la kuwa hii hiyo huo kama cha vya lakini au pia hiki
        watu""",
    "Vietnamese": """và của là không có được cho một các này trong với người để đã những khi từ
        đến""",
    "Catalan": """el la els les de del dels és són un una en per amb que es al als com més però va
        ha han aquest aquesta també ser si sense sobre entre quan pot cada seu seva i a no""",
    "Albanian": "dhe në të për nga një është që nuk se ka si më janë ose por këtë me i a",
    "Welsh": "yr ac yn ar mae gan wedi ei eu bod nid gyda fel oedd i am",
    "Irish": "agus na ar ag bhí tá ní san ina leis le go an is a i as do",
    "Basque": "eta da ez bat du dira ere edo baina izan dute egin hau",
}

# Written alike in English: "€120 per night, €600 per week" is not Italian.
_ALSO_ENGLISH = frozenset(
    """al ale come dan door due far fi had hat hem kind man med men mere met ma non over par per
    plus pod pot pour pro see sin son ten tot van var vet want war""".split()
)
_SMALL = {name: frozenset(words.split()) for name, words in _OTHERS.items()}


def _languages(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found = {word: tuple(name for name, small in _SMALL.items() if word in small) for word in words}
    return {word: names for word, names in found.items() if names}


OWN = _languages(frozenset().union(*_SMALL.values()) - ENGLISH - COMMON - _ALSO_ENGLISH)
"""The languages that have a word among their small ones, where English has it not."""
ELSEWHERE = _languages(ENGLISH | COMMON)
"""The same of an English word."""
ENGLISH_ALONE = (ENGLISH | COMMON) - ELSEWHERE.keys()
