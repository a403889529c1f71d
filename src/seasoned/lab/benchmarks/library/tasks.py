"""The tasks of a private library: programs that use one to three pieces, in plain words, with hidden inputs.

Always holds: no text names a quirk; the right answers are computed from the pieces' meanings, without the library; a
task's text, inputs and answers depend only on the seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from seasoned.lab.benchmarks.library.pieces import Piece
from seasoned.types import Task

ENTRY = "solve"
_HIDDEN = 4


@dataclass(frozen=True)
class _Ask:
    """A request for a program: its text and parameters, the right and the naive body, and the meaning."""

    text: str
    params: tuple[str, ...]
    right: list[str]
    naive: list[str]
    mean: Callable[..., Any]
    draw: Callable[[random.Random], tuple[Any, ...]]
    pieces: tuple[Piece, ...]


def make_tasks(pieces: Sequence[Piece], draw: random.Random, seed: int, count: int, version: int) -> list[Task]:
    """Tasks of three levels, 40, 35 and 25 percent of all, with distinct texts.

    Args:
        pieces: the library's pieces.
        draw: generator of the library's seed.
        seed: the library's seed, for the tasks' ids.
        count: the number of tasks.
        version: the library's version.
    """
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
    numbers = [piece for piece in pieces if piece.gives == "number"]
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
    if piece.gives == "number":
        frames.append(_twice)
    if len(piece.params) == 1 and not piece.source.startswith("class"):
        frames.append(partial(_over, words="a list of {}, in their order", fold=list))
        if piece.gives == "number":
            folds = (("the largest of {}", max), ("the smallest of {}", min), ("the sum of {}", sum))
            frames += [_difference, *(partial(_over, words=words, fold=fold) for words, fold in folds)]
    return [frame(piece) for frame in frames]


def _value(piece: Piece) -> _Ask:
    sides = [_body(*piece.called(piece.params, right)) for right in (True, False)]
    text = piece.phrase.format(*(f"`{name}`" for name in piece.params))
    return _Ask(text, piece.params, sides[0], sides[1], piece.mean, piece.draw, (piece,))


def _body(lines: list[str], expression: str) -> list[str]:
    return [*lines, f"return {expression}"]


def _difference(piece: Piece) -> _Ask:
    params = ("first", "second")
    calls = [[piece.called([p], right)[1] for p in params] for right in (True, False)]
    text = f"how much more is {piece.phrase.format('`second`')} than {piece.phrase.format('`first`')}"
    return _Ask(
        text,
        params,
        [f"return {calls[0][1]} - {calls[0][0]}"],
        [f"return {calls[1][1]} - {calls[1][0]}"],
        lambda a, b: piece.mean(b) - piece.mean(a),
        lambda r: (*piece.draw(r), *piece.draw(r)),
        (piece,),
    )


def _over(piece: Piece, words: str, fold: Callable[[Any], Any]) -> _Ask:
    calls = [piece.called(["x"], right)[1] for right in (True, False)]
    text = words.format(piece.phrase.format("each of `values`"))
    return _Ask(
        f"{text} (`values` is a list)",
        ("values",),
        [f"return {fold.__name__}({calls[0]} for x in values)"],
        [f"return {fold.__name__}({calls[1]} for x in values)"],
        lambda xs: fold(piece.mean(x) for x in xs),
        lambda r: ([piece.draw(r)[0] for _ in range(r.randint(2, 4))],),
        (piece,),
    )


def _twice(piece: Piece) -> _Ask:
    one = _value(piece)
    sides = [[line.replace("return ", "return 2 * ") for line in side] for side in (one.right, one.naive)]
    return _Ask(
        f"twice {one.text}", one.params, sides[0], sides[1], lambda *x: 2 * piece.mean(*x), one.draw, one.pieces
    )


def _chain(pieces: Sequence[Piece]) -> _Ask:
    """A request in which each piece's number is the input of the next piece."""
    first, *rest = pieces
    text = f"let n be {first.phrase.format(*(f'`{name}`' for name in first.params))}; "
    sides: list[list[str]] = []
    for right in (True, False):
        lines, expression = first.called(first.params, right)
        for piece in rest:
            lines = [*lines, f"n = {expression}"]
            more, expression = piece.called(["n"], right)
            lines += more
        sides.append(_body(lines, expression))
    for place, piece in enumerate(rest):
        begins = "then give " if place == len(rest) - 1 else "now let n be "
        text += begins + piece.phrase.format("n") + ("" if place == len(rest) - 1 else "; ")

    def mean(*values: Any) -> Any:
        n = first.mean(*values)
        for piece in rest:
            n = piece.mean(n)
        return n

    return _Ask(text, first.params, sides[0], sides[1], mean, first.draw, tuple(pieces))


def _sum(pieces: Sequence[Piece]) -> _Ask:
    """A request for the sum of several pieces' results, each for its own values."""
    names: list[tuple[str, ...]] = []
    for place, piece in enumerate(pieces, 1):
        taken = {name for of_piece in names for name in of_piece}
        names.append(tuple(f"{name}{place}" if name in taken else name for name in piece.params))
    text = " plus ".join(p.phrase.format(*(f"`{n}`" for n in params)) for p, params in zip(pieces, names, strict=True))
    sides: list[list[str]] = []
    for right in (True, False):
        lines: list[str] = []
        parts: list[str] = []
        for place, (piece, params) in enumerate(zip(pieces, names, strict=True)):
            more, expression = piece.called(params, right)
            if more:
                lines += [*more, f"n{place} = {expression}"]
                expression = f"n{place}"
            parts.append(expression)
        sides.append(_body(lines, " + ".join(parts)))

    def mean(*values: Any) -> Any:
        total, left = 0, list(values)
        for piece in pieces:
            count = len(piece.params)
            total += piece.mean(*left[:count])
            left = left[count:]
        return total

    return _Ask(
        text,
        tuple(name for of_piece in names for name in of_piece),
        sides[0],
        sides[1],
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
            "answer": head + "".join(f"    {line}\n" for line in ask.right),
            "naive": head + "".join(f"    {line}\n" for line in ask.naive),
            "version": version,
            "functions": [piece.name for piece in ask.pieces],
        },
    )
