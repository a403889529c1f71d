"""The pieces of a private library: functions and classes with made-up names and quirks that nobody could guess.

A piece has its source with the quirk, the right call and the call for a piece without the quirk, and its meaning as a
Python function. Always holds: the meaning does not use the source, so reference solutions are checked independently;
pieces depend only on a random generator.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seasoned.lab.benchmarks.base import DATA, read_toml

Gives = Literal["number", "text", "truth", "names"]

_WORDS = read_toml(DATA / "library.toml")


@dataclass(frozen=True)
class Piece:
    """A function or class of the library.

    `params` are the names of its inputs in tasks; `says` and `phrase` describe it in tasks. `use` returns the lines and
    the expression of the right call, `plain` those of a call without the quirk (None: a call with the parameters);
    `mean` computes the right result; `draw` draws values for the parameters.
    """

    name: str
    says: str
    source: str
    params: tuple[str, ...]
    phrase: str
    gives: Gives
    use: Callable[..., tuple[list[str], str]]
    mean: Callable[..., Any]
    draw: Callable[[random.Random], tuple[Any, ...]]
    plain: Callable[..., tuple[list[str], str]] | None = None

    def called(self, args: Sequence[str], right: bool) -> tuple[list[str], str]:
        """The lines and the expression of the right call, or of the call without the quirk."""
        if right:
            return self.use(*args)
        return self.plain(*args) if self.plain else ([], f"{self.name}({', '.join(args)})")

    @property
    def whole(self) -> bool:
        """Whether it takes one whole number, such as the result of another piece."""
        return len(self.params) == 1 and type(self.draw(random.Random(0))[0]) is int


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
    rows = [(make, row, random.Random(draw.random())) for make, rows in families for row in rows]
    return [make(row, next(names), rng, version) for make, row, rng in rows]


def made_up_names(draw: random.Random) -> Iterator[str]:
    """Distinct names of two syllables."""
    taken: set[str] = set()
    while True:
        name = "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(2)) + draw.choice("klnrsx")
        if name not in taken:
            taken.add(name)
            yield name


def _choose(draw: random.Random, options: Sequence[str], version: int) -> str:
    """Draw a quirk; the same draws give another quirk for version 2."""
    place = draw.randrange(len(options))
    return options[(place + version - 1) % len(options)]


def _raises(draw: random.Random, informative: str) -> str:
    """The message of an error: the informative one, or next to nothing."""
    return informative if draw.random() < 0.5 else "no"


def _returned(quirk: str, unit: str) -> tuple[str, Callable[[str], str]]:
    """How a function returns a number `n`: the expression in its source, and the code that reads `n` from a call."""
    return {
        "number": ("n", lambda call: call),
        "pair": (f"(n, {unit!r})", lambda call: f"{call}[0]"),
        "second": (f"({unit!r}, n)", lambda call: f"{call}[1]"),
        "words": (f"f'{{n}} {unit}'", lambda call: f"int({call}.split()[0])"),
        "record": ("{'value': n}", lambda call: f"{call}['value']"),
    }[quirk]


def _number(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase, unit = row
    a, b = draw.randint(2, 9), draw.randint(1, 20)
    both = draw.random()
    argument = _choose(draw, ("words", "digits", "list", "named"), version) if both < 0.45 else "number"
    result = _choose(draw, ("pair", "second", "words", "record"), version) if both > 0.3 else "number"
    out, get = _returned(result, "cr")
    hint = {"words": f"'3 {unit}'", "digits": "'3'", "list": "[3]", "named": "", "number": "3"}[argument]
    message = (
        _raises(draw, f"expected something like {hint}") if argument != "words" else f"expected a text like {hint}"
    )
    read = {
        "words": f"    if not isinstance(a, str) or not a.endswith(' {unit}'):\n        raise ValueError({message!r})\n"
        f"    x = int(a[:-{len(unit) + 1}])\n",
        "digits": f"    if not isinstance(a, str):\n        raise ValueError({message!r})\n    x = int(a)\n",
        "list": f"    if not isinstance(a, list):\n        raise ValueError({message!r})\n    x = a[0]\n",
        "named": "    x = size\n",
        "number": f"    if not isinstance(a, int):\n        raise ValueError({message!r})\n    x = a\n",
    }[argument]
    call: Callable[[str], str] = {
        "words": lambda x: f"{name}(f'{{{x}}} {unit}')",
        "digits": lambda x: f"{name}(str({x}))",
        "list": lambda x: f"{name}([{x}])",
        "named": lambda x: f"{name}(size={x})",
        "number": lambda x: f"{name}({x})",
    }[argument]
    signature = "*, size" if argument == "named" else "a"
    return Piece(
        name,
        says,
        f"def {name}({signature}):\n{read}    n = {a} * x + {b}\n    return {out}\n",
        (param,),
        phrase,
        "number",
        lambda x: ([], get(call(x))),
        lambda x: a * x + b,
        lambda r: (r.randint(2, 30),),
    )


def _label(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase, parts, form = row
    front = draw.choice(("", "~ ", "= "))
    order = _choose(draw, ("small", "pair"), version)
    if order == "small":
        source = f"def {name}(a):\n    return {front!r} + {form!r}.format(*divmod(a, {parts}))\n"
        use: Callable[[str], str] = lambda x: f"{name}({x} * {parts})"  # noqa: E731
    else:
        source = (
            f"def {name}(a):\n    if not isinstance(a, tuple):\n        raise ValueError('expected a pair (0, 3)')\n"
            f"    return {front!r} + {form!r}.format(a[1], a[0])\n"
        )
        use = lambda x: f"{name}((0, {x}))"  # noqa: E731
    return Piece(
        name,
        says,
        source,
        (param,),
        f"{phrase}, as text",
        "text",
        lambda x: ([], use(x)),
        lambda x: front + form.format(x, 0),
        lambda r: (r.randint(2, 30),),
    )


def _lookup(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase = row
    keys = _WORDS[param]
    table = {key: draw.randint(11, 99) for key in keys}
    argument = _choose(draw, ("upper", "title", "short"), version)
    result = _choose(draw, ("number", "pair", "words"), version) if draw.random() < 0.6 else "number"
    out, get = _returned(result, "pt")
    fold: Callable[[str], str] = {"upper": str.upper, "title": str.title, "short": lambda key: key[:3].upper()}[
        argument
    ]
    call = {"upper": "{}.upper()", "title": "{}.title()", "short": "{}[:3].upper()"}[argument]
    message = _raises(draw, f"no such key; there is {fold(keys[0])!r}")
    source = (
        f"_{name} = { ({fold(key): value for key, value in table.items()})!r}\n\n\ndef {name}(a):\n"
        f"    if a not in _{name}:\n        raise KeyError({message!r})\n    n = _{name}[a]\n    return {out}\n"
    )
    return Piece(
        name,
        says,
        source,
        (param,),
        f"{phrase} (a name in small letters)",
        "number",
        lambda x: ([], get(f"{name}({call.format(x)})")),
        lambda x: table[x],
        lambda r: (r.choice(keys),),
    )


def _date(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, phrase = row
    a, b, c = draw.randint(2, 5), draw.randint(2, 5), draw.randint(5, 9)
    argument = _choose(draw, ("dmy", "dotted", "ymd", "slashed"), version)
    result = _choose(draw, ("number", "second"), version)
    out, get = _returned(result, "pt")
    hint = {"dmy": "(31, 12, 2024)", "dotted": "'31.12.2024'", "ymd": "(2024, 12, 31)", "slashed": "'12/31/2024'"}[
        argument
    ]
    message = (
        _raises(draw, f"expected a day like {hint}") if argument in ("dmy", "ymd") else f"expected a day like {hint}"
    )
    read = {
        "dmy": "d, m, y = a",
        "ymd": "y, m, d = a",
        "dotted": "d, m, y = map(int, a.split('.'))",
        "slashed": "m, d, y = map(int, a.split('/'))",
    }[argument]
    call: Callable[..., str] = {
        "dmy": lambda y, m, d: f"({d}, {m}, {y})",
        "ymd": lambda y, m, d: f"({y}, {m}, {d})",
        "dotted": lambda y, m, d: f"f'{{{d}}}.{{{m}}}.{{{y}}}'",
        "slashed": lambda y, m, d: f"f'{{{m}}}/{{{d}}}/{{{y}}}'",
    }[argument]
    source = (
        f"def {name}(a):\n    try:\n        {read}\n        assert m <= 12 and d <= 31 < y\n    except Exception:\n"
        f"        raise ValueError({message!r}) from None\n"
        f"    n = {a} * d + {b} * m + y % {c}\n    return {out}\n"
    )
    return Piece(
        name,
        says,
        source,
        ("year", "month", "day"),
        phrase,
        "number",
        lambda y, m, d: ([], get(f"{name}({call(y, m, d)})")),
        lambda y, m, d: a * d + b * m + y % c,
        lambda r: (r.randint(1990, 2040), r.randint(1, 12), r.randint(13, 28)),
    )


def _truth(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase = row
    least = draw.randint(8, 20)
    over = draw.random() < 0.5
    yes, no = draw.sample(("Y", "N", "ok", "no", "in", "out", "+", "-"), 2)
    if version == 2:
        yes, no = no, yes
    test = f"a >= {least}" if over else f"a < {least}"
    source = f"def {name}(a):\n    return {yes!r} if {test} else {no!r}\n"
    # A call with a very small or very large number shows which text means yes.
    condition = "at least" if over else "fewer than"
    return Piece(
        name,
        says,
        source,
        (param,),
        f"{phrase}; it is so for {condition} some number",
        "truth",
        lambda x: ([], f"{name}({x}) == {yes!r}"),
        lambda x: (x >= least) if over else (x < least),
        lambda r: (r.choice((r.randint(1, 7), r.randint(21, 40))),),
    )


def _joined(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase = row
    a = draw.randint(3, 9)
    sign = _choose(draw, (";", "+", "|", " "), version)
    result = _choose(draw, ("number", "pair", "words"), version)
    out, get = _returned(result, "pt")
    message = f"expected numbers like '4{sign}7'"
    source = (
        f"def {name}(a):\n    if not isinstance(a, str):\n        raise ValueError({message!r})\n"
        f"    n = sum(int(x) * {a} + 1 for x in a.split({sign!r}))\n    return {out}\n"
    )
    return Piece(
        name,
        says,
        source,
        (param,),
        f"{phrase} (a list of whole numbers)",
        "number",
        lambda x: ([], get(f"{name}({sign!r}.join(map(str, {x})))")),
        lambda x: sum(i * a + 1 for i in x),
        lambda r: ([r.randint(1, 13) for _ in range(r.randint(2, 4))],),
    )


def _fare(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, place, count, phrase = row
    keys = _WORDS[place]
    table = {key: draw.randint(3, 19) for key in keys}
    argument = _choose(draw, ("swapped", "pair"), version)
    result = _choose(draw, ("number", "words", "record"), version)
    out, get = _returned(result, "pt")
    message = _raises(draw, f"expected something like {'(3, ' if argument == 'swapped' else '(('}..")
    head = f"def {name}(a, b):" if argument == "swapped" else f"def {name}(a):"
    read = "    n, key = a, b\n" if argument == "swapped" else "    key, n = a if isinstance(a, tuple) else (None, a)\n"
    source = (
        f"_{name} = {table!r}\n\n\n{head}\n{read}    if key not in _{name}:\n        raise ValueError({message!r})\n"
        f"    n = _{name}[key] * n + 2\n    return {out}\n"
    )
    call: Callable[..., str] = (
        (lambda k, n: f"{name}({n}, {k})") if argument == "swapped" else (lambda k, n: f"{name}(({k}, {n}))")
    )
    return Piece(
        name,
        says,
        source,
        (place, count),
        phrase,
        "number",
        lambda k, n: ([], get(call(k, n))),
        lambda k, n: table[k] * n + 2,
        lambda r: (r.choice(keys), r.randint(2, 9)),
    )


def _names(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase = row
    keys = _WORDS[param]
    table = {key: draw.sample(_WORDS["stalls"], 3) for key in keys}
    result = _choose(draw, ("pairs", "joined"), version)
    out = "[(i + 1, x) for i, x in enumerate(found)]" if result == "pairs" else "'/'.join(found)"
    get: Callable[[str], str] = (
        (lambda call: f"[x for _, x in {call}]") if result == "pairs" else (lambda call: f"{call}.split('/')")
    )
    source = f"_{name} = {table!r}\n\n\ndef {name}(a):\n    found = _{name}[a]\n    return {out}\n"
    return Piece(
        name,
        says,
        source,
        (param,),
        phrase,
        "names",
        lambda x: ([], get(f"{name}({x})")),
        lambda x: table[x],
        lambda r: (r.choice(keys),),
    )


def _box(row: Sequence[Any], name: str, draw: random.Random, version: int) -> Piece:
    says, param, phrase = row
    quirk = _choose(draw, ("commit", "open", "many"), version)
    kind = name.title()
    checks = {
        "commit": ("", "        self._sum = sum(self._kept)\n", ""),
        "open": (
            "        if not self._open:\n            raise RuntimeError('not open')\n",
            "        self._open = True\n",
            "",
        ),
        "many": ("        x = x[0] * x[1]\n", "        self._sum = 0\n", ""),
    }[quirk]
    middle = {"commit": "commit", "open": "open", "many": "reset"}[quirk]
    total = "self._sum" if quirk == "commit" else "sum(self._kept)"
    source = (
        f"class {kind}:\n    def __init__(self):\n        self._kept, self._sum, self._open = [], 0, False\n\n"
        f"    def put(self, x):\n{checks[0]}        self._kept.append(x)\n\n"
        f"    def {middle}(self):\n{checks[1]}\n"
        f"    def total(self):\n        return {total}\n"
    )
    put = "(1, x)" if quirk == "many" else "x"

    def lines(x: str, right: bool) -> tuple[list[str], str]:
        before = ["b.open()"] if quirk == "open" and right else []
        after = ["b.commit()"] if quirk == "commit" and right else []
        item = put if right else "x"
        return [f"b = {kind}()", *before, f"for x in {x}:", f"    b.put({item})", *after], "b.total()"

    return Piece(
        kind,
        f"{says}: {kind}() with put, {middle} and total",
        source,
        (param,),
        f"{phrase} (a list of whole numbers)",
        "number",
        lambda x: lines(x, True),
        lambda x: sum(x),
        lambda r: ([r.randint(2, 30) for _ in range(r.randint(2, 4))],),
        lambda x: lines(x, False),
    )
