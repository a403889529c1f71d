"""Text of unknown origin: secrets in it are masked, and instructions aimed at the model are found.

Floor 1, the standard library alone: pure functions over text. Always holds: no text raises; the time taken grows
linearly with the length; masking twice gives what masking once gave; nothing is flagged or masked that is not in the
text. What these patterns cannot see is told in docs/trust.md.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.errors import ConfigError

_PASSES = 8  # masking is repeated until nothing changes, at most so often; one pass is the rule
_BRIEF = 200  # characters of a short text
_NEAR = 80  # characters between the first and the last word of "ignore .. previous .. instructions"
_BLOB = 64  # base64 digits in a row that are looked into
_BLOB_READ = 4096  # digits of it that are decoded


@dataclass(frozen=True)
class Secret:
    """One kind of secret.

    Args:
        name: what stands in its place: `[masked:name]`; lower-case letters and spaces.
        pattern: a regular expression. What its group `secret` takes is masked, or the whole match where there is no
            such group. Keep repetitions bounded or of one character class, so that it stays fast on hostile text.
        hints: the pattern is only tried on texts that hold one of these, whatever the case; () for all texts.
    """

    name: str
    pattern: str
    hints: tuple[str, ...] = ()


_KEYS = (
    r"(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}"
    r"|ya29\.[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|dop_v1_[a-f0-9]{32,}|gsk_[A-Za-z0-9]{20,}|AGE-SECRET-KEY-[A-Z0-9]{20,}"
)
_KEY_HINTS: tuple[str, ...] = ("sk-", "rk-", "pk-", "k_live_", "k_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "hf_")
_KEY_HINTS += ("github_pat_", "glpat-", "xox", "aiza", "ya29.", "npm_", "pypi-", "sg.", "dop_v1_", "gsk_", "secret-key")
# To its end; of one that was cut off, what looks like it. No block reaches over the beginning of another.
_BLOCK = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN ).)*?-----END [A-Z0-9 ]{0,60}-----"
    r"|(?:(?:\s|\\{1,4}[nr])+[A-Za-z0-9+/=]{16,})*(?:(?:\s|\\{1,4}[nr])+[A-Za-z0-9+/]{1,15}={1,2})?)"
)
_AWS = r"(?<![A-Za-z0-9])(?-i:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?![A-Za-z0-9])"
_NAMES = (
    r"pass(?:word|wd|phrase)?|pwd|secret|(?:api|access|auth|private|secret|encryption|account|client|signing)"
    r"[_ -]?(?:key|token|secret)(?:[_-]?id)?|(?:aws[_-]?)?secret[_-]?access[_-]?key"
    r"|(?:refresh|session|id|bearer)[_-]?token"
)
# Before a name: `DB_`, `my-`, and in camel case `db`.
_BEFORE = r"(?:[A-Za-z0-9]{1,30}[_-]){0,3}(?-i:[A-Za-z0-9]{0,30}[a-z0-9](?=[A-Z]))?"
_QUOTE = r"\\{0,7}[\"']"  # JSON within JSON within JSON
# After "is" stands prose as a rule ("the password is wrong"), so there a secret has to look like one.
_ODD = r"[^\s]{0,64}[\d!#$%*+]"
_GIVES = rf"(?:{_QUOTE})?[ \t]{{0,4}}(?:=>?|:|\bis\b(?=[ \t\"'\\]{{0,12}}{_ODD}))[ \t]{{0,4}}"
# Between quotes a word of any characters; else up to the next thing, which a comma alone does not begin, nor a bracket
# where what follows looks like a secret.
_QUOTED = r"(?:(?!(?P=quote))(?:\\[^\s]|[^\s\\])){6,}"
_PLAIN = r"[^\s\"',;<>&\[\]{}()\\]|\\(?!\\{0,6}[\"'])|,(?=[^\s\"',{\[])(?!\w{1,40}[ \t]?[=:])"
_BARE = rf"(?:(?:{_PLAIN}){{6,}}|[({{]{{1,3}}(?={_ODD})(?:{_PLAIN}){{5,}}(?:[)}}]{{1,3}}(?:{_PLAIN}){{0,200}})?)"

_SECRET_HINTS = ("pass", "pwd", "secret", "key", "token")

SECRETS: tuple[Secret, ...] = (
    Secret("private key", _BLOCK, ("private key",)),
    Secret("password", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]*:(?P<secret>[^\s/\"'<>]+)@", ("://",)),
    Secret("token", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}", ("eyj",)),
    Secret("key", rf"(?<![A-Za-z0-9])(?-i:{_KEYS})", _KEY_HINTS),
    Secret("key", _AWS, ("akia", "asia", "abia", "acca")),
    Secret("token", r"\bbearer[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{12,})", ("bearer",)),
    Secret("password", r"\bauthorization\W{1,6}basic[ \t]{1,8}(?P<secret>[A-Za-z0-9+/=]{8,})", ("basic",)),
    Secret(
        "secret",
        r"[?&](?:key|sig|signature|token|auth|code|x-amz-signature|x-amz-credential)=(?P<secret>[^\s&#\"'<>\[]{8,})",
        ("key=", "sig=", "signature=", "token=", "auth=", "code=", "credential="),
    ),
    Secret(
        "secret",
        rf"(?<![A-Za-z0-9]){_BEFORE}(?:{_NAMES}){_GIVES}(?P<quote>{_QUOTE})?(?P<secret>(?(quote){_QUOTED}|{_BARE}))",
        _SECRET_HINTS,
    ),
    Secret(
        "secret",
        rf"(?P<quote>{_QUOTE})[A-Za-z0-9_-]{{0,40}}token(?P=quote)[ \t]{{0,4}}(?:=>|:)[ \t]{{0,4}}(?P=quote)"
        rf"(?=[^\s\"']{{0,64}}\d)(?P<secret>[^\s\"'\\]{{8,}})",
        ("token",),
    ),
    Secret(
        "secret",
        rf"(?<![\w-])--(?:token|(?:[A-Za-z0-9]{{1,30}}-){{0,3}}(?:{_NAMES}))(?:{_QUOTE},[ \t]{{0,4}}|[ \t]{{1,4}})"
        rf"(?:{_QUOTE})?(?={_ODD})(?P<secret>[^\s\"'\\\[]{{6,}})",
        _SECRET_HINTS,
    ),
    Secret(
        "secret",
        rf"<(?:[A-Za-z0-9]{{1,30}}:)?{_BEFORE}(?:{_NAMES})[ \t]{{0,4}}>\s{{0,8}}"
        r"(?P<secret>[^\s<>]{6,})(?=\s{0,8}</)",
        _SECRET_HINTS,
    ),
    Secret("e-mail", r"(?<![\w.%+-])[\w.%+-]+@[\w-]+(?:\.[\w-]+)+", ("@",)),
)
"""What is masked where nothing else is said. To add to it: `(*SECRETS, Secret("order", r"ORD-\\d{8}"))`."""

Mask = Callable[[str], str]


def masker(secrets: Sequence[Secret] = SECRETS) -> Mask:
    """The function that masks these kinds of secrets in a text, tried in their order.

    Raises:
        ConfigError: a pattern is no regular expression, or a name is not lower-case letters, "-" and spaces.
    """
    kinds: list[tuple[tuple[str, ...], re.Pattern[str], str]] = []
    for secret in secrets:
        if not re.fullmatch(r"[a-z][a-z -]{0,30}", secret.name):
            raise ConfigError(f"a secret's name should be lower-case letters and spaces, and was {secret.name!r}")
        try:
            pattern = re.compile(secret.pattern, re.IGNORECASE | re.DOTALL)
        except re.error as error:
            raise ConfigError(f"the pattern of the secret {secret.name!r} is no regular expression: {error}") from None
        kinds.append((tuple(hint.lower() for hint in secret.hints), pattern, f"[masked:{secret.name}]"))

    every = [re.escape(hint) for hints, _, _ in kinds for hint in hints]
    # One look at a short text; a long one is faster searched for each hint on its own.
    brief = re.compile("|".join(every)) if all(hints for hints, _, _ in kinds) else re.compile("")

    def once(text: str) -> str:
        lower = text.lower()
        if len(text) < _BRIEF and not brief.search(lower):
            return text
        for hints, pattern, mark in kinds:
            if not hints or any(hint in lower for hint in hints):
                text = pattern.sub(lambda m, mark=mark: _masked(m, mark), text)  # type: ignore[misc]
        return text

    def mask_all(text: str) -> str:
        for _ in range(_PASSES):
            done = once(text)
            if done == text:
                break
            text = done
        return text

    return mask_all


mask: Mask = masker()
"""Masks `SECRETS` in a text."""


def mask_value(value: Any, masking: Mask = mask, depth: int = 100) -> Any:
    """A value made of dictionaries, lists, tuples and texts, with all of its texts masked, keys too.

    What is nested deeper than `depth` becomes None: no store would take it.
    """
    if isinstance(value, str):
        return masking(value)
    if isinstance(value, dict | list | tuple) and depth <= 0:
        return None
    if isinstance(value, dict):
        return {mask_value(key, masking): mask_value(item, masking, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mask_value(item, masking, depth - 1) for item in value)
    return value


def _masked(found: re.Match[str], mark: str) -> str:
    group = "secret" if "secret" in found.re.groupindex else 0
    whole, at = found.group(), found.start()
    begin, end = found.span(group)
    if whole[begin - at : end - at].startswith("[masked:"):
        return whole
    return whole[: begin - at] + mark + whole[end - at :]


_VERBS = (
    r"ignor\w{0,6}|disregard\w{0,3}|(?<!n't )(?<!not )(?<!never )forget|override|overrule|bypass"
    r"|do(?: not|n't) (?:follow|obey)|stop (?:following|obeying)"
    r"|vergiss|missachte|olvida|oublie[zr]?|ne tiens pas compte|忽略|无视|忘记|無視"
)
_VERB_HINTS: tuple[str, ...] = ("ignor", "disregard", "forget", "overr", "bypass", "follow", "obey", "vergiss")
_VERB_HINTS += ("missachte", "olvida", "oublie", "tiens", "忽略", "无视", "忘记", "無視")
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
_B64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_BLOB},}}")

IGNORES = "tells the model to ignore its instructions"
COMMANDS = "speaks to the model as if it could give it orders"
ROLES = "has the marks of another speaker's turn"
CALLS = "looks like a tool call"
HIDES = "has characters that hide text or turn its direction"
ENCODES = "has encoded text in it"


def flags(text: str, *, foreign: bool = True) -> tuple[str, ...]:
    """What in a text seems to be aimed at the model that will read it.

    Args:
        text: any text.
        foreign: whether it came from outside the agent (an observation, a page, a task, a lesson). In what an agent
            wrote itself, role marks and tool calls are how it works, so they are not looked for.

    Returns:
        Reasons, as ends of a sentence that begins with "the text"; () where nothing was found.
    """
    found = []
    plain = _plain(text)
    if _orders(plain):
        found.append(IGNORES)
    if _PHRASES.search(plain):
        found.append(COMMANDS)
    if _hides(text):
        found.append(HIDES)
    if foreign and _ROLES.search(plain):
        found.append(ROLES)
    if foreign and _CALLS.search(plain):
        found.append(CALLS)
    if foreign and any(_readable(blob.group()) for blob in _B64.finditer(text)):
        found.append(ENCODES)
    return tuple(found)


def visible(text: str) -> str:
    """The text without the characters that hide text or turn its direction; joiners of emoji and scripts stay."""
    if not text.isascii():
        text = _SELECTORS.sub("", _TAGS.sub("", _BIDI.sub("", _UNSEEN.sub("", text))))
    return _CONTROLS.sub("", text)


def enclosed(text: str, tag: str) -> str:
    """The text such that it cannot open or close the block `<tag>` that it is put into, nor seem to."""
    letters = rf"{_GAP}{{0,4}}".join(map(re.escape, tag))
    blank = rf"(?:\s|{_GAP}){{0,8}}"
    return re.sub(rf"<(?={blank}/?{blank}{letters}(?!\w))", "(", text, flags=re.IGNORECASE)


def _plain(text: str) -> str:
    """The text as a model reads it: without what hides, in one Unicode form, lower case, runs of blanks as one."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return re.sub(r"[ \t\r\f\v]+", " ", text).lower()


def _orders(plain: str) -> bool:
    """Whether a word such as "ignore" is soon followed by both a "previous" and an "instructions", in any order."""
    if not any(hint in plain for hint in _VERB_HINTS):
        return False
    verb = which = what = -_NEAR - 1
    for found in _ORDER.finditer(plain):
        at = found.start()
        if found.lastgroup == "verb":
            verb = at
        elif found.lastgroup == "which":
            which = at
        else:
            what = at
        if found.lastgroup != "verb" and verb >= 0 and at - verb <= _NEAR and min(which, what) > verb:
            return True
    return False


def _hides(text: str) -> bool:
    if text.isascii():
        return False
    return any(pattern.search(text) for pattern in (_BIDI, _TAGS, _SELECTORS, _WITHIN))


def _readable(blob: str) -> bool:
    """Whether base64 digits decode to a text that can be read."""
    piece = blob[: min(len(blob), _BLOB_READ) // 4 * 4].translate(str.maketrans("-_", "+/"))
    try:
        said = base64.b64decode(piece, validate=True)
        words = said.decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    return _share(words, str.isprintable) > 0.95 and _share(words, lambda c: c.isalpha() or c.isspace()) > 0.6


def _share(text: str, holds: Callable[[str], bool]) -> float:
    return sum(holds(c) or c in "\n\t" for c in text) / max(len(text), 1)
