"""What the readers of logs share: the file's bytes, its JSON values, problems, and a trajectory's id.

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
from pathlib import Path
from typing import Any

from seasoned.errors import DataError
from seasoned.files import read_file
from seasoned.types import Message, Outcome, Step, Trajectory, Usage, now

MAX_LINE = 16 * 1024 * 1024
"""The most bytes of a line; a longer one is a broken line."""
MAX_REPEATED = 16 * 1024 * 1024
"""The most characters that one file may repeat by reference; the rest is left out and reported."""

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_LOOKED_AT = 20  # lines that show whether a file has one JSON value a line
_GIVE_UP = 1000  # broken values before a file counts as having none


@dataclass(frozen=True)
class Problem:
    """Something that could not be read: where ("line 3"), and why, as a sentence's end."""

    where: str
    why: str


@dataclass
class Log:
    """A reader's result: trajectories in the file's order, problems, and the number of repeated attempts."""

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
    """Read a whole file.

    Raises:
        DataError: it is missing, a folder, unreadable, too large, a pickle, or compressed other than with zip.
    """
    raw = read_file(path)
    for magic, name in _PACKED.items():
        if raw.startswith(magic):
            raise DataError(f"{path} is packed with {name}: unpack it first")
    if not raw.strip():
        raise DataError(f"{path} is empty, but a log was expected")
    return raw


def lines(raw: bytes) -> Iterator[tuple[int, str, str]]:
    """The lines of a text as (number from 1, text, ""), or (number, "", why it cannot be read)."""
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
    """The JSON values of a file, each with its place, and problems.

    A file has one value, one value a line, or consecutive values as a console exporter prints them. A top-level list
    counts as its items.
    """
    values: list[tuple[str, Any]] = []
    problems: list[Problem] = []
    text = raw.decode("utf-8-sig", "replace")
    whole, fault = load(text)
    if not fault:
        values = [("line 1", whole)]
    elif any(not load(line)[1] for _, line, _ in _first_lines(raw)):
        for number, line, why in lines(raw):
            value, fault = (None, why) if why else load(line)
            if fault and (why or line.strip()):
                problems.append(Problem(f"line {number}", fault))
            elif not fault:
                values.append((f"line {number}", value))
    else:
        _one_after_the_other(text, values, problems)
    return [item for place, value in values for item in _items(place, value)], problems


def load(text: str) -> tuple[Any, str]:
    """The value of a JSON text, or None and the reason; a lone surrogate in it becomes U+FFFD."""
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            flat = json.dumps(value, ensure_ascii=False)
            value = json.loads(flat.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        return value, ""
    except RecursionError:
        return None, "JSON nested too deeply"
    except ValueError as error:
        return None, f"not JSON ({str(error)[:80]})"


def _first_lines(raw: bytes) -> Iterator[tuple[int, str, str]]:
    seen = 0
    for number, line, why in lines(raw):
        if line[:1] in ("{", "["):
            yield number, line, why
        seen += bool(line.strip())
        if seen >= _LOOKED_AT:
            return


def _items(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list) and value and not all(isinstance(v, dict) and ("role" in v) for v in value):
        for number, item in enumerate(value, 1):
            yield f"{place}, item {number}", item
    else:
        yield place, value


def _one_after_the_other(text: str, values: list[tuple[str, Any]], problems: list[Problem]) -> None:
    decode = json.JSONDecoder().raw_decode
    place, line, counted = 0, 1, 0
    while len(problems) < _GIVE_UP:
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
    """A value as text: a text as it is, None as "", anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "[nested too deeply]"


def number(value: Any) -> float | None:
    """A finite number, also if written as text; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


_YES = frozenset(("true", "yes", "pass", "passed", "success", "succeeded", "successful", "correct", "c", "ok", "won"))
_NO = frozenset(("false", "no", "fail", "failed", "failure", "incorrect", "i", "wrong", "lost", "n"))


def verdict(value: Any) -> bool | None:
    """The success that a value means: a boolean, a number from 0 to 1 (only 1 is success), or a word such as "pass"."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() in _YES | _NO:
        return value.strip().casefold() in _YES
    grade = number(value)
    return grade >= 1.0 if grade is not None and 0.0 <= grade <= 1.0 else None


def repeats(seen: Counter[str], *parts: Any) -> int:
    """How often these parts of an attempt came before; counts them."""
    same = digest(*parts)
    seen[same] += 1
    return seen[same] - 1


def date(value: Any) -> str:
    """A time in ISO 8601 with milliseconds, or "" if the value is not a time."""
    try:
        return datetime.fromisoformat(value).isoformat(timespec="milliseconds") if isinstance(value, str) else ""
    except ValueError:
        return ""


def digest(*parts: Any) -> str:
    """A hash of sixteen hexadecimal digits, the same for the same parts."""
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
    """Make a trajectory whose id follows from its content, not from the file or the time of reading.

    Args:
        task: the task's text.
        steps: the steps of the attempt.
        outcome: the outcome of the attempt.
        meta: its source, and what else the log says.
        messages: the conversation, if the log has it.
        task_id: the log's own name of the task, or "" (`seasoned.traces.read` makes one from the text).
        created: when it was made, in ISO 8601; "" for now.
        occurrence: distinguishes it from identical attempts: how many of these come before it in the file, or the log's
            own name for it.
        more: further fields of `Trajectory`.
    """
    # Ids are made as when steps had no call and messages only text.
    raw_steps = [step.model_dump(exclude={"call"}) for step in steps]
    talk = [{name: texts(value) for name, value in message.items()} for message in messages]
    key = digest(task, raw_steps, outcome.model_dump(), talk, occurrence)
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
    """Tokens as a log counts them; anything but a number counts as zero, and the cost is unknown.

    Args:
        counts: the log's counts.
        prompt: the name of the prompt's tokens in each.
        completion: the name of the completion's tokens.
        calls: the number of model calls they cover.
    """
    sent, generated = (int(sum(max(number(c.get(name)) or 0.0, 0.0) for c in counts)) for name in (prompt, completion))
    return Usage(prompt_tokens=sent, completion_tokens=generated, calls=calls, cost=None)
