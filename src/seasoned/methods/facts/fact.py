"""A fact: a call of a library's function and what it gave or raised, as a lesson that can be run again.

Always holds: a fact is one call, after at most a few lines that make its object; it is read from attempts, doctests and
reports of pytest without running anything, and whatever these hold, reading raises nothing.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.sandbox import Ran, Sandbox, Value
from seasoned.text import LIMIT, clean
from seasoned.trust import mask
from seasoned.types import Lesson, Trajectory

LONGEST = 300
"""Characters of a call and of what it gave; a fact with a longer call is none, a longer outcome is shortened."""

_SETUP = 6
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_MASKED = re.compile(r"\[masked:|0x\.\.")
_PROMPT = re.compile(r"^[ \t]*>>> ?(.*)$")
_MORE = re.compile(r"^[ \t]*\.\.\. ?(.*)$")
_USUAL = frozenset(vars(builtins))
_WHERE = re.compile(r"^E?[ \t]*\+[ \t]+where (.{1,300}) = ((?:[A-Za-z_]\w{0,60}\.){0,4}[A-Za-z_]\w{0,60}\(.{0,300}\))$")
_RAISED = re.compile(r"^[A-Za-z_][\w.]{0,80}(?:Error|Exception|Exit|Interrupt|Warning)(?::.*)?$")


@dataclass(frozen=True)
class Fact:
    """A call, the lines before it, and what it gave as text; or, where `error` is not "", what it raised."""

    function: str
    call: str
    value: str = ""
    error: str = ""
    setup: tuple[str, ...] = ()
    library: str = ""
    version: str = ""
    usage: bool = False

    @property
    def outcome(self) -> str:
        """What it gave or raised."""
        return self.error or self.value

    @property
    def text(self) -> str:
        """The fact as doctest lines."""
        lines = [f">>> {line}" for line in (*self.setup, self.call)]
        return "\n".join([*lines, self.outcome])

    @property
    def same(self) -> tuple[str, ...]:
        """What tells it from other facts: the lines that are run."""
        return (*self.setup, self.call)

    @property
    def runs(self) -> bool:
        """Whether it can be run again: nothing in it was masked."""
        return not _MASKED.search(self.text)


def make_fact(row: Mapping[str, Any]) -> Fact | None:
    """The fact of a traced call; None where it is too long, or it is no call."""
    call, setup = row.get("call"), row.get("setup") or ()
    value, error = row.get("value") or "", row.get("error") or ""
    texts = [call, value, error, *(setup if isinstance(setup, list | tuple) else [None])]
    if not all(isinstance(text, str) for text in texts) or not isinstance(call, str) or not (value or error):
        return None
    if len(call) > LONGEST or len(setup) > _SETUP or any(len(line) > LONGEST for line in setup) or not is_call(call):
        return None
    function = row.get("function")
    return Fact(
        function=function if isinstance(function, str) and function else called(call),
        call=_masked(call),
        value=_masked(_short(value)),
        error=_masked(_short(error)),
        setup=tuple(_masked(line) for line in setup),
        library=str(row.get("library") or ""),
        version=str(row.get("library_version") or ""),
        usage=row.get("usage") is True,
    )


def is_call(text: str) -> bool:
    """Whether a text is an expression that calls a named function or method."""
    return bool(called(text))


def called(call: str) -> str:
    """The name of what an expression calls: `money` of `money(3)` and of `int(money(3).split()[0])`; "" for none."""
    try:
        tree = ast.parse(call, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    names = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    plain = [name for name in names if re.fullmatch(r"[A-Za-z_][\w.]*", name)]
    own = [name for name in plain if name.partition(".")[0] not in _USUAL]
    return (own or plain or [""])[0]


def harvest(trajectory: Trajectory) -> Iterator[Fact]:
    """The facts of an attempt: the calls that its environment traced, and those that stand in its steps as doctests."""
    for row in trajectory.meta.get("calls") or ():
        if isinstance(row, dict) and (fact := make_fact(row)):
            yield fact
    for step in trajectory.steps:
        if step.action.lstrip().startswith(">>>"):
            yield from read_doctests(f"{step.action}\n{step.observation}")
        elif ">>>" in step.observation:
            yield from read_doctests(step.observation)


def read_doctests(text: str) -> list[Fact]:
    """The calls in doctest lines of a text, each with what stands below it; lines that assign go before the next call.

    A call whose result was not printed gives no fact.
    """
    facts: list[Fact] = []
    before: list[str] = []
    lines = [*text[: 50 * LIMIT].splitlines(), ""]
    place = 0
    while place < len(lines):
        begin = _PROMPT.match(lines[place])
        place += 1
        if begin is None:
            before = before if place < len(lines) and _PROMPT.match(lines[place]) else []
            continue
        source = [begin[1]]
        while place < len(lines) and (more := _MORE.match(lines[place])):
            source.append(more[1])
            place += 1
        printed: list[str] = []
        while place < len(lines) and lines[place].strip() and not _PROMPT.match(lines[place]):
            printed.append(lines[place].strip())
            place += 1
        said = "\n".join(source).strip()
        if printed and is_call(said):
            error = printed[-1] if printed[0].startswith("Traceback") or _RAISED.match(printed[-1]) else ""
            needed = [line for line in before if _root(line) in re.findall(r"[A-Za-z_]\w*", said)][-_SETUP:]
            row = {"call": said, "value": "" if error else " ".join(printed), "error": error, "setup": needed}
            if fact := make_fact({**row, "function": function_of([*needed, said])}):
                facts.append(fact)
            before.append(said)
        elif said and not said.startswith(("import ", "from ")):
            before.append(said)
    return facts


def read_pytest(text: str) -> list[Fact]:
    """The calls that a report of pytest tells of: lines such as `E + where 'a' = money(3)`."""
    said = (_WHERE.match(line.strip()) for line in text[: 50 * LIMIT].splitlines())
    made = (make_fact({"call": found[2], "value": found[1]}) for found in said if found)
    return [fact for fact in made if fact is not None]


def run_facts(sandbox: Sandbox, lines: Iterable[Sequence[str]]) -> list[Fact | None]:
    """What calls give now, each after its lines; None for one that gives no text that can be compared.

    Each call runs in a process of its own, so that none sees what another left behind.
    """
    return [run_fact(sandbox, each) for each in lines]


def run_fact(sandbox: Sandbox, lines: Sequence[str]) -> Fact | None:
    """What one call gives now; see `run_facts`."""
    ran = sandbox.run("", calls=[list(lines)], seconds=2.0)
    return of_value(sandbox, lines, ran.values[0]) if ran.values else _broken(sandbox, lines, ran)


def of_value(sandbox: Sandbox, lines: Sequence[str], value: Value) -> Fact | None:
    """The fact that calls gave this value."""
    if value.fault is None and not value.exact:
        return None
    row = {"call": lines[-1], "setup": list(lines[:-1]), "value": value.text, "function": function_of(lines)}
    row |= {"error": value.fault.text if value.fault else ""}
    return make_fact({**row, "library": sandbox.library.name, "library_version": sandbox.version})


def function_of(lines: Sequence[str]) -> str:
    """The function that the last line calls; of `x.put(3)` after `x = Box()` it is `Box.put`."""
    name = called(lines[-1])
    owner, dot, method = name.partition(".")
    for line in lines[:-1]:
        target, equals, made = line.partition("=")
        if dot and equals and target.strip() == owner:
            return f"{called(made.strip())}.{method}"
    return name


def _broken(sandbox: Sandbox, lines: Sequence[str], ran: Ran) -> Fact | None:
    if ran.ended != "time":
        return None
    row = {"call": lines[-1], "setup": list(lines[:-1]), "error": "TimeoutError: it did not end in time"}
    return make_fact({**row, "library": sandbox.library.name, "library_version": sandbox.version})


def fact_of(lesson: Lesson) -> Fact:
    """The fact that a lesson holds; where a person wrote it as doctest lines, it is read from these."""
    row = lesson.data
    fact = make_fact({**row, "library_version": row.get("version")}) if row.get("call") else None
    if fact is not None and fact.text == lesson.text:
        return fact
    read = read_doctests(lesson.text)
    library, version = str(row.get("library") or ""), str(row.get("version") or "")
    if read:
        last = read[-1]
        return Fact(last.function, last.call, last.value, last.error, last.setup, library, version)
    return Fact(lesson.key, "", lesson.text, library=library, version=version)


def lesson_of(fact: Fact, sources: Sequence[str] = ()) -> Lesson:
    """The lesson that holds a fact."""
    data = {
        "function": fact.function,
        "setup": list(fact.setup),
        "call": fact.call,
        "value": fact.value,
        "error": fact.error,
        "library": fact.library,
        "version": fact.version,
        "usage": fact.usage,
    }
    return Lesson(
        kind="fact",
        key=fact.function[:120],
        text=fact.text,
        method="facts",
        sources=tuple(dict.fromkeys(sources)),
        data=data,
    )


def _root(line: str) -> str:
    """The name that a line assigns to or calls a method of."""
    begin = re.match(r"([A-Za-z_]\w{0,60})\s*(?:=|\.)", line)
    return begin[1] if begin else " "


def _short(text: str) -> str:
    flat = clean(text).strip()
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1].rstrip() + "…"


def _masked(text: str) -> str:
    return _ADDRESS.sub("0x..", mask(text))
