"""Trust by lineage: how far a lesson's sources can be trusted, and which of its parts come only from observations.

Always holds: a lesson is as trusted as its least trusted source; an unknown source counts as an import; no text raises,
and no model is asked.
"""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Literal, NamedTuple, get_args
from urllib.parse import unquote

from seasoned.types import Lesson, Trajectory

TrustName = Literal["page", "imported", "unchecked", "checked", "person"]
TRUST_NAMES: tuple[TrustName, ...] = get_args(TrustName)
OBSERVED = "says what an observation alone said, and no second source confirms"
UNTRUSTED = "comes from a source that this memory trusts too little"

_RUN = 4  # consecutive words that count as copied
_COPY = 0.5  # least share of common words in two passages that are copies
_MAX_CHARS = 20_000  # of an observation that are read
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SENTENCE = re.compile(r"[\n.!?;。！？]+(?=\s|$|[\u3040-\u9fff])|\n")
_JUDGED = r"(?:right|correct|wrong|incorrect|false|yes|no|failed|passed)\s*[.,:;!]*"
_NAMES = r"the (?:right|correct|expected|true) (?:answer|label|value|result) (?:is|was)|expected"
_FEW_WORDS = r":? [^\s.!?]{1,30}(?: [^\s.!?]{1,30}){0,3}[.!]?"  # at most four words: a planted rule needs more
_VERDICT = re.compile(
    rf"\s*(?:{_JUDGED}(?:\s+the right answer is [^.!?\n]{{1,60}}\.?)?"
    rf"|(?:{_JUDGED}\s+)?(?:{_NAMES}){_FEW_WORDS}"
    rf"|{_JUDGED}\s+(?:it (?:is|was|should be)|should (?:be|have been)){_FEW_WORDS})\s*",
    re.IGNORECASE,
)
"""A verdict on an answer with the right answer: "Wrong. The right answer is k9.", "Wrong: it is k9.", "Expected 5"."""
_NOTE = re.compile(r"\s*(?:THINK|NOTE|RECALL)\s*\[", re.IGNORECASE)
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
    """How far a source can be trusted, in ascending order."""

    PAGE = 1
    IMPORTED = 2
    UNCHECKED = 3
    CHECKED = 4
    PERSON = 5

    @property
    def name_(self) -> TrustName:
        """The name in settings and exports."""
        return TRUST_NAMES[self - 1]

    @property
    def words(self) -> str:
        """The meaning, for people."""
        return _MEANINGS[self - 1]


_MEANINGS = (
    "text of a page or tool result",
    "an imported log, or an unknown source",
    "an attempt of this memory with an unchecked outcome",
    "an attempt of this memory with a checked outcome",
    "a person",
)


def attempt_trust(attempt: Trajectory) -> Trust:
    """How far an attempt can be trusted; a model's verdict does not count as a check of its outcome."""
    if attempt.meta.get("flags"):
        return Trust.PAGE
    if attempt.meta.get("source"):
        return Trust.IMPORTED
    verdicts = attempt.meta.get("verdicts")
    last = verdicts[-1] if isinstance(verdicts, list) and verdicts else None
    by_model = last.get("who") == "model" if isinstance(last, dict) else "judged" in attempt.meta
    return Trust.UNCHECKED if by_model or attempt.outcome.success is None else Trust.CHECKED


def lesson_trust(lesson: Lesson, sources: Iterable[Trajectory]) -> Trust:
    """How far a lesson can be trusted, with the known ones of its sources."""
    imported = bool(lesson.data.get("imported"))
    if lesson.origin == "person" and not imported:
        return Trust.PERSON
    reasons = lesson.data.get("flags") or ()
    if isinstance(reasons, list | tuple) and set(reasons) - {UNTRUSTED}:
        return Trust.PAGE
    trusts = {source.id: attempt_trust(source) for source in sources if source.id in lesson.sources}
    known = [trusts.get(name, Trust.IMPORTED) for name in lesson.sources] or [Trust.IMPORTED]
    return min([*known, Trust.IMPORTED]) if imported else min(known)


class Passage(NamedTuple):
    """A sentence of an observation, and the task of the attempt that saw it."""

    task: str
    words: frozenset[str]


@dataclass(frozen=True)
class Evidence:
    """The words and runs of four words of one attempt: the agent's own, and those in observations."""

    own: frozenset[str]
    own_runs: frozenset[str]
    seen: dict[str, list[Passage]]


class Observations:
    """An index of the observations of several attempts."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Passage]] = defaultdict(list)

    def add(self, trajectories: Sequence[Trajectory]) -> None:
        """Add attempts, each once."""
        for trajectory in trajectories:
            for item, passages in evidence(trajectory).seen.items():
                self._seen[item] += passages

    def confirm(self, item: str, passages: Sequence[Passage]) -> bool:
        """Whether an attempt at another task saw a word or run in a passage that copies none of these."""
        return any(
            all(other.task != one.task and not _copies(other, one) for one in passages)
            for other in self._seen.get(item, ())
        )


@dataclass(frozen=True)
class Alone:
    """The words and runs of words of a lesson that come only from observations."""

    words: dict[str, list[Passage]] = field(default_factory=dict)
    runs: dict[str, list[Passage]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether this is more than chance: a run, a value (a word with a digit), or two words."""
        values = any(any(char.isdigit() for char in word) for word in self.words)
        return bool(self.runs) or values or len(self.words) >= 2

    def without(self, others: Observations) -> Alone:
        """The part that no attempt at another task confirms in other sentences."""
        words = {word: seen for word, seen in self.words.items() if not others.confirm(word, seen)}
        runs = {run: seen for run, seen in self.runs.items() if not others.confirm(run, seen)}
        return Alone(words, runs)


def observed_alone(lesson: Lesson, sources: Iterable[Trajectory]) -> Alone:
    """The parts of a lesson that its source attempts have only from observations.

    An attempt's own words are those of its task, guidance, answer, outcome, actions and of a verdict on the answer
    ("Wrong. The right answer is k9."); also thoughts and notes, except words that an observation had before. Runs of
    four words that an action copies from an observation are not its own.
    """
    evidences = [evidence(source) for source in sources if source.id in lesson.sources]
    if not evidences:
        return Alone()
    own = frozenset().union(*(each.own for each in evidences))
    own_runs = frozenset().union(*(each.own_runs for each in evidences))
    text = _words(f"{lesson.text} . {lesson.key}")
    content = _content(text)
    words = {word: seen for word in content - own if (seen := _passages(evidences, word))}
    foreign_runs = [run for run in _runs(text) - own_runs if set(run.split()) - own]
    runs = {run: seen for run in foreign_runs if (seen := _passages(evidences, run))}
    return Alone(words, runs)


def _passages(evidences: Sequence[Evidence], item: str) -> list[Passage]:
    return [passage for each in evidences for passage in each.seen.get(item, ())]


@lru_cache(maxsize=512)
def _evidence(task_id: str, own_texts: tuple[str, ...], steps: tuple[tuple[str, str, str], ...]) -> Evidence:
    own: set[str] = set()
    own_runs: set[str] = set()
    seen: dict[str, list[Passage]] = defaultdict(list)

    def keep(words: list[str]) -> None:
        own.update(words)
        own_runs.update(_runs(words))

    for text in own_texts:
        keep(_words(text))
    for thought, action, observation in steps:
        for text, is_thought in ((thought, True), (action, bool(_NOTE.match(action)))):
            words, runs = _words(text), _runs(_words(text))
            copied = {word for run in runs if run in seen for word in run.split()}
            own_runs.update(run for run in runs if run not in seen)
            own.update(word for word in words if word not in (seen if is_thought else copied))
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
    """The words of an attempt: the agent's own, and those in observations."""
    outcome = trajectory.outcome
    own_texts = (trajectory.task, trajectory.category, trajectory.guidance, outcome.answer, outcome.detail)
    steps = tuple((step.thought, step.action, step.observation) for step in trajectory.steps)
    return _evidence(trajectory.task_id, own_texts, steps)


def readings(text: str) -> list[str]:
    """The ways a model may read a text: without hidden characters, and with encoded or hidden parts decoded."""
    text = text[:_MAX_CHARS]
    plain = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    versions = [plain, html.unescape(plain), unquote(plain)]
    versions += ["".join(chr(ord(char) - 0xE0000) for char in tagged.group()) for tagged in _TAGGED.finditer(text)]
    for blob in _B64.findall(plain):
        digits = blob.rstrip("=").translate(str.maketrans("-_", "+/"))
        versions.append(_decoded(base64.b64decode, digits + "=" * (-len(digits) % 4)))
    for blob in _HEX.findall(plain):
        versions.append(_decoded(bytes.fromhex, blob.replace(":", " ")))
    versions += [codecs.encode(plain, "rot13"), plain[::-1]]
    return list(dict.fromkeys(filter(None, versions)))


def _decoded(decode: Callable[[str], bytes], digits: str) -> str:
    try:
        decoded = decode(digits).decode("utf-8")
    except ValueError:
        return ""
    return decoded if decoded.isprintable() else ""


def _words(text: str) -> list[str]:
    """The case-folded words of a text, plurals as singulars."""
    folded = unicodedata.normalize("NFKC", _HIDDEN.sub("", text[:_MAX_CHARS])).casefold()
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(folded)]


def _content(words: Iterable[str]) -> set[str]:
    return {word for word in words if word not in _COMMON and (len(word) > 2 or not word.isascii() or _mixed(word))}


def _mixed(word: str) -> bool:
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def _runs(words: Sequence[str]) -> set[str]:
    """Runs of four words, at least two of which are not common words."""
    runs = (words[start : start + _RUN] for start in range(len(words) - _RUN + 1))
    return {" ".join(run) for run in runs if len(_content(run)) >= 2}


def _copies(one: Passage, other: Passage) -> bool:
    total = len(one.words | other.words)
    return not total or len(one.words & other.words) / total >= _COPY
