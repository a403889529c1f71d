"""The pieces of a private library: functions and classes with made-up names and quirks that nobody could guess.

A piece has its source with the quirk, the right call, and its meaning as a Python function. Always holds: the meaning
does not use the source, so reference solutions are checked independently; pieces depend only on a random generator.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, NamedTuple, TypeVar

from seasoned.lab.benchmarks.base import DATA, read_toml

T = TypeVar("T")

_WORDS = read_toml(DATA / "library.toml")


@dataclass(frozen=True)
class Piece:
    """A function or class of the library.

    `params` are the names of its inputs in tasks; `says` and `phrase` describe it in tasks. `use` is the expression of
    the right call, with `$a`, `$b` and `$c` for the parameters; `before` returns the lines before it, right or as for a
    piece without the quirk. `mean` computes the right result; `draw` draws values for the parameters.
    """

    name: str
    says: str
    source: str
    params: tuple[str, ...]
    phrase: str
    use: str
    mean: Callable[..., Any]
    draw: Callable[[random.Random], tuple[Any, ...]]
    gives_number: bool = True
    before: Callable[[str, bool], list[str]] | None = None

    def called(self, args: Sequence[str], right: bool) -> tuple[list[str], str]:
        """The lines and the expression of the right call, or of the call without the quirk."""
        if self.before is not None:
            return self.before(args[0], right), self.use
        if right:
            return [], Template(self.use).substitute(dict(zip("abc", args, strict=False)))
        return [], f"{self.name}({', '.join(args)})"

    @property
    def whole(self) -> bool:
        """Whether it takes one whole number, such as the result of another piece."""
        return len(self.params) == 1 and type(self.draw(random.Random(0))[0]) is int


class _Row(NamedTuple):
    """A made-up name, and a row of `data/library.toml`: its words, and more values in some families."""

    name: str
    says: str
    params: tuple[str, ...]
    phrase: str
    more: list[Any]

    def piece(self, **parts: Any) -> Piece:
        """The piece of the row, with its other parts or other words."""
        return Piece(**{"name": self.name, "says": self.says, "params": self.params, "phrase": self.phrase, **parts})


def make_pieces(draw: random.Random, names: Iterator[str], version: int) -> list[Piece]:
    """All pieces of a library, from 20 to 60 functions, classes and methods.

    Args:
        draw: generator of the library's seed; the names and meanings are the same in both versions.
        names: made-up names.
        version: 1 or 2; version 2 has other quirks.
    """
    families: tuple[tuple[Callable[..., Piece], Sequence[Any]], ...] = (
        (_number, draw.sample(_WORDS["numbers"], 12)),
        (_label, _WORDS["labels"]),
        (_lookup, _WORDS["lookups"]),
        (_date, _WORDS["dates"]),
        (_truth, _WORDS["truths"]),
        (_joined, _WORDS["joined"]),
        (_fare, _WORDS["fares"]),
        (_names, _WORDS["lists"]),
        (_box, _WORDS["boxes"]),
    )
    # Each piece has its own generator, so that the draws for one version's quirk do not change the next piece.
    drawn = [(make, row, random.Random(draw.random())) for make, rows in families for row in rows]
    return [
        make(_Row(next(names), says, tuple(params), phrase, more), rng, version)
        for make, (says, params, phrase, *more), rng in drawn
    ]


def made_up_names(draw: random.Random) -> Iterator[str]:
    """Distinct names of two syllables."""
    taken: set[str] = set()
    while True:
        name = "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(2)) + draw.choice("klnrsx")
        if name not in taken:
            taken.add(name)
            yield name


def _choose(draw: random.Random, version: int, *options: T) -> T:
    """Draw a quirk; the same draws give another quirk for version 2."""
    place = draw.randrange(len(options))
    return options[(place + version - 1) % len(options)]


def _told(draw: random.Random, informative: str) -> str:
    """The message of an error: the informative one, or next to nothing."""
    return informative if draw.random() < 0.5 else "no"


def _refused(wrong: str, message: str, error: str = "ValueError") -> str:
    """The lines of a source that refuse a wrong argument."""
    return f"    if {wrong}:\n        raise {error}({message!r})\n"


def _returned(quirk: str, unit: str, call: str) -> tuple[str, str]:
    """How a function returns a number `n`: the expression in its source, and the one that reads `n` from a call."""
    return {
        "number": ("n", call),
        "pair": (f"(n, {unit!r})", f"{call}[0]"),
        "second": (f"({unit!r}, n)", f"{call}[1]"),
        "words": (f"f'{{n}} {unit}'", f"int({call}.split()[0])"),
        "record": ("{'value': n}", f"{call}['value']"),
    }[quirk]


def _number(row: _Row, draw: random.Random, version: int) -> Piece:
    name, unit = row.name, row.more[0]
    a, b = draw.randint(2, 9), draw.randint(1, 20)
    both = draw.random()
    argument = _choose(draw, version, "words", "digits", "list", "named") if both < 0.45 else "number"
    result = _choose(draw, version, "pair", "second", "words", "record") if both > 0.3 else "number"
    example, wrong, value, given = {
        "words": (
            f"'3 {unit}'",
            f"not isinstance(a, str) or not a.endswith(' {unit}')",
            f"int(a[:-{len(unit) + 1}])",
            f"f'{{$a}} {unit}'",
        ),
        "digits": ("'3'", "not isinstance(a, str)", "int(a)", "str($a)"),
        "list": ("[3]", "not isinstance(a, list)", "a[0]", "[$a]"),
        "named": ("", "", "size", "size=$a"),
        "number": ("3", "not isinstance(a, int)", "a", "$a"),
    }[argument]
    out, use = _returned(result, "cr", f"{name}({given})")
    if argument == "words":
        message = f"expected a text like {example}"
    else:
        message = _told(draw, f"expected something like {example}")
    head = f"def {name}({'*, size' if argument == 'named' else 'a'}):\n{_refused(wrong, message) if wrong else ''}"
    return row.piece(
        source=f"{head}    x = {value}\n    n = {a} * x + {b}\n    return {out}\n",
        use=use,
        mean=lambda x: a * x + b,
        draw=lambda r: (r.randint(2, 30),),
    )


def _label(row: _Row, draw: random.Random, version: int) -> Piece:
    name, (parts, form) = row.name, row.more
    front = draw.choice(("", "~ ", "= "))
    check, values, given = _choose(
        draw,
        version,
        ("", f"*divmod(a, {parts})", f"$a * {parts}"),
        (_refused("not isinstance(a, tuple)", "expected a pair (0, 3)"), "a[1], a[0]", "(0, $a)"),
    )
    return row.piece(
        source=f"def {name}(a):\n{check}    return {front!r} + {form!r}.format({values})\n",
        phrase=f"{row.phrase}, as text",
        use=f"{name}({given})",
        mean=lambda x: front + form.format(x, 0),
        draw=lambda r: (r.randint(2, 30),),
        gives_number=False,
    )


def _lookup(row: _Row, draw: random.Random, version: int) -> Piece:
    name, keys = row.name, _WORDS[row.params[0]]
    table = {key: draw.randint(11, 99) for key in keys}
    folds: tuple[tuple[Callable[[str], str], str], ...] = (
        (str.upper, "$a.upper()"),
        (str.title, "$a.title()"),
        (lambda key: key[:3].upper(), "$a[:3].upper()"),
    )
    fold, given = _choose(draw, version, *folds)
    result = _choose(draw, version, "number", "pair", "words") if draw.random() < 0.6 else "number"
    out, use = _returned(result, "pt", f"{name}({given})")
    message = _told(draw, f"no such key; there is {fold(keys[0])!r}")
    source = (
        f"_{name} = { ({fold(key): value for key, value in table.items()})!r}\n\n\ndef {name}(a):\n"
        f"{_refused(f'a not in _{name}', message, 'KeyError')}    n = _{name}[a]\n    return {out}\n"
    )
    return row.piece(
        source=source,
        phrase=f"{row.phrase} (a name in small letters)",
        use=use,
        mean=lambda x: table[x],
        draw=lambda r: (r.choice(keys),),
    )


def _date(row: _Row, draw: random.Random, version: int) -> Piece:
    name = row.name
    a, b, c = draw.randint(2, 5), draw.randint(2, 5), draw.randint(5, 9)
    example, read, given = _choose(
        draw,
        version,
        ("(31, 12, 2024)", "d, m, y = a", "($c, $b, $a)"),
        ("'31.12.2024'", "d, m, y = map(int, a.split('.'))", "f'{$c}.{$b}.{$a}'"),
        ("(2024, 12, 31)", "y, m, d = a", "($a, $b, $c)"),
        ("'12/31/2024'", "m, d, y = map(int, a.split('/'))", "f'{$b}/{$c}/{$a}'"),
    )
    out, use = _returned(_choose(draw, version, "number", "second"), "pt", f"{name}({given})")
    message = f"expected a day like {example}"
    if example.startswith("("):  # nobody could guess the form of a text
        message = _told(draw, message)
    source = (
        f"def {name}(a):\n    try:\n        {read}\n        assert m <= 12 and d <= 31 < y\n    except Exception:\n"
        f"        raise ValueError({message!r}) from None\n"
        f"    n = {a} * d + {b} * m + y % {c}\n    return {out}\n"
    )
    return row.piece(
        source=source,
        use=use,
        mean=lambda y, m, d: a * d + b * m + y % c,
        draw=lambda r: (r.randint(1990, 2040), r.randint(1, 12), r.randint(13, 28)),
    )


def _truth(row: _Row, draw: random.Random, version: int) -> Piece:
    name = row.name
    least = draw.randint(8, 20)
    over = draw.random() < 0.5
    yes, no = draw.sample(("Y", "N", "ok", "no", "in", "out", "+", "-"), 2)
    if version == 2:
        yes, no = no, yes
    # A call with a very small or very large number shows which text means yes.
    condition, sign = ("at least", ">=") if over else ("fewer than", "<")
    return row.piece(
        source=f"def {name}(a):\n    return {yes!r} if a {sign} {least} else {no!r}\n",
        phrase=f"{row.phrase}; it is so for {condition} some number",
        use=f"{name}($a) == {yes!r}",
        mean=lambda x: (x >= least) if over else (x < least),
        draw=lambda r: (r.choice((r.randint(1, 7), r.randint(21, 40))),),
        gives_number=False,
    )


def _joined(row: _Row, draw: random.Random, version: int) -> Piece:
    name = row.name
    a = draw.randint(3, 9)
    sign = _choose(draw, version, ";", "+", "|", " ")
    result = _choose(draw, version, "number", "pair", "words")
    out, use = _returned(result, "pt", f"{name}({sign!r}.join(map(str, $a)))")
    check = _refused("not isinstance(a, str)", f"expected numbers like '4{sign}7'")
    source = f"def {name}(a):\n{check}    n = sum(int(x) * {a} + 1 for x in a.split({sign!r}))\n    return {out}\n"
    return row.piece(
        source=source,
        phrase=f"{row.phrase} (a list of whole numbers)",
        use=use,
        mean=lambda x: sum(i * a + 1 for i in x),
        draw=lambda r: ([r.randint(1, 13) for _ in range(r.randint(2, 4))],),
    )


def _fare(row: _Row, draw: random.Random, version: int) -> Piece:
    name, keys = row.name, _WORDS[row.params[0]]
    table = {key: draw.randint(3, 19) for key in keys}
    params, read, example, given = _choose(
        draw,
        version,
        ("a, b", "n, key = a, b", "(3, ", "$b, $a"),
        ("a", "key, n = a if isinstance(a, tuple) else (None, a)", "((", "($a, $b)"),
    )
    result = _choose(draw, version, "number", "words", "record")
    out, use = _returned(result, "pt", f"{name}({given})")
    check = _refused(f"key not in _{name}", _told(draw, f"expected something like {example}.."))
    source = (
        f"_{name} = {table!r}\n\n\ndef {name}({params}):\n    {read}\n{check}"
        f"    n = _{name}[key] * n + 2\n    return {out}\n"
    )
    return row.piece(
        source=source, use=use, mean=lambda k, n: table[k] * n + 2, draw=lambda r: (r.choice(keys), r.randint(2, 9))
    )


def _names(row: _Row, draw: random.Random, version: int) -> Piece:
    name, keys = row.name, _WORDS[row.params[0]]
    table = {key: draw.sample(_WORDS["stalls"], 3) for key in keys}
    out, use = _choose(
        draw,
        version,
        ("[(i + 1, x) for i, x in enumerate(found)]", f"[x for _, x in {name}($a)]"),
        ("'/'.join(found)", f"{name}($a).split('/')"),
    )
    return row.piece(
        source=f"_{name} = {table!r}\n\n\ndef {name}(a):\n    found = _{name}[a]\n    return {out}\n",
        use=use,
        mean=lambda x: table[x],
        draw=lambda r: (r.choice(keys),),
        gives_number=False,
    )


def _box(row: _Row, draw: random.Random, version: int) -> Piece:
    kind = row.name.title()
    method, read, does, total = _choose(
        draw,
        version,
        ("commit", "", "self._sum = sum(self._kept)", "self._sum"),
        (
            "open",
            "        if not self._open:\n            raise RuntimeError('not open')\n",
            "self._open = True",
            "sum(self._kept)",
        ),
        ("reset", "        x = x[0] * x[1]\n", "self._sum = 0", "sum(self._kept)"),
    )
    source = (
        f"class {kind}:\n    def __init__(self):\n        self._kept, self._sum, self._open = [], 0, False\n\n"
        f"    def put(self, x):\n{read}        self._kept.append(x)\n\n"
        f"    def {method}(self):\n        {does}\n\n"
        f"    def total(self):\n        return {total}\n"
    )

    def before(x: str, right: bool) -> list[str]:
        item = "(1, x)" if right and method == "reset" else "x"
        lines = [f"b = {kind}()", f"for x in {x}:", f"    b.put({item})"]
        if right and method == "open":
            lines.insert(1, "b.open()")
        return [*lines, "b.commit()"] if right and method == "commit" else lines

    return row.piece(
        name=kind,
        says=f"{row.says}: {kind}() with put, {method} and total",
        source=source,
        phrase=f"{row.phrase} (a list of whole numbers)",
        use="b.total()",
        mean=sum,
        draw=lambda r: ([r.randint(2, 30) for _ in range(r.randint(2, 4))],),
        before=before,
    )
