"""Trust by lineage: how far a lesson can be trusted, by what it came from; and what it took from an observation alone.

Always holds: a lesson is as trusted as its least trusted source; what nobody can look up is trusted as an import; no
text raises, and nothing here asks a model.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Literal, get_args
from urllib.parse import unquote

from seasoned.types import Lesson, Step, Trajectory

TrustName = Literal["page", "imported", "unchecked", "checked", "person"]
TRUST_NAMES: tuple[TrustName, ...] = get_args(TrustName)
OBSERVED = "says what an observation alone said, and no second source confirms"
UNTRUSTED = "comes from a source that this memory trusts too little"

_RUN = 4  # words in a row that count as copied
_COPY = 0.5  # of the words of two passages together; from this share on, one is a copy of the other
_LONGEST = 20_000  # characters of an observation that are looked at
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SENTENCE = re.compile(r"[\n.!?;。！？]+(?=\s|$|[\u3040-\u9fff])|\n")
_VERDICT = re.compile(
    r"\s*(?:right|correct|wrong|incorrect)\.?(?:\s+the right answer is [^.!?\n]{1,60}\.?)?\s*", re.IGNORECASE
)
_SAID = re.compile(r"\s*(?:THINK|NOTE|RECALL)\s*\[", re.IGNORECASE)
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe00-\ufe0f\U000e0000-\U000e01ef]+")
_TAGGED = re.compile("[\U000e0020-\U000e007e]+")
_B64 = re.compile(r"[A-Za-z0-9+/_-]{16,4096}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){8,2048}")
_COMMON = frozenset(
    "the and for with that this from are was were has have had not but you your its it is be been on in of to at by "  # noqa: SIM905
    "as an any all can did do does first how if into must never next no one only or out should so than their them "
    "then there they up use task order what when where which who will always after before s t".split()
)


class Trust(IntEnum):
    """How far a source can be trusted, the least first."""

    PAGE = 1
    IMPORTED = 2
    UNCHECKED = 3
    CHECKED = 4
    PERSON = 5

    @property
    def name_(self) -> TrustName:
        """Its name in settings and exports."""
        return TRUST_NAMES[self - 1]

    @property
    def words(self) -> str:
        """What it means."""
        return _MEANS[self - 1]


_MEANS = (
    "text of a page or tool result",
    "an imported log, or nobody knows",
    "an own attempt whose outcome nobody checked",
    "an own attempt with a checked outcome",
    "a person",
)


def attempt_trust(attempt: Trajectory) -> Trust:
    """How far an attempt can be trusted; a model's verdict on it is no check of its outcome."""
    if attempt.meta.get("flags"):
        return Trust.PAGE
    if attempt.meta.get("source"):
        return Trust.IMPORTED
    checked = attempt.outcome.success is not None and "judged" not in attempt.meta
    return Trust.CHECKED if checked else Trust.UNCHECKED


def lesson_trust(lesson: Lesson, sources: Iterable[Trajectory]) -> Trust:
    """How far a lesson can be trusted.

    Args:
        lesson: what was learned.
        sources: those of its sources that can be looked up.
    """
    imported = bool(lesson.data.get("imported"))
    if lesson.origin == "person" and not imported:
        return Trust.PERSON
    reasons = lesson.data.get("flags") or ()
    if isinstance(reasons, list | tuple) and set(reasons) - {UNTRUSTED}:
        return Trust.PAGE
    found = {source.id: attempt_trust(source) for source in sources if source.id in lesson.sources}
    known = [found.get(name, Trust.IMPORTED) for name in lesson.sources] or [Trust.IMPORTED]
    return min([*known, Trust.IMPORTED]) if imported else min(known)


@dataclass(frozen=True)
class Passage:
    """A sentence of an observation, and the task of the attempt that saw it."""

    task: str
    words: frozenset[str]


@dataclass(frozen=True)
class Evidence:
    """What one attempt has of its own, and what it was told by observations; in words and in runs of four words."""

    own: frozenset[str]
    own_runs: frozenset[str]
    seen: dict[str, list[Passage]]


class Observations:
    """What the observations of several attempts said, to be asked who else saw it."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Passage]] = defaultdict(list)

    def add(self, trajectories: Sequence[Trajectory]) -> None:
        """Take attempts in, each once."""
        for trajectory in trajectories:
            for item, passages in evidence(trajectory).seen.items():
                self._seen[item] += passages

    def confirm(self, item: str, passages: Sequence[Passage]) -> bool:
        """Whether a word or run was seen at another task in a passage that is no copy of any of these."""
        return any(
            all(other.task != one.task and not _copies(other, one) for one in passages)
            for other in self._seen.get(item, ())
        )


@dataclass(frozen=True)
class Alone:
    """What a lesson has from observations alone: words, and runs of words."""

    words: dict[str, list[Passage]] = field(default_factory=dict)
    runs: dict[str, list[Passage]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether it is content: a run, a value (a word with a digit), or two words; one word may be chance."""
        values = any(any(char.isdigit() for char in word) for word in self.words)
        return bool(self.runs) or values or len(self.words) >= 2

    def without(self, others: Observations) -> Alone:
        """What no other attempt, at another task and by other sentences, saw as well."""
        words = {word: seen for word, seen in self.words.items() if not others.confirm(word, seen)}
        runs = {run: seen for run, seen in self.runs.items() if not others.confirm(run, seen)}
        return Alone(words, runs)


def observed_alone(lesson: Lesson, sources: Iterable[Trajectory]) -> Alone:
    """What of a lesson its source attempts were told by observations and have from nowhere else.

    Words of the task, of the guidance in force, of the answer and the outcome, of the verdict on the answer ("Wrong.
    The right answer is k9.") and of actions are the attempt's own. So are those of thoughts and notes, unless they
    repeat what was seen before. Four words in a row that an action copies from an observation are not.
    """
    found = [evidence(source) for source in sources if source.id in lesson.sources]
    if not found:
        return Alone()
    own = frozenset().union(*(each.own for each in found))
    own_runs = frozenset().union(*(each.own_runs for each in found))
    text = _words(f"{lesson.text} . {lesson.key}")
    content = _content(text)
    words = {word: seen for word in content - own if (seen := _among(found, word))}
    runs = {run: seen for run in _runs(text) - own_runs if (seen := _among(found, run)) and set(run.split()) - own}
    return Alone(words, runs)


def _among(found: Sequence[Evidence], item: str) -> list[Passage]:
    return [passage for each in found for passage in each.seen.get(item, ())]


@lru_cache(maxsize=512)
def _evidence(task_id: str, told: tuple[str, ...], steps: tuple[tuple[str, str, str], ...]) -> Evidence:
    own: set[str] = set()
    own_runs: set[str] = set()
    seen: dict[str, list[Passage]] = defaultdict(list)

    def keep(words: list[str]) -> None:
        own.update(words)
        own_runs.update(_runs(words))

    for text in told:
        keep(_words(text))
    for thought, action, observation in steps:
        for text, says in ((thought, True), (action, bool(_SAID.match(action)))):
            words = _words(text)
            copied = {word for run in _runs(words) if run in seen for word in run.split()}
            own_runs.update(run for run in _runs(words) if run not in seen)
            own.update(word for word in words if word not in (seen if says else copied))
        if _VERDICT.fullmatch(observation):
            keep(_words(observation))
            continue
        for reading in readings(observation):
            for sentence in _SENTENCE.split(reading):
                words = _words(sentence)
                content = _content(words)
                passage = Passage(task_id, frozenset(content))
                for item in (*content, *_runs(words)):
                    seen[item].append(passage)
    return Evidence(frozenset(own), frozenset(own_runs), dict(seen))


def evidence(trajectory: Trajectory) -> Evidence:
    """What an attempt has of its own, and what its observations said."""
    outcome = trajectory.outcome
    told = (trajectory.task, trajectory.category, trajectory.guidance, outcome.answer, outcome.detail)
    steps = tuple(map(_texts, trajectory.steps))
    return _evidence(trajectory.task_id, told, steps)


def readings(text: str) -> list[str]:
    """A text as a model may read it: without what hides, and what is encoded or hidden in it, decoded."""
    text = text[:_LONGEST]
    plain = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    found = [plain, html.unescape(plain), unquote(plain)]
    found += ["".join(chr(ord(char) - 0xE0000) for char in tagged.group()) for tagged in _TAGGED.finditer(text)]
    for blob in _B64.finditer(plain):
        digits = blob.group().rstrip("=").translate(str.maketrans("-_", "+/"))
        found.append(_decoded(lambda digits=digits: base64.b64decode(digits + "=" * (-len(digits) % 4))))
    for blob in _HEX.finditer(plain):
        found.append(_decoded(lambda blob=blob: bytes.fromhex(blob.group().replace(":", " "))))
    found += [codecs.encode(plain, "rot13"), plain[::-1]]
    return list(dict.fromkeys(filter(None, found)))


def _decoded(decode: object) -> str:
    try:
        said: str = decode().decode("utf-8")  # type: ignore[operator]
    except (ValueError, binascii.Error):
        return ""
    return said if said.isprintable() else ""


def _texts(step: Step) -> tuple[str, str, str]:
    return step.thought, step.action, step.observation


def _words(text: str) -> list[str]:
    """The words of a text, folded, a plural as its singular."""
    folded = unicodedata.normalize("NFKC", _HIDDEN.sub("", text[:_LONGEST])).casefold()
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(folded)]


def _content(words: Iterable[str]) -> set[str]:
    return {word for word in words if word not in _COMMON and (len(word) > 2 or not word.isascii() or _mixed(word))}


def _mixed(word: str) -> bool:
    return any(char.isdigit() for char in word) and any(char.isalpha() for char in word)


def _runs(words: Sequence[str]) -> set[str]:
    """Four words in a row, at least two of which say something."""
    several = (words[start : start + _RUN] for start in range(len(words) - _RUN + 1))
    return {" ".join(run) for run in several if len(_content(run)) >= 2}


def _copies(one: Passage, other: Passage) -> bool:
    both = len(one.words | other.words)
    return not both or len(one.words & other.words) / both >= _COPY
