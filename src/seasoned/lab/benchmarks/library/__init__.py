"""Library: programs for a private library, whose functions have made-up names and quirks that nobody could guess.

The library is our own and generated from a seed, so a model can know it only from experience. A task describes a
program in plain words and names the one to three pieces of the library to use; the program is run on inputs that the
task does not show. Always holds: no text names a quirk; the right answers are computed from the pieces' meanings,
without the library; a task's text, inputs and answers depend only on the seed.

Options: `tasks` (the number of generated tasks, 400), `train_share`, `version` (1 or 2: the same names and meanings
with other quirks), `probes` and `drafts` (limits of an attempt, see `seasoned.lab.benchmarks.code`), `unsafe` (run
programs without a sandbox if none works).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import islice
from typing import Any

from seasoned.lab.benchmarks.base import Benchmark, Check, check_choice, check_options, check_range, split
from seasoned.lab.benchmarks.code import CODE_OPTIONS, code_benchmark, judged
from seasoned.lab.benchmarks.library.pieces import Piece, made_up_names, make_pieces
from seasoned.sandbox import Library, Sandbox
from seasoned.types import Task

ENTRY = "solve"
_HIDDEN = 4  # calls that judge a program
OPTIONS = {"tasks": 400, "train_share": 0.5, "version": 1, **CODE_OPTIONS}


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load the library of a seed; see `load_benchmark`."""
    settings = _options(options)
    library, tasks = generate(seed, settings["version"], settings["tasks"])
    train, test = split(tasks, name="library", seed=seed, share=settings["train_share"])
    return code_benchmark("library", (train, test), (library,), settings, f"{len(tasks)} tasks for {library.name}")


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Run every task's reference solution, and its solution for a library without quirks."""
    settings = _options(options)
    library, tasks = generate(seed, settings["version"], settings["tasks"])
    return check_tasks(library, tasks, settings["unsafe"])


def check_tasks(library: Library, tasks: Sequence[Task], unsafe: bool) -> Check:
    """Run the tasks' solutions with a library: the reference ones, and those for a library without quirks."""
    with Sandbox(library, unsafe=unsafe) as sandbox:
        wrong = [task.id for task in tasks if not judged(sandbox, task, task.data["answer"]).right]
        passed = sum(judged(sandbox, task, task.data["naive"]).right for task in tasks)
        public = len(sandbox.public)
    problems = tuple(f"the reference solution of {name} fails" for name in wrong[:5])
    failed = len(tasks) - passed
    facts = (
        f"the library {library.name} has {public} public functions, classes and methods",
        f"solutions for a library without quirks fail at {failed} of {len(tasks)} tasks ({failed / len(tasks):.1%})",
    )
    return Check(len(tasks) - len(wrong), len(tasks), problems, f"{len(tasks)} generated tasks", 0, facts)


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = check_options("library", options, OPTIONS)
    check_choice(settings, "version", (1, 2))
    check_range(settings, "tasks", 10, 1000)
    return settings


@cache
def generate(seed: int, version: int, count: int) -> tuple[Library, tuple[Task, ...]]:
    """The library of a seed, as source text, and `count` tasks."""
    draw = random.Random(f"library-{seed}")
    names = made_up_names(draw)
    package = next(names)
    pieces = make_pieces(draw, names, version)
    # Only the pieces are public.
    parts = [f"__version__ = '{version}.0'\nunit = 'std'\n", *map(_documented, pieces)]
    source = "\n\n".join([*parts, f"__all__ = {[piece.name for piece in pieces]!r}\n"])
    return Library(package, source=source, version=f"{version}.0"), tuple(_tasks(pieces, seed, count, version))


def _documented(piece: Piece) -> str:
    """A piece's source with a docstring that adds nothing to the tasks."""
    head, line, rest = re.split(r"(?<=:)(\n)(?=    )", piece.source, maxsplit=1)
    return f'{head}{line}    """{piece.says.partition(":")[0].capitalize()}."""\n{rest}'


@dataclass(frozen=True)
class _Ask:
    """A request for a program: its text and parameters, the right or the naive body, and the meaning."""

    text: str
    params: tuple[str, ...]
    body: Callable[[bool], list[str]]
    mean: Callable[..., Any]
    draw: Callable[[random.Random], tuple[Any, ...]]
    pieces: tuple[Piece, ...]


def _tasks(pieces: Sequence[Piece], seed: int, count: int, version: int) -> list[Task]:
    """Tasks of three levels, 40, 35 and 25 percent of all, with distinct texts."""
    draw = random.Random(f"tasks-{seed}")
    single = [ask for piece in pieces for ask in _frames(piece)]
    draw.shuffle(single)
    asks = {ask.text: (ask, 1) for ask in single[: round(count * 0.4)]}
    for level, share in ((2, 0.75), (3, 1.0)):
        for _ in range(50 * count):
            if len(asks) >= round(count * share):
                break
            ask = _ask(level, pieces, draw)
            asks.setdefault(ask.text, (ask, level))
    return [
        _task(ask, level, draw, f"library-{seed}-{place}{'' if version == 1 else f'-v{version}'}", version)
        for place, (ask, level) in enumerate(asks.values())
    ]


def _ask(level: int, pieces: Sequence[Piece], draw: random.Random) -> _Ask:
    numbers = [piece for piece in pieces if piece.gives_number]
    if level == 2:
        first, second = draw.choice(numbers), draw.choice(pieces)
        if second.whole and draw.random() < 0.6:
            return _chain((first, second))
        return _sum((first, draw.choice(numbers)))
    chosen = (draw.choice(numbers), draw.choice([p for p in numbers if p.whole]), draw.choice(pieces))
    if chosen[2].whole:
        return _chain(chosen)
    return _sum((chosen[0], chosen[1], draw.choice(numbers)))


def _frames(piece: Piece) -> list[_Ask]:
    """Requests for one piece: its result for one or several values; for numbers also a difference, sum or extreme."""
    frames: list[Callable[[Piece], _Ask]] = [_value]
    if piece.gives_number:
        frames.append(_twice)
    if len(piece.params) == 1 and piece.before is None:
        frames.append(partial(_over, words="a list of {}, in their order", fold=list))
        if piece.gives_number:
            folds = (("the largest of {}", max), ("the smallest of {}", min), ("the sum of {}", sum))
            frames += [_difference, *(partial(_over, words=words, fold=fold) for words, fold in folds)]
    return [frame(piece) for frame in frames]


def _value(piece: Piece) -> _Ask:
    text = piece.phrase.format(*(f"`{name}`" for name in piece.params))

    def body(right: bool) -> list[str]:
        lines, expression = piece.called(piece.params, right)
        return [*lines, f"return {expression}"]

    return _Ask(text, piece.params, body, piece.mean, piece.draw, (piece,))


def _difference(piece: Piece) -> _Ask:
    def body(right: bool) -> list[str]:
        first, second = (piece.called([name], right)[1] for name in ("first", "second"))
        return [f"return {second} - {first}"]

    return _Ask(
        f"how much more is {piece.phrase.format('`second`')} than {piece.phrase.format('`first`')}",
        ("first", "second"),
        body,
        lambda a, b: piece.mean(b) - piece.mean(a),
        lambda r: (*piece.draw(r), *piece.draw(r)),
        (piece,),
    )


def _over(piece: Piece, words: str, fold: Callable[[Any], Any]) -> _Ask:
    return _Ask(
        f"{words.format(piece.phrase.format('each of `values`'))} (`values` is a list)",
        ("values",),
        lambda right: [f"return {fold.__name__}({piece.called(['x'], right)[1]} for x in values)"],
        lambda xs: fold(piece.mean(x) for x in xs),
        lambda r: ([piece.draw(r)[0] for _ in range(r.randint(2, 4))],),
        (piece,),
    )


def _twice(piece: Piece) -> _Ask:
    one = _value(piece)
    return replace(
        one,
        text=f"twice {one.text}",
        body=lambda right: [line.replace("return ", "return 2 * ") for line in one.body(right)],
        mean=lambda *x: 2 * piece.mean(*x),
    )


def _chain(pieces: Sequence[Piece]) -> _Ask:
    """A request in which each piece's number is the input of the next piece."""
    first, *rest = pieces
    *middle, last = (piece.phrase.format("n") for piece in rest)
    start = first.phrase.format(*(f"`{name}`" for name in first.params))
    text = "; ".join([f"let n be {start}", *(f"now let n be {phrase}" for phrase in middle), f"then give {last}"])

    def body(right: bool) -> list[str]:
        lines, expression = first.called(first.params, right)
        for piece in rest:
            more, following = piece.called(["n"], right)
            lines, expression = [*lines, f"n = {expression}", *more], following
        return [*lines, f"return {expression}"]

    def mean(*values: Any) -> Any:
        return reduce(lambda n, piece: piece.mean(n), rest, first.mean(*values))

    return _Ask(text, first.params, body, mean, first.draw, tuple(pieces))


def _sum(pieces: Sequence[Piece]) -> _Ask:
    """A request for the sum of several pieces' results, each for its own values."""
    names: list[tuple[str, ...]] = []
    for place, piece in enumerate(pieces, 1):
        taken = {name for of_piece in names for name in of_piece}
        names.append(tuple(f"{name}{place}" if name in taken else name for name in piece.params))
    text = " plus ".join(p.phrase.format(*(f"`{n}`" for n in params)) for p, params in zip(pieces, names, strict=True))

    def body(right: bool) -> list[str]:
        lines: list[str] = []
        parts: list[str] = []
        for place, (piece, params) in enumerate(zip(pieces, names, strict=True)):
            more, expression = piece.called(params, right)
            if more:
                lines += [*more, f"n{place} = {expression}"]
                expression = f"n{place}"
            parts.append(expression)
        return [*lines, f"return {' + '.join(parts)}"]

    def mean(*values: Any) -> Any:
        left = iter(values)
        return sum(piece.mean(*islice(left, len(piece.params))) for piece in pieces)

    return _Ask(
        text,
        tuple(name for of_piece in names for name in of_piece),
        body,
        mean,
        lambda r: tuple(value for piece in pieces for value in piece.draw(r)),
        tuple(pieces),
    )


def _task(ask: _Ask, level: int, draw: random.Random, name: str, version: int) -> Task:
    head = f"def {ENTRY}({', '.join(ask.params)}):\n"
    inputs = [ask.draw(draw) for _ in range(_HIDDEN + 1)]
    calls = [f"{ENTRY}({', '.join(map(repr, values))})" for values in inputs]
    named = "; ".join(dict.fromkeys(f"{piece.name} ({piece.says})" for piece in ask.pieces))
    text = f"Write {head[4:-2]}: {ask.text}.\nUse: {named}.\nIt is called like {calls[0]}."
    return Task(
        id=name,
        text=text,
        category=f"level {level}",
        data={
            "entry": ENTRY,
            "sample": calls[0],
            "calls": calls[1:],
            "answers": [repr(ask.mean(*values)) for values in inputs[1:]],
            "answer": head + "".join(f"    {line}\n" for line in ask.body(True)),
            "naive": head + "".join(f"    {line}\n" for line in ask.body(False)),
            "version": version,
            "functions": [piece.name for piece in ask.pieces],
        },
    )
