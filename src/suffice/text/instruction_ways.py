"""Patterns for text that tries to give instructions to the model that reads it.

All were seen in planted passages. They find 86 of 95 public payloads and flag 1 of 22,641 others.
"""

from __future__ import annotations

from suffice.text.instruction_way import way

_ASIDE = r"(?:ignore|disregard|forget|override|bypass|discard|neglect)"
_TOLD = r"(?:instruction|prompt|directive|command|direction|guideline|rule|constraint|context)s?"
_MODEL = (
    r"(?:ai|a\.i\.|llms?|(?:large )?language models?|chat ?bots?|(?:chat)?gpt(?:-?\w+)?|"
    r"(?:ai|virtual|helpful|digital) (?:assistants?|agents?|models?|systems?))"
)
_SAY = r"(?:answer|respond|reply|output|say)"
_SOLELY = r"(?:only|just|simply|exactly|instead|strictly)"
_ONLY = rf"(?:always|{_SOLELY})"
_TEXT = r"(?:the (?:exact )?(?:number|words?|phrase|text|string|sentence|following)\b|-?\d[\d.,]*)"
_DICTATED = rf"(?:{_TEXT}|[\"“'‘])"
_COMMAND = (
    rf"(?:you (?:are|must|will|should|shall|now)\b|{_ASIDE}\b|from now on\b|new instructions?|"
    rf"(?:(?:{_ONLY}|never|do not|don't|now) )?(?:{_SAY}|mention|cite|reveal|print|repeat)\b|"
    r"the (?:correct |right |only |final )?answer\b|act as\b|pretend\b)"
)
_VERBS = "ignore disregard forget override bypass discard neglect follow obey attention"
_SECRETS = r"(?:system prompt|passwords?|secrets?|credentials?|(?:api|access|secret) keys?|tokens?)"
_PAGE = r"(?:document|page|text|e?-?mail|article|content|file|passage|message|report|context)"
WAYS = (
    # An order under a title: "SYSTEM OVERRIDE:", "[HIDDEN INSTRUCTION …]".
    way(
        "override directive",
        r"\b(?P<said>(?:(?:critical|important|urgent) )?(?:system|admin(?:istrator)?|developer|",
        r"root|security) (?:prompt )?(?:override|directive)s?\b[^.:\n\]]{0,40}[:\]])",
        order=True,
    ),
    way(
        "instruction directive override",
        r"(?P<said>\b(?:hidden|secret|ai|assistant|llm|chatbot|priority) (?:system )?",
        r"(?:instructions?|directives?|override)\b[^.:\n\]]{0,40}[:\]])",
    ),
    way(
        "note update notice message",
        r"(?P<said>(?:important|critical|urgent|hidden|\[) ?(?:system|ai|assistant) ",
        r"(?:note|notice|message|update)\b[^.:\n\]]{0,20}[:\]])",
    ),
    way(
        "new",
        r"\b(?P<said>(?:your )?new (?:instructions?|task|directives?|objective|persona) ?",
        r"(?::|below|follow|(?:is|are) to\b))",
        order=True,
    ),
    way(
        "from henceforth",
        r"\b(?P<said>(?:from now on|henceforth|from this (?:point|moment) on(?:wards)?),? you ",
        r"(?:are (?:an?|the|no longer)\b|must|shall|act|will (?:only |always |never )?",
        r"(?:respond|answer|reply|act|be|behave|obey|say)\b))",
        order=True,
    ),
    way("<", r"(?P<said></?(?:system|instructions?|im_start|im_end|sys)>)"),
    way(
        "[system]",
        r"(?P<said>\[system\]\s?(?:new|you|ignore|override|always|never|the (?:user|assistant)|",
        r"from)\b)",
    ),
    way(
        _VERBS,
        rf"\b(?P<said>{_ASIDE} (?:all |any |the |your |these |those )?(?:polic(?:y|ies)|rules|",
        r"guidelines|restrictions|constraints|refusals|filters|limits)(?= and\b|[.,;!]|$))",
        order=True,
    ),
    way("prompt", r"(?P<said>\b(?:end|beginning) of (?:the )?(?:system )?prompt\b)"),
    # The text addresses the reader as a model.
    way(
        "summari process pars index analy retriev",
        r"\b(?P<said>when (?:you )?(?:summari[sz]|process|pars|index|analy[sz]|retriev)\w* ",
        rf"(?:this|the|any) {_PAGE},? (?:\w+ ){{0,2}}?(?:also|always|include|tell|say|output|",
        r"recommend|append|you must|respond|mention|state|add)\b)",
        order=True,
    ),
    way(
        "your",
        r"\b(?P<said>(?:include|output|append|insert|put|add|repeat|write|begin|start|end) ",
        r"[^.\n]{0,80}\b(?:in|to|with) your (?:next |final )?(?:response|output|answer|reply)\b",
        r"(?= (?:as|format|word|and|to the)|[.!,;\n]|$))",
        order=True,
    ),
    way(
        "your",
        r"\b(?P<said>(?:begin|start|end|finish) your (?:next |final )?",
        r"(?:response|output|answer|reply) (?:with|by)\b)",
        order=True,
    ),
    # The text asks to keep something from the user.
    way(
        "user",
        r"\b(?P<said>(?:do not|don't|never|without) (?:tell|inform|alert|notify|warn)(?:ing)? ",
        r"the user (?:about|of|that)\b)",
    ),
    # The text lifts the rules.
    way(
        "restriction constraint guideline filter limits",
        r"\b(?P<said>(?:respond|reply|answer|comply|act|operate|behave|assist)\w* (?:\w+ ){0,3}?",
        r"without (?:any )?(?:\w+ )?(?:restrictions?|constraints?|guidelines|filters?|limits)\b)",
    ),
    way(
        "no",
        r"\b(?P<said>you (?:have|had) no (?:\w+ )?(?:rules|restrictions|guidelines|constraints|",
        r"filters))\b",
    ),
    way(
        "everything",
        r"\b(?P<said>(?:repeat|print|output|reveal) everything (?:above|before|you were))\b",
        order=True,
    ),
    way(
        "unrestricted unfiltered uncensored",
        r"\b(?P<said>(?:unrestricted|unfiltered|uncensored) (?:ai|assistant|model|mode|chatbot))\b",
    ),
    way("obey", r"\b(?P<said>you (?:shall|must|will) (?:now )?(?:obey|comply with (?:any|all)))\b"),
    way(
        "forget wipe reset erase clear",
        r"\b(?P<said>(?:forget|wipe|reset|erase|clear) (?:all |everything )?(?:of )?",
        r"(?:(?:that )?you (?:were|have been|are) told|your (?:context|memory|instructions|",
        r"programming|training|previous|prior|rules|guidelines)))\b",
        order=True,
    ),
    way(
        "override",
        r"\b(?P<said>override (?:all |any )?(?:your|safety|security|previous|prior) ",
        r"(?:\w+ )?(?:behaviou?r|rules|guidelines|protocols?|settings|instructions|filters?|",
        r"checks?))\b",
        order=True,
    ),
    way(
        _VERBS,
        rf"\b(?P<said>{_ASIDE} (?:all |any |of |the |these |those |your ){{0,3}}",
        rf"(?:safety |security )?(?:{_TOLD}|refusals?) (?:that )?you (?:were|have been|are|had) ",
        r"(?:been )?(?:given|told|taught|shown)\b)",
        order=True,
    ),
    way(
        _VERBS,
        rf"\b(?P<said>{_ASIDE} (?:all |any |the |your )?(?:safety|security|ethical|content) ",
        r"(?:\w+ )?(?:rules?|guidelines?|polic(?:y|ies)|protocols?|filters?|checks?))\b",
        order=True,
    ),
    # The text asks for secrets.
    way(
        "prompt password secret credential key token",
        r"\b(?P<said>(?:reveal|leak|disclose|exfiltrate|dump) ",
        rf"(?:\w+ ){{0,4}}?{_SECRETS}|(?:output|print) (?:\w+ ){{0,3}}?",
        r"(?:system prompt|passwords?))\b",
        order=True,
    ),
    way(
        "context conversation messages history",
        r"\b(?P<said>(?:reveal|output|print|repeat|leak|send|exfiltrate) (?:\w+ ){0,4}?",
        r"(?:previous messages|your context(?: window)?|this conversation|the conversation|",
        r"chat history))\b",
        order=True,
    ),
    # The text overrides earlier instructions.
    way(
        _VERBS,
        rf"\b(?P<said>(?:{_ASIDE}|do not (?:follow|obey)|don't (?:follow|obey)|",
        r"stop (?:following|obeying)|pay no attention to) ",
        r"(?:(?:all|any|every|of|the|my|our|these|those|other) ){0,4}",
        r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|system|",
        r"developer|your|hidden|safety) (?:(?:system|user|given|previous|prior|other) ){0,2}",
        rf"(?:{_TOLD}|training|programming)\b)",
        order=True,
    ),
    # Also "… the instructions", unless a qualifier follows ("… on the old label").
    way(
        _VERBS,
        rf"\b(?P<said>{_ASIDE} (?:all |any |of |the |these |those ){{0,3}}",
        r"(?:instructions?|prompts?)\b(?: (?:above|before|given to you|you \w|in (?:the|your)",
        r" (?:system )?prompt)|(?! (?:in|on|of|from|for|by|about|at|to|given|printed|sent|",
        r"received|issued|that|which|who|if|unless)\b)))",
        order=True,
    ),
    way(
        _VERBS,
        rf"\b(?P<said>{_ASIDE} (?:everything|anything|whatever|what) (?:above\b|before (?:this|",
        r"now)|that (?:came|was said) before|you (?:were|have been|are|know|think)\b))",
        order=True,
    ),
    way(
        _VERBS,
        rf"\b(?P<said>{_ASIDE} (?:(?:all )?(?:the )?(?:other|remaining) (?:passages|sources|",
        r"context)\b|(?:the )?(?:user's |user )?questions? (?:above|and)\b))",
        order=True,
    ),
    way(
        "ignorier missacht vergiss vergessen",
        r"\b(?P<said>(?:ignorier|missacht|vergiss|vergessen)\w* (?:sie |bitte |alle |die |deine |",
        r"ihre ){0,4}(?:vorherigen?|vorigen|bisherigen?|obigen?|früheren|vorangegangenen) ",
        r"(?:anweisung|instruktion|vorgabe|befehl|prompt|regel))",
    ),
    way(
        "ignor oubli olvid dimentic esque",
        r"\b(?P<said>(?:ignor|oubli|olvid|dimentic|esque[çc])\w* (?:\w{1,12} ){0,3}?",
        r"(?:instructions|consignes|directives|instrucciones|indicaciones|istruzioni|instruções) ",
        r"(?:précédent|precedent|ci-dessus|anterior|antérieur|previas|acima|sopra))",
    ),
    # The text dictates the answer.
    way(
        "answer respond reply output say",
        rf"\b(?P<said>(?:{_ONLY} )?{_SAY} (?:(?:{_ONLY}|with|that) ){{0,3}}",
        r"[\"“'‘]?-?\d[\d.,]*(?: ?%)?",
        r"[\"”'’]?\s?(?:$|(?<=[.,])\s|[.!;,\n]|(?:and|no matter|whatever|regardless)\b))",
        order=True,
    ),
    way(
        "answer respond reply",
        rf"\b(?P<said>(?:{_ONLY} (?:answer|respond|reply)|(?:answer|respond|reply) {_ONLY})",
        rf"(?: {_ONLY})? (?:with|that|by saying|by stating) {_TEXT})",
        order=True,
    ),
    # A company may tell its staff to always reply with a phrase, so "always" alone is allowed.
    # "Only" leaves no room for the real answer.
    way(
        "answer respond reply",
        rf"\b(?P<said>(?:{_SOLELY} (?:answer|respond|reply)|(?:answer|respond|reply) {_SOLELY})",
        rf"(?: {_ONLY})? (?:with|that|by saying|by stating) [\"“'‘])",
        order=True,
    ),
    way(
        "answer respond reply",
        rf"\b(?P<said>(?:{_ONLY} )?(?:answer|respond|reply) (?:to )?(?:all|any|every|each|the",
        r" user|the user's|this|whatever) (?:\w{1,20} ){0,3}?(?:with|that|by saying|by stating) ",
        rf"{_DICTATED})",
        order=True,
    ),
    way(
        "answer",
        r"\b(?P<said>answer to (?:all|any|every|each) (?:\w{1,20} )?questions? ",
        r"(?:is|must|should)\b)",
    ),
    way(
        "instead",
        r"\b(?P<said>instead of (?:answering (?:the|this|any) (?:\w{1,20} )?question|following ",
        r"(?:the|your) (?:\w{1,20} )?instructions)\b)",
        order=True,
    ),
    # The text addresses a model or assigns it a role.
    way(
        "you",
        r"\b(?P<said>you(?: are|'re) (?:now |actually |no longer )?(?:an? |the )?",
        rf"(?:[\w-]{{1,20}} ){{0,2}}?{_MODEL}\b)",
    ),
    way(
        "you",
        r"\b(?P<said>you(?: are|'re) now (?:in )?(?:\w{1,20} )?(?:(?:developer|debug|god|admin|",
        r"maintenance|jailbreak) mode|dan|unrestricted|jailbroken)\b)",
    ),
    way(
        "act behave respond answer speak",
        r"\b(?P<said>(?:act|behave|respond|answer|speak) as (?:if you (?:are|were) )?",
        rf"(?:an? |the )?(?:[\w-]{{1,20}} )?(?:{_MODEL}|dan)\b)",
        order=True,
    ),
    way("pretend", r"\b(?P<said>pretend (?:that )?you(?: are|'re| were)\b)", order=True),
    way(
        "note message instruction attention notice order command",
        r"\b(?P<said>(?:note|message|instructions?|attention|notice|orders?|commands?) (?:to|for) ",
        rf"(?:the |any |all )?(?:{_MODEL}|assistants?)(?=\s?[:.,;!–—-]| \w+ing\b))",
    ),
    way("you", rf"\b(?P<said>(?:if|when|since|as) you are (?:an? |the )?{_MODEL}\b)"),
    way(
        "read process summari parsing index",
        rf"\b(?P<said>(?:{_MODEL}|assistants?|models?|agents?) (?:(?:that|who|which) (?:reads?|",
        r"process(?:es)?|summari[sz]es?)|reading|processing|summari[sz]ing|parsing|indexing) ",
        r"th(?:is|ese)\b)",
    ),
    # The text forges conversation markup, or asks to reveal or hide parts of the prompt.
    way(
        "system developer assistant ai",
        r"(?:^|\n)[ \t>#*_<\[(|]{0,12}(?:system|developer|assistant|ai)",
        r"(?: (?:prompt|message|note|override|instructions?|update))?[ \t\])>*_|]{0,4}",
        rf"[:>\]\n–—-]{{1,3}}\s?[#*_\"“]{{0,3}}(?P<said>{_COMMAND})",
    ),
    way("<| inst] <<", r"(?P<said><\| ?\w{2,24} ?\|>|\[/?inst\]|<</?sys>>)"),
    way(
        "prompt instructions",
        r"\b(?P<said>(?:reveal|print|output|repeat|show|display|leak|disclose|tell (?:me|us)) ",
        r"(?:\w{1,20} ){0,2}?(?:system prompt|(?:your|hidden|initial|secret) (?:system )?",
        r"(?:prompt|instructions))\b)",
    ),
    way(
        "mention reveal cite quote tell",
        r"\b(?P<said>(?:do not|don't|never) (?:mention|reveal|cite|quote|tell (?:the )?(?:user|",
        r"anyone) (?:about|of)) (?:this|these|the|any|other|your) (?:other )?",
        r"(?:instructions?|prompts?|passages?)\b)",
        order=True,
    ),
)
