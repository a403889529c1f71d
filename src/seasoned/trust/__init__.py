"""Masks secrets in text of unknown origin, and finds instructions in it that are aimed at the model.

Pure functions over text, with only the standard library. Always holds: no text raises; the time grows linearly with the
length; masking is idempotent; nothing outside the text decides. docs/trust.md lists what these patterns miss.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable

from seasoned.trust.masking import SECRETS, Mask, Secret, mask, mask_value, masker, read_secrets

__all__ = ["SECRETS", "Mask", "Secret", "enclosed", "flags", "mask", "mask_value", "masker", "read_secrets", "visible"]

_MAX_GAP = 80  # characters from "ignore" to the last word of "ignore .. previous .. instructions"
_MIN_DIGITS = 64  # consecutive base64 digits that are decoded
_MAX_DIGITS = 4096  # digits that are decoded

_VERBS = (
    r"(?<!n't )(?<!not )(?<!never )(?<!avoid )(?:ignor\w{0,6}|disregard\w{0,3}|forget|override|overrule|bypass)"
    r"|do(?: not|n't) (?:follow|obey)|stop (?:following|obeying)"
    r"|vergiss|vergessen sie|missachte|olvida|oublie[zr]?|ne tiens pas compte|忽略|无视|忘记|無視"
)
_VERB_HINTS = ("ignor", "disregard", "forget", "overr", "bypass", "follow", "obey", "vergiss", "vergessen",
               "missachte", "olvida", "oublie", "tiens", "忽略", "无视", "忘记", "無視")  # fmt: skip
_WHICH = (
    r"previous\w{0,2}|prior|above|earlier|preceding|all|any|every|your|these|those|system|original|initial|vorherig\w{1,2}"
    r"|bisherig\w{1,2}|alle[ns]?|obig\w{1,2}|anterior\w{0,3}|previ[ao]s?|tod[ao]s|pr[eé]c[eé]dent\w{0,2}|tou(?:te)?s"
    r"|之前|以上|所有|先前|前面"
)
_WHAT = (
    r"instruct\w{1,5}|prompts?|rules?|guidelines?|directions?|directives?|polic(?:y|ies)|commands?|anweisung\w{0,2}"
    r"|regeln?|vorgaben?|instruccion\w{0,2}|reglas?|consignes?|r[eè]gles?|指令|指示|提示|规则|命令"
)
_ORDER = re.compile(rf"(?<![a-z])(?:(?P<verb>{_VERBS})|(?P<which>{_WHICH})|(?P<what>{_WHAT}))(?![a-z])")
_MODEL = r"(?:ai|llm|language model|assistant)s?"
_PHRASES = re.compile(
    r"\byou are now (?:a|an|in|the|no longer)\b|\bfrom now on,? you (?:are|will|must|should|shall)\b"
    r"|\b(?:reveal|print|repeat|output|show|leak) (?:me )?(?:your|the) (?:system|hidden|initial|original) "
    r"(?:prompt|instruct)|\bdo not (?:tell|inform|mention this to|alert) the user\b"
    r"|\bwithout (?:telling|informing) the user\b|\bdo anything now\b|\bjailbr(?:eak|oken)\b"
    r"|\b(?:developer|debug|god|dan|jailbreak) mode (?:enabled|activated|on)\b"
    rf"|\b(?:new|updated|real|actual|important) (?:system )?instructions?(?: for (?:you|(?:the )?{_MODEL}))?\s{{0,3}}:"
    rf"|\b(?:attention|note|message|instructions?) (?:to|for) (?:the |any |all )?{_MODEL}\b"
    rf"|\bif you are an? {_MODEL}\b"
    r"|(?<!n't )(?<!not )(?<!never )\b(?:ignore|disregard) (?:the |everything |all of the )?(?:text |task )?above\b"
)
_ROLES = re.compile(
    r"<\|?/?(?:im_start|im_end|im_sep|system|user|assistant|developer|endoftext|end_of_turn|start_of_turn|eot_id|bos"
    r"|eos|start_header_id|end_header_id|begin_of_text|end|tool|channel|message)\|>"
    r"|</?(?:system|assistant|developer)(?:_prompt)?>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"
    r"|^[ \t>#*]{0,8}(?:system|assistant|developer)(?: (?:message|prompt|note))?[ \t*]{0,4}:"
    r"|^#{2,4} ?(?:system|instruction|assistant)s?\b",
    re.MULTILINE,
)
_CALLS = re.compile(
    r"</?(?:tool_calls?|function_calls?|function_results?|tool_results?|tool_response|invoke|antml:\w{1,20})\b"
    r"|<function=|\"(?:tool_calls|function_call|tool_call_id)\"\s{0,4}:|\[tool_calls\]|<\|python_tag\|>|<｜tool"
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TAGS = re.compile("(?<!\U0001f3f4)(?<![\U000e0020-\U000e007f])[\U000e0000-\U000e007f]{2,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")
_WITHIN = re.compile("[A-Za-z0-9][\u200b-\u200d\u2060-\u2064\ufeff]+[A-Za-z0-9]")
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e01ef]+")
_UNSEEN = re.compile("[\u00ad\u200b\u2060-\u2064\ufeff]+")
_GAP = "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_B64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_DIGITS},}}")

IGNORES = "tells the model to ignore its instructions"
COMMANDS = "speaks to the model as if it could give it orders"
ROLES = "has the marks of another speaker's turn"
CALLS = "looks like a tool call"
HIDES = "has characters that hide text or turn its direction"
ENCODES = "has encoded text in it"


def flags(text: str, *, foreign: bool = True) -> tuple[str, ...]:
    """The reasons why a text seems to be aimed at the model that will read it.

    Args:
        text: any text.
        foreign: whether it came from outside the agent (an observation, a page, a task, a lesson). Role marks and tool
            calls are flagged only in foreign text, since the agent's own text contains them.

    Returns:
        Reasons, each the end of a sentence that begins with "the text".
    """
    plain = _plain(text)
    found = {
        IGNORES: _orders(plain),
        COMMANDS: _PHRASES.search(plain),
        HIDES: _hides(text),
        ROLES: foreign and _ROLES.search(plain),
        CALLS: foreign and _CALLS.search(plain),
        ENCODES: foreign and any(_readable(blob.group()) for blob in _B64.finditer(text)),
    }
    return tuple(reason for reason, seen in found.items() if seen)


def visible(text: str) -> str:
    """The text without characters that hide text or change its direction; joiners of emoji and scripts stay."""
    if not text.isascii():
        text = _SELECTORS.sub("", _TAGS.sub("", _BIDI.sub("", _UNSEEN.sub("", text))))
    return _CONTROLS.sub("", text)


def enclosed(text: str, tag: str) -> str:
    """The text with every tag, also a disguised one, that could open or close its block `<tag>` made harmless."""
    letters = rf"{_GAP}{{0,4}}".join(map(re.escape, tag))
    blank = rf"(?:\s|{_GAP}){{0,8}}"
    return re.sub(rf"<(?={blank}/?{blank}{letters}(?!\w))", "(", text, flags=re.IGNORECASE)


def _plain(text: str) -> str:
    """The text as a model reads it: without hidden characters, in one Unicode form, lower case, single spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return re.sub(r"[ \t\r\f\v]+", " ", text).lower()


def _orders(plain: str) -> bool:
    """Whether a word such as "ignore" is soon followed by both "previous" and "instructions", in any order."""
    if not any(hint in plain for hint in _VERB_HINTS):
        return False
    last = dict.fromkeys(("verb", "which", "what"), -_MAX_GAP - 1)  # where each was last
    for match in _ORDER.finditer(plain):
        kind, at = str(match.lastgroup), match.start()
        last[kind] = at
        verb = last["verb"]
        if kind != "verb" and verb >= 0 and at - verb <= _MAX_GAP and min(last["which"], last["what"]) > verb:
            return True
    return False


def _hides(text: str) -> bool:
    return not text.isascii() and any(pattern.search(text) for pattern in (_BIDI, _TAGS, _SELECTORS, _WITHIN))


def _readable(blob: str) -> bool:
    """Whether base64 digits decode to readable text."""
    digits = blob[: min(len(blob), _MAX_DIGITS) // 4 * 4].translate(str.maketrans("-_", "+/"))
    try:
        decoded = base64.b64decode(digits, validate=True)
        text = decoded.decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    return _share(text, str.isprintable) > 0.95 and _share(text, lambda c: c.isalpha() or c.isspace()) > 0.6


def _share(text: str, holds: Callable[[str], bool]) -> float:
    return sum(holds(c) or c in "\n\t" for c in text) / max(len(text), 1)
