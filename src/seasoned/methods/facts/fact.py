"""A fact: a call of a library function and its result or error, as a lesson that can be run again.

Always holds: a fact is one call, after at most a few lines that make its object; reading facts from attempts, doctests
and pytest reports runs nothing and never raises an error.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seasoned.sandbox import Sandbox, Value
from seasoned.text import LIMIT, clean
from seasoned.trust import mask
from seasoned.types import Lesson, Trajectory

MAX_CHARS = 300  # characters of a call and of its outcome; a longer call is not a fact, a longer outcome is shortened

_MAX_SETUP = 6  # lines before the call
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_MASKED = re.compile(r"\[masked:|0x\.\.")
_PROMPT = re.compile(r"^[ \t]*>>> ?(.*)$")
_CONTINUATION = re.compile(r"^[ \t]*\.\.\. ?(.*)$")
_ROOT = re.compile(r"([A-Za-z_]\w{0,60})\s*(?:=|\.)")  # the name that a line assigns to, or whose method it calls
_BUILTINS = frozenset(vars(builtins))
_WHERE = re.compile(r"^E?[ \t]*\+[ \t]+where (.{1,300}) = ((?:[A-Za-z_]\w{0,60}\.){0,4}[A-Za-z_]\w{0,60}\(.{0,300}\))$")
_RAISED = re.compile(r"^[A-Za-z_][\w.]{0,80}(?:Error|Exception|Exit|Interrupt|Warning)(?::.*)?$")


@dataclass(frozen=True)
class Fact:
    """A call, the lines before it, and its result as text, or its exception in `error`."""

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
        """The result or the error."""
        return self.error or self.value

    @property
    def text(self) -> str:
        """The fact as doctest lines."""
        return "\n".join([*(f">>> {line}" for line in self.same), self.outcome])

    @property
    def same(self) -> tuple[str, ...]:
        """The identity of the fact: the lines that are run."""
        return (*self.setup, self.call)

    @property
    def runs(self) -> bool:
        """Whether it can be run again: nothing in it is masked."""
        return not _MASKED.search(self.text)


def make_fact(row: Mapping[str, Any]) -> Fact | None:
    """The fact of a traced call; None if it is too long or not a call."""
    call, setup = row.get("call"), row.get("setup") or ()
    value, error = row.get("value") or "", row.get("error") or ""
    texts = [call, value, error, *(setup if isinstance(setup, list | tuple) else [None])]
    if not all(isinstance(text, str) for text in texts) or not isinstance(call, str) or not (value or error):
        return None
    if len(setup) > _MAX_SETUP or any(len(line) > MAX_CHARS for line in (call, *setup)) or not called(call):
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


def called(call: str) -> str:
    """The name of the called function: `money` in `money(3)` and in `int(money(3).split()[0])`; "" without a call."""
    try:
        tree = ast.parse(call, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    names = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    plain = [name for name in names if re.fullmatch(r"[A-Za-z_][\w.]*", name)]
    others = [name for name in plain if name.partition(".")[0] not in _BUILTINS]
    return (others or plain or [""])[0]


def harvest(trajectory: Trajectory) -> Iterator[Fact]:
    """The facts of an attempt: the calls that its environment traced, and the doctests in its steps."""
    for row in trajectory.meta.get("calls") or ():
        if isinstance(row, dict) and (fact := make_fact(row)):
            yield fact
    for step in trajectory.steps:
        if step.action.lstrip().startswith(">>>"):
            yield from read_doctests(f"{step.action}\n{step.observation}")
        elif ">>>" in step.observation:
            yield from read_doctests(step.observation)


def read_doctests(text: str) -> list[Fact]:
    """The calls in a text's doctests, each with the output below it; assignments go before the next call.

    A call without printed output gives no fact.
    """
    facts: list[Fact] = []
    before: list[str] = []
    lines = [*text[: 50 * LIMIT].splitlines(), ""]
    place = 0
    while place < len(lines):
        prompt = _PROMPT.match(lines[place])
        place += 1
        if prompt is None:
            before = before if place < len(lines) and _PROMPT.match(lines[place]) else []
            continue
        source = [prompt[1]]
        while place < len(lines) and (more := _CONTINUATION.match(lines[place])):
            source.append(more[1])
            place += 1
        printed: list[str] = []
        while place < len(lines) and lines[place].strip() and not _PROMPT.match(lines[place]):
            printed.append(lines[place].strip())
            place += 1
        statement = "\n".join(source).strip()
        if printed and called(statement):
            error = printed[-1] if printed[0].startswith("Traceback") or _RAISED.match(printed[-1]) else ""
            names = re.findall(r"[A-Za-z_]\w*", statement)
            setup = [line for line in before if (root := _ROOT.match(line)) and root[1] in names][-_MAX_SETUP:]
            row = {"call": statement, "value": "" if error else " ".join(printed), "error": error, "setup": setup}
            if fact := make_fact({**row, "function": function_of([*setup, statement])}):
                facts.append(fact)
            before.append(statement)
        elif statement and not statement.startswith(("import ", "from ")):
            before.append(statement)
    return facts


def read_pytest(text: str) -> list[Fact]:
    """The calls in a pytest report: lines such as `E + where 'a' = money(3)`."""
    matches = (_WHERE.match(line.strip()) for line in text[: 50 * LIMIT].splitlines())
    facts = (make_fact({"call": match[2], "value": match[1]}) for match in matches if match)
    return [fact for fact in facts if fact is not None]


def run_fact(sandbox: Sandbox, lines: Sequence[str]) -> Fact | None:
    """Run the lines, the last of which is a call, in their own process; None if the result cannot be compared."""
    ran = sandbox.run("", calls=[list(lines)], seconds=2.0)
    if ran.values:
        return of_value(sandbox, lines, ran.values[0])
    row = {**_ran(sandbox, lines), "error": "TimeoutError: it did not end in time"}
    return make_fact(row) if ran.ended == "time" else None


def of_value(sandbox: Sandbox, lines: Sequence[str], value: Value) -> Fact | None:
    """The fact that the last line has this value; None if the value cannot be compared."""
    if value.fault is None and not value.exact:
        return None
    error = value.fault.text if value.fault else ""
    return make_fact({**_ran(sandbox, lines), "value": value.text, "error": error, "function": function_of(lines)})


def _ran(sandbox: Sandbox, lines: Sequence[str]) -> dict[str, Any]:
    """The fields of a fact that says what was run."""
    library = {"library": sandbox.library.name, "library_version": sandbox.version}
    return {"call": lines[-1], "setup": list(lines[:-1]), **library}


def function_of(lines: Sequence[str]) -> str:
    """The function that the last line calls; for `x.put(3)` after `x = Box()`, `Box.put`."""
    name = called(lines[-1])
    owner, dot, method = name.partition(".")
    for line in lines[:-1]:
        target, equals, value = line.partition("=")
        if dot and equals and target.strip() == owner:
            return f"{called(value.strip())}.{method}"
    return name


def fact_of(lesson: Lesson) -> Fact:
    """The fact in a lesson, even if a person wrote it as doctest lines."""
    row = lesson.data
    fact = make_fact({**row, "library_version": row.get("version")}) if row.get("call") else None
    if fact is not None and fact.text == lesson.text:
        return fact
    facts = read_doctests(lesson.text)
    library, version = str(row.get("library") or ""), str(row.get("version") or "")
    if facts:
        last = facts[-1]
        return Fact(last.function, last.call, last.value, last.error, last.setup, library, version)
    return Fact(lesson.key, "", lesson.text, library=library, version=version)


def lesson_of(fact: Fact, sources: Sequence[str] = ()) -> Lesson:
    """A lesson with this fact."""
    data = {**asdict(fact), "setup": list(fact.setup)}
    unique = tuple(dict.fromkeys(sources))
    return Lesson(kind="fact", key=fact.function[:120], text=fact.text, method="facts", sources=unique, data=data)


def _short(text: str) -> str:
    flat = clean(text).strip()
    return flat if len(flat) <= MAX_CHARS else flat[: MAX_CHARS - 1].rstrip() + "…"


def _masked(text: str) -> str:
    return _ADDRESS.sub("0x..", mask(text))
