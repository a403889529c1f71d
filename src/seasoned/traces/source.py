"""Functions that all readers of logs share: the file's bytes, its JSON values, problems, and a trajectory's id.

Always holds: nothing is unpickled or run; a file that is too large is refused before it is read; a fault inside a file
is a `Problem` that names the place without quoting it, and the rest is still read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from seasoned.errors import DataError
from seasoned.files import read_file
from seasoned.types import Message, Outcome, Step, Trajectory, Usage, now

MAX_LINE = 16 * 1024 * 1024
"""The most bytes of a line; a longer line is a problem."""
MAX_REPEATED = 16 * 1024 * 1024
"""The most characters that one file may repeat by reference; the rest is left out and reported."""

NOTHING_DONE = "no reply of an assistant in it, so nothing was done"
"""Why a conversation has no attempt."""

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SAMPLE_LINES = 20  # lines that show whether a file has one JSON value a line
_MAX_BROKEN = 1000  # broken values before a file counts as having none


@dataclass(frozen=True)
class Problem:
    """A part of a log that could not be read: where ("line 3"), and why, as the end of a sentence."""

    where: str
    why: str


@dataclass
class Log:
    """The result of a reader: trajectories in the file's order, problems, and the number of repeated attempts."""

    trajectories: list[Trajectory] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    repeated: int = 0

    def take(self, place: str, read: Callable[..., Trajectory | str], *arguments: Any) -> None:
        """Add the attempt that `read(*arguments)` returns, or the problem if it returns a reason for having none."""
        try:
            result = read(*arguments)
        except RecursionError:
            result = "nested too deeply"
        if isinstance(result, str):
            self.problems.append(Problem(place, result))
        else:
            self.trajectories.append(result)


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises:
        DataError: it is missing, a folder, unreadable, too large, a pickle, or compressed in another form than zip.
    """
    raw = read_file(path)
    for magic, name in _COMPRESSED.items():
        if raw.startswith(magic):
            raise DataError(f"{path} is compressed with {name}: unpack it first")
    if not raw.strip():
        raise DataError(f"{path} is empty, but a log was expected")
    return raw


def lines(raw: bytes) -> Iterator[tuple[int, str, str]]:
    """The lines of a text, as (number from 1, text, ""), or (number, "", reason) if a line cannot be read."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raw = raw.decode("utf-16", "replace").encode()
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if len(line) > MAX_LINE:
            yield number, "", f"longer than {MAX_LINE} bytes"
            continue
        try:
            yield number, line.rstrip(b"\r").decode(), ""
        except UnicodeDecodeError:
            yield number, "", "not UTF-8 text"


def json_values(raw: bytes) -> tuple[list[tuple[str, Any]], list[Problem]]:
    """The JSON values of a file, each with its place; and the problems.

    A file has one value, one value a line, or consecutive values as a console exporter prints them. Of a top-level
    list, the items are returned.
    """
    values: list[tuple[str, Any]] = []
    problems: list[Problem] = []
    text = raw.decode("utf-8-sig", "replace")
    value, fault = load(text)
    if not fault:
        values = [("line 1", value)]
    elif _has_values_on_lines(raw):
        for number, line, why in lines(raw):
            value, fault = (None, why) if why else load(line)
            if fault and (why or line.strip()):
                problems.append(Problem(f"line {number}", fault))
            elif not fault:
                values.append((f"line {number}", value))
    else:
        _consecutive(text, values, problems)
    return [item for place, value in values for item in _items(place, value)], problems


def load(text: str) -> tuple[Any, str]:
    """The value of a JSON text and "", or None and the reason; a lone surrogate in it becomes U+FFFD."""
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            dumped = json.dumps(value, ensure_ascii=False)
            value = json.loads(dumped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        return value, ""
    except RecursionError:
        return None, "JSON nested too deeply"
    except ValueError as error:
        return None, f"not JSON ({str(error)[:80]})"


def _has_values_on_lines(raw: bytes) -> bool:
    first = islice((line for _, line, _ in lines(raw) if line.strip()), _SAMPLE_LINES)
    return any(line[0] in "{[" and not load(line)[1] for line in first)


def _items(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list) and value and not all(isinstance(v, dict) and ("role" in v) for v in value):
        for number, item in enumerate(value, 1):
            yield f"{place}, item {number}", item
    else:
        yield place, value


def _consecutive(text: str, values: list[tuple[str, Any]], problems: list[Problem]) -> None:
    decode = json.JSONDecoder().raw_decode
    place, line, counted = 0, 1, 0
    while len(problems) < _MAX_BROKEN:
        while place < len(text) and (text[place].isspace() or text[place] == ","):
            place += 1
        if place >= len(text):
            return
        line += text.count("\n", counted, place)
        counted = place
        try:
            value, place = decode(text, place)
            values.append((f"line {line}", value))
        except (ValueError, RecursionError):
            problems.append(Problem(f"line {line}", "not JSON"))
            nexts = [at for sign in "{[" if (at := text.find("\n" + sign, place)) >= 0]
            place = min(nexts) + 1 if nexts else len(text)
    problems.append(Problem(f"line {line}", "too many broken values: the rest was not read"))


def texts(value: Any) -> str:
    """A value as text: a string as it is, None as "", anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "[nested too deeply]"


def number(value: Any) -> float | None:
    """The finite number that a value is, or holds as text; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


_YES = ("true", "yes", "pass", "passed", "success", "succeeded", "successful", "correct", "c", "ok", "won")
_NO = ("false", "no", "fail", "failed", "failure", "incorrect", "i", "wrong", "lost", "n")
_WORDS = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)


def verdict(value: Any) -> bool | None:
    """The success that a value means: a boolean, a number from 0 to 1 (only 1 is success), or a word such as "pass"."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (word := value.strip().casefold()) in _WORDS:
        return _WORDS[word]
    grade = number(value)
    return grade >= 1.0 if grade is not None and 0.0 <= grade <= 1.0 else None


def repeats(seen: Counter[str], *parts: Any) -> int:
    """How often an attempt with these parts came before; counts this one in `seen`."""
    key = digest(*parts)
    seen[key] += 1
    return seen[key] - 1


def date(value: Any) -> str:
    """A time in ISO 8601 with milliseconds, or "" if the value is not a time."""
    try:
        return datetime.fromisoformat(value).isoformat(timespec="milliseconds") if isinstance(value, str) else ""
    except ValueError:
        return ""


def digest(*parts: Any) -> str:
    """A hash of the parts, as sixteen hexadecimal digits."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def task_name(text: str) -> str:
    """The id of the task with this text, as `Memory` has it: equal texts are the same task."""
    return f"task-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def make(
    task: str,
    steps: Sequence[Step],
    outcome: Outcome,
    *,
    meta: Mapping[str, Any],
    messages: Sequence[Message] = (),
    task_id: str = "",
    created: str = "",
    occurrence: int | str = 0,
    **more: Any,
) -> Trajectory:
    """Make a trajectory whose id depends on its content, not on the file or the time of reading.

    `meta` has its source, and other fields of the log. Without a `task_id`, `seasoned.traces.read` makes one from the
    text; without a time in `created`, it is now. `occurrence` distinguishes identical attempts: how many come before
    this one in the file, or the log's name for it.
    """
    # Ids must stay the same as before steps had calls and messages had more than text.
    raw_steps = [step.model_dump(exclude={"call"}) for step in steps]
    text_messages = [{name: texts(value) for name, value in message.items()} for message in messages]
    key = digest(task, raw_steps, outcome.model_dump(), text_messages, occurrence)
    return Trajectory(
        id=f"tra-{key}",
        task_id=task_id,
        task=task,
        steps=tuple(steps),
        outcome=outcome,
        messages=tuple(messages),
        meta={k: v for k, v in meta.items() if v not in (None, "", [], {})},
        created=created or now(),
        **more,
    )


def usage(counts: Sequence[Mapping[str, Any]], prompt: str, completion: str, *, calls: int) -> Usage:
    """The usage that a log reports for this many calls; anything but a number counts as zero, the cost is unknown.

    `prompt` and `completion` name the tokens in each of the counts.
    """
    sent, generated = (int(sum(max(number(c.get(name)) or 0.0, 0.0) for c in counts)) for name in (prompt, completion))
    return Usage(prompt_tokens=sent, completion_tokens=generated, calls=calls, cost=None)
