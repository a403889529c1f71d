"""Reads the commands in a model's reply: THINK[..], NOTE[key]: text, RECALL[..], ANSWER[..] and END.

Agents and environments use the same reader. Always holds: any text gives a list, no text raises, and the time grows
linearly with the length; every key and text consists of pieces of the reply.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from seasoned.text import without_thinking

NAMES = ("THINK", "NOTE", "RECALL", "ANSWER", "END")

RIGHT = "Right."
WRONG = "Wrong. The right answer is {answer}."
"""The verdict on an ANSWER in training."""

MOST = 1000
"""The most commands read in a reply; the rest is ignored."""
MAX_BARE_KEY = 80
"""The most characters of a key in `NOTE: key: text`; with a longer one, the text counts as prose without a key."""

# Full-width signs become ASCII, one for one, so that positions stay the same.
_TO_ASCII = str.maketrans("【】［］（）：", "[][]():")
_INERT = str.maketrans("[]【】［］", "()()()")
_ANY_CASE = r"(?i:think|note|recall|answer)"
_CAPITALS = r"(?:THINK|NOTE|RECALL|ANSWER)"
_MARKUP = r"[*_`~]{0,3}"
_LINE_PREFIX = (
    r"^[ \t>*_`#~+\u2022\u2013\u2014-]{0,16}(?:\d{1,3}[.)][ \t]{0,4})?"
    r"(?i:assistant[ \t]{0,4}:[ \t]{0,4})?(?i:(?:the |my )?final )?" + _MARKUP
)
# No repetition is nested or unbounded, so that matching takes linear time.
_AT_LINE_START = re.compile(
    rf"{_LINE_PREFIX}(?:(?P<name>{_ANY_CASE}){_MARKUP}[ \t]{{0,4}}(?P<open>[\[:])|(?P<loud>{_CAPITALS})(?P<paren>\())",
    re.ASCII | re.MULTILINE,
)
_IN_LINE = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?P<name>{_ANY_CASE}){_MARKUP}[ \t]{{0,4}}(?P<open>\[)"
    rf"|(?P<loud>{_CAPITALS})(?:{_MARKUP}[ \t]{{0,4}}(?P<colon>:)|(?P<paren>\()))",
    re.ASCII,
)
_END = re.compile(rf"{_LINE_PREFIX}(?P<end>(?i:end))(?:\[[ \t]{{0,4}}\])?[.!*`_ \t]{{0,8}}$", re.ASCII | re.MULTILINE)
_AFTER_KEY = re.compile(r"[ \t*_`]{0,8}(?P<sign>:|=|->|→|-)?[ \t]{0,8}")
_KEY_ENDS = re.compile(r":|=|->|→")
_BRACKETS = re.compile(r"[\[\]()]")
_BLANK = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `name` is one of `NAMES`; only NOTE has a `key`; `text` is the argument (END has none)."""

    name: str
    key: str = ""
    text: str = ""


def inert(text: str) -> str:
    """A text with round brackets for square ones: as an argument, it cannot end its command or begin another."""
    return text.translate(_INERT)


def recall_words(action: str) -> str:
    """The words that a step `RECALL[words]` looks up; "" for any other step."""
    return action.removeprefix("RECALL[").removesuffix("]").strip() if action.startswith("RECALL[") else ""


def right_answer(observation: str) -> str:
    """The right answer in an observation of the form of `WRONG`; "" if it has none."""
    before, after = WRONG.split("{answer}")
    text = observation.strip()
    has_answer = text.startswith(before) and text.endswith(after) and len(text) > len(before) + len(after)
    return text[len(before) : -len(after)] if has_answer else ""


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a command begins (`at`), and what opens its argument (`sign`: "[", "(", ":", "" for END) and where."""

    at: int
    name: str
    sign: str
    opener: int


def parse(text: str) -> list[Command]:
    """Find the commands of a reply, in order; text between them is ignored.

    Names may be in any case, bold or in backticks; several commands may share a line. Brackets may nest: everything in
    the brackets of a command belongs to it. A bracket that never closes ends before the next command or at the end of
    the line. A command at the beginning of a line is always read as one. `ANSWER: x` is read like `ANSWER[x]`, and
    `NOTE: key: text` and `NOTE[key: text]` like `NOTE[key]: text`; a NOTE without a recognisable key has the key "".
    """
    return _Reader(without_thinking(text).replace("\r\n", "\n").replace("\r", "\n")).read()


def answer_in(text: str) -> str:
    """The text of a reply's first non-empty ANSWER; the reply if it has none."""
    text = without_thinking(text)
    return next((command.text for command in parse(text) if command.name == "ANSWER" and command.text), text)


class _Reader:
    """One pass over one reply; a class, because its functions share the positions."""

    def __init__(self, text: str) -> None:
        scan = text.translate(_TO_ASCII)
        by_place: dict[int, _Start] = {}
        barriers: set[int] = set()
        for m in chain(*(islice(kind.finditer(scan), MOST + 1) for kind in (_AT_LINE_START, _END))):
            start = _start(m)
            by_place[start.at] = start
            barriers.add(m.start())
        for m in islice(_IN_LINE.finditer(scan), MOST + 1):
            start = _start(m)
            by_place.setdefault(start.at, start)
        starts = sorted(by_place.values(), key=lambda s: s.at)
        self.starts = starts[:MOST]
        self.places = [s.at for s in self.starts]
        end = starts[MOST].at if len(starts) > MOST else len(text)
        self.text, self.scan = text[:end], scan[:end]
        self.barriers = sorted(place for place in barriers if place < end)
        self.closers = _closers(self.scan, self.barriers) if self.starts else {}
        self.line_end = -1

    def read(self) -> list[Command]:
        commands: list[Command] = []
        position = 0
        for start in self.starts:
            if start.at < position:
                continue
            if start.sign == "":
                commands.append(Command(start.name))
                continue
            read = self._after_colon if start.sign == ":" else self._in_brackets
            command, position = read(start)
            commands.append(command)
        return commands

    def _in_brackets(self, start: _Start) -> tuple[Command, int]:
        close = self.closers.get(start.opener)
        if close is None:
            end = min(self._end_of_line(start.opener), self._next_place(start.opener))
            inner, end_of_key = self.text[start.opener + 1 : end], end
        else:
            inner, end_of_key = self.text[start.opener + 1 : close], close + 1
        if start.name != "NOTE":
            return Command(start.name, "", inner.strip()), end_of_key
        separator = _AFTER_KEY.match(self.scan, end_of_key)
        after = separator.end() if separator else end_of_key
        value, end = self._value(after, reach_down=bool(separator and separator["sign"]))
        if value:
            return Command("NOTE", _key(inner), value), end
        return _note(inner), end

    def _after_colon(self, start: _Start) -> tuple[Command, int]:
        value, end = self._value(start.opener + 1, reach_down=True)
        return (_note(value) if start.name == "NOTE" else Command(start.name, "", value)), end

    def _value(self, begin: int, *, reach_down: bool) -> tuple[str, int]:
        """The rest of the line up to the next command; with `reach_down`, the next line if that is empty."""
        line_end = self._end_of_line(begin)
        end = min(line_end, self._next_place(begin))
        value = _clean(self.text[begin:end])
        if value or not reach_down or end < line_end:
            return _unwrap(value), end
        place = bisect_right(self.barriers, begin)
        barrier = self.barriers[place] if place < len(self.barriers) else len(self.scan)
        blank = _BLANK.match(self.scan, end, barrier)
        below = blank.end() if blank else end
        end_below = min(self._end_of_line(below), self._next_place(below))
        return _unwrap(_clean(self.text[below:end_below])), end_below

    def _end_of_line(self, position: int) -> int:
        """The next line end; cached, because many commands may share one long line, and positions only grow."""
        if self.line_end < position:
            end = self.scan.find("\n", position)
            self.line_end = len(self.scan) if end < 0 else end
        return self.line_end

    def _next_place(self, position: int) -> int:
        i = bisect_left(self.places, position)
        return self.places[i] if i < len(self.places) else len(self.scan)


def _closers(scan: str, barriers: Sequence[int] = ()) -> dict[int, int]:
    """Map opening to closing positions of brackets; no pair extends over one of the barriers."""
    pairs: dict[int, int] = {}
    stacks: dict[str, list[int]] = {"[": [], "(": []}
    remaining = [*reversed(barriers)]
    for m in _BRACKETS.finditer(scan):
        place, sign = m.start(), m.group()
        while remaining and place >= remaining[-1]:
            remaining.pop()
            stacks = {"[": [], "(": []}
        if sign in stacks:
            stacks[sign].append(place)
        elif stack := stacks["[" if sign == "]" else "("]:
            pairs[stack.pop()] = place
    return pairs


def _start(m: re.Match[str]) -> _Start:
    groups = m.groupdict()
    if groups.get("end"):
        return _Start(m.start("end"), "END", "", m.end())
    group = "name" if groups["name"] else "loud"
    return _Start(m.start(group), m.group(group).upper(), m.group()[-1], m.end() - 1)


def _note(inner: str) -> Command:
    """The note of an argument with both key and text, as in `key: text` or `[key] text`."""
    inner = inner.strip()
    end = _closing(inner)
    if inner.startswith("[") and 0 < end < len(inner) - 1:
        separator = _AFTER_KEY.match(inner, end + 1)
        return Command("NOTE", _key(inner[1:end]), _clean(inner[separator.end() if separator else end + 1 :]))
    split = _KEY_ENDS.search(inner.translate(_TO_ASCII))
    if split and 0 < split.start() <= MAX_BARE_KEY:
        return Command("NOTE", _key(inner[: split.start()]), _unwrap(_clean(inner[split.end() :])))
    if len(inner) <= MAX_BARE_KEY and inner and not split:
        return Command("NOTE", _key(inner), "")
    return Command("NOTE", "", inner)


def _closing(text: str) -> int:
    """The position where the bracket that opens `text` closes; -1 if there is none or it never closes."""
    return _closers(text.translate(_TO_ASCII)).get(0, -1)


def _unwrap(text: str) -> str:
    bare = text.rstrip(".").rstrip()
    if bare[:1] in ("[", "【", "［") and len(bare) > 1 and _closing(bare) == len(bare) - 1:
        return bare[1:-1].strip()
    return text


def _clean(text: str) -> str:
    return text.strip().strip("*`").strip()


def _key(text: str) -> str:
    return " ".join(text.split()).strip("\"'`*“”‘’ ")
