"""Recognises verbs and their forms: a lexicon and spelling rules, no tagger.

A word that is also a common noun is disambiguated by its neighbours; see `clauses`.
"""

from __future__ import annotations

from enum import Flag, auto


class Form(Flag):
    """The forms a word may have as a verb."""

    NONE = 0
    BASE = auto()
    S = auto()
    PAST = auto()
    PARTICIPLE = auto()
    ING = auto()


MODALS = frozenset("can could may might must shall should will would cannot".split())
BE = frozenset("is are was were am isn't aren't wasn't weren't".split())
HAVE = frozenset("has have had hasn't haven't hadn't".split())
DO = frozenset("does do did doesn't don't didn't".split())
NEGATED_MODALS = frozenset("can't couldn't mustn't shouldn't won't wouldn't".split())
AUXILIARIES = MODALS | BE | HAVE | DO | NEGATED_MODALS

# Verbs that are rarely anything else.
_PLAIN = """
accept accommodate accompany accrue achieve acknowledge acquire adapt add address adjust adopt
advertise advise affect agree allocate allow amend announce apply appoint appreciate approve argue
arise arrange arrive ask assess assign assist assume attend attract authorize avoid become begin
believe belong bring build buy calculate cancel carry celebrate choose clarify close collect
combine commence compare complete comply comprise conclude conduct confirm consider consist
consolidate construct consult contain continue contribute convert create decide declare decline
define deliver deny depend derive describe determine develop die disclose discover discuss dismiss
display distribute divide earn educate eliminate employ enable encourage enforce enhance enjoy
enroll ensure enter establish evaluate examine exceed exclude exist expand expect expire explain
explore expose express extend facilitate fail feature file finalize finance follow forbid found
generate get give go govern grant grow guarantee handle happen have hear help hire hold identify
ignore illustrate impact implement implies improve include incorporate incur indicate inform
inherit initiate insist inspect install integrate interpret introduce invite involve join justify
keep know lack lead learn leave lend maintain make manage manufacture meet mention modify monitor
negotiate notify obtain occur operate oppose organize originate oversee own participate pay perform
permit pertain possess praise prefer prepare prescribe preserve prevent prohibit promote prompt
propose protect prove provide publish pursue qualify quantify raise reach receive recognize come
recommend recover reduce refer reflect refuse register regulate reimburse reject relate release
relocate rely remain remind remove render renew repay replace represent require resemble resign
resolve respond restore restrict retain retire retrieve return reveal revise sell send serve settle
sign simplify specialize specify state stay store strengthen submit succeed suffer suggest
summarize supervise suspend take teach tell terminate think transfer treat undergo understand
undertake upgrade use utilize vary verify waive warn welcome withdraw write prevail
merge acquire spend lose win fall rise speak eat sleep drive reopen relaunch oversee outline
""".split()
# Verbs whose base or -s form is a common noun too.
_NOUNS_TOO = """
access account act advance aim answer appeal attempt attack average award back balance base benefit
bill blame block board book borrow break budget call campaign care cause challenge change charge
check claim click comment commit complaint contact contract control cook cost count cover credit
cut damage date deal debate delay demand deposit design direct document doubt draft draw drink drop
end engage escape estimate exchange exercise experience export face fear fight find finish fix flow
focus force form frame function fund gain guide head host house impact import increase influence
insure interest invest issue judge label land last launch lay lease let level license lift
limit link list live load lock look love lower mail mark market matter mean measure mind miss mix
move name need note notice number offer open order outline pack park pass pause phase pick place
plan play point post power practice press price process produce profit program progress project
promise purchase push put question quote range rank rate read record refund regard rent repair
report request rescue research reserve rest result review reward risk roll rule run sample save
say schedule score search seat see seek seem set shape share shift ship show sound span split
spread stand start step stock stop store stream stress strike study supply support survey switch
talk target task tax test time total touch track trade train transport travel trigger trust try
turn update value view visit vote wait walk want warrant waste watch weigh wish work
""".split()
_IRREGULAR = """
become became become|begin began begun|break broke broken|bring brought brought|build built built|
buy bought bought|come came come|choose chose chosen|cost cost cost|cut cut cut|
deal dealt dealt|draw drew drawn|
drive drove driven|eat ate eaten|fall fell fallen|feel felt felt|fight fought fought|
find found found|fly flew flown|get got gotten|give gave given|go went gone|grow grew grown|
have had had|hear heard heard|hold held held|keep kept kept|know knew known|lay laid laid|
lead led led|leave left left|lend lent lent|let let let|lose lost lost|make made made|
mean meant meant|meet met met|pay paid paid|put put put|read read read|rise rose risen|
run ran run|say said said|see saw seen|seek sought sought|sell sold sold|send sent sent|
set set set|show showed shown|sit sat sat|sleep slept slept|speak spoke spoken|spend spent spent|
split split split|spread spread spread|stand stood stood|steal stole stolen|strike struck struck|
take took taken|teach taught taught|tell told told|think thought thought|throw threw thrown|
undergo underwent undergone|understand understood understood|undertake undertook undertaken|
wear wore worn|win won won|withdraw withdrew withdrawn|write wrote written|shoot shot shot|
forbid forbade forbidden|oversee oversaw overseen|repay repaid repaid|bear bore born
"""
# Words in -ed that are not verbs, or almost always adjectives.
_NOT_PAST = frozenset(
    """hundred need seed red bed speed indeed united feed breed shed embed bleed exceed proceed
    succeed sacred naked wicked advanced aged alleged armed assorted beloved complicated
    detailed dedicated diversified experienced gifted interested limited mixed overcrowded
    related renowned so-called talented tired unlimited unprecedented varied medicated seed weed
    skilled unskilled unpaid prepaid married retired fixed""".split()
)
# Forms that read as nouns or adjectives far more often than as verbs.
_NOT_VERB = frozenset("means has does thought felt left saw found set".split())

# Ambiguous, but mostly verbs after a possible subject: "The policy covers theft".
_MOSTLY_VERBS = frozenset(
    """covers cover offers offer needs need wants want says say seems seem shows show produces
    produce costs cost opens runs finds find seeks seek sees see lets sets operates lives
    live requests tries try faces issues supports support limits benefits accesses means puts put
    stands works work looks look""".split()
)

# The clause after these is reported speech, not a statement of fact.
REPORTING = frozenset(
    """say state claim argue believe suggest mention note report think know mean indicate explain
    ensure confirm show reveal announce warn insist conclude recommend require propose expect hope
    assume declare deny allege feel find tell inform imply estimate predict complain add write
    acknowledge advise agree describe emphasize stress highlight point ask wonder see hear
    understand discover""".split()
)


def _s_form(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


_DOUBLING = frozenset(
    "commit cut drop get let permit plan put refer run set ship shop split stop step wrap".split()
)


def _stem(base: str, ending: str) -> str:
    if base.endswith("e") and not (ending == "ing" and base.endswith(("ee", "oe"))):
        return base[:-1] + ending
    if base.endswith("y") and base[-2] not in "aeiou" and ending == "ed":
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLING else "") + ending


def _lexicon() -> tuple[dict[str, Form], dict[str, str]]:
    forms: dict[str, Form] = {}
    bases: dict[str, str] = {}

    def add(word: str, form: Form, base: str) -> None:
        forms[word] = forms.get(word, Form.NONE) | form
        bases.setdefault(word, base)

    irregular = {}
    for row in _IRREGULAR.replace("\n", "").split("|"):
        base, past, participle = row.split()
        irregular[base] = (past, participle)
    for base in dict.fromkeys([*_PLAIN, *_NOUNS_TOO, *irregular]):
        past, participle = irregular.get(base, (_stem(base, "ed"), _stem(base, "ed")))
        add(base, Form.BASE, base)
        add(_s_form(base), Form.S, base)
        add(past, Form.PAST, base)
        add(participle, Form.PARTICIPLE, base)
        add(_stem(base, "ing"), Form.ING, base)
    return forms, bases


_FORMS, _BASES = _lexicon()
_AMBIGUOUS = frozenset(_NOUNS_TOO) | {_s_form(base) for base in _NOUNS_TOO} | _NOT_VERB
_AMBIGUOUS -= frozenset("lowers says seems wants insures borrows invests engages weighs".split())


def form(word: str) -> Form:
    """The verb forms a lower-cased word may have; a word in -ed counts even if unknown."""
    known = _FORMS.get(word)
    if word in _NOT_PAST:  # "need" is a base form, not a past form
        return (known or Form.NONE) & Form.BASE
    if known is not None:
        return known
    if len(word) > 4 and word.isalpha() and word.endswith("ed"):
        return Form.PAST | Form.PARTICIPLE
    return Form.NONE


def base(word: str) -> str:
    """The base form of a known verb form, or the word itself."""
    return _BASES.get(word, word)


def mostly_verb(word: str) -> bool:
    """Whether an ambiguous word is a verb unless its neighbours forbid it."""
    return word in _MOSTLY_VERBS


def ambiguous(word: str) -> bool:
    """Whether the word is as likely a noun or an adjective as a verb."""
    return word in _AMBIGUOUS
