"""How a function is used: expressions that show how to make its argument and unpack its result.

If `tarn('3 kg')` returns `('pt', 7)`, then `tarn(f'{3} kg')[1]` is 7: a line to copy, with a variable in place of the
value. A small model does not find that step itself. Always holds: expressions are only proposed here; the caller runs
each before storing it as a fact.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

UNITS = (10, 12, 24, 60, 100, 1000, 3600)  # common numbers of parts in a unit

MANY = (4, 7, 2, 9, 1)
"""Numbers for a longer list than the one that a call had."""

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
_PARTS = re.compile(r"\d+")
_SEPARATORS = ("/", ";", "|", ", ", ",")
_MAX_CHARS = 200


def texts_made(texts: Sequence[str]) -> dict[str, str]:
    """Other forms of texts, each with the expression that makes it: `'GAR'` is `'garde'[:3].upper()`."""
    recipes: dict[str, str] = {}
    for text in texts:
        plain = repr(text)
        for form, how in ((text.upper(), ".upper()"), (text.title(), ".title()"), (text[:3].upper(), "[:3].upper()")):
            if form != text:
                recipes.setdefault(form, plain + how)
    return recipes


def arguments_made(call: str, recipes: dict[str, str]) -> list[str]:
    """The call with its text argument as an expression that makes it, the most general first; or []."""
    try:
        tree = ast.parse(call, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if len(constants) != 1:
        return []
    text, literal = str(constants[0].value), ast.unparse(constants[0])
    forms = [recipes[text]] if text in recipes else list(_of_numbers(text))
    return [call.replace(literal, each, 1) for each in forms if literal in call]


def _of_numbers(text: str) -> Iterator[str]:
    """Expressions that make a text with numbers: joined, if one separator is between them, and formatted."""
    numbers, between = _PARTS.findall(text), _PARTS.split(text)
    if not numbers or len(text) > _MAX_CHARS or "{" in text or any(str(int(number)) != number for number in numbers):
        return
    if text == numbers[0]:
        yield f"str({text})"
        return
    inner = set(between[1:-1])
    if len(numbers) > 1 and not between[0] and not between[-1] and len(inner) == 1:
        yield f"{inner.pop()!r}.join(map(str, [{', '.join(numbers)}]))"
    pieces = "".join(f"{words}{{{n}}}" for words, n in itertools.zip_longest(between[:-1], numbers)) + between[-1]
    yield f"f{pieces!r}"


def with_many(expression: str) -> str:
    """The expression with more numbers in its joined list, to test whether any count works; "" without a list."""
    longer, count = re.subn(r"map\(str, \[[^\]]*\]\)", f"map(str, {list(MANY)})", expression)
    return longer if count else ""


def results_taken(call: str, value: str) -> list[str]:
    """Expressions that take the only number, or the list of names, out of a result; [] if there are none."""
    try:
        result = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return []
    if isinstance(result, tuple):
        places = [place for place, item in enumerate(result) if type(item) in (int, float)]
        return [f"{call}[{places[0]}]"] if len(places) == 1 < len(result) else []
    if isinstance(result, dict):
        keys = [key for key, item in result.items() if type(item) in (int, float)]
        return [f"{call}[{keys[0]!r}]"] if len(keys) == 1 and isinstance(keys[0], str | int) else []
    if isinstance(result, list) and result and all(isinstance(item, tuple) and len(item) == 2 for item in result):
        return [f"[b for a, b in {call}]"] if all(isinstance(item[1], str) for item in result) else []
    return _out_of_text(call, result) if isinstance(result, str) else []


def _out_of_text(call: str, result: str) -> list[str]:
    words = result.split()
    numbers = [place for place, word in enumerate(words) if _NUMBER.fullmatch(word)]
    if len(numbers) == 1 and len(_PARTS.findall(result)) == 1 and len(words) > 1:
        return [f"int({call}.split()[{numbers[0]}])"]
    if result.isdigit():
        return [f"int({call})"]
    for separator in _SEPARATORS:
        parts = result.split(separator)
        if len(parts) > 1 and all(part.strip().isalpha() for part in parts):
            return [f"{call}.split({separator!r})"]
    return []


def is_number(value: str) -> bool:
    """Whether a value is a number as text: `'7'`."""
    return bool(re.fullmatch(r"(['\"])-?\d+(\.\d+)?\1", value))


def in_units(call: str) -> list[str]:
    """The call with its only argument, an integer, multiplied by each of `UNITS`; or []."""
    with suppress(SyntaxError, ValueError, MemoryError, RecursionError):
        body = ast.parse(call, mode="eval").body
        if isinstance(body, ast.Call) and len(body.args) == 1 and not body.keywords:
            argument = body.args[0]
            if isinstance(argument, ast.Constant) and type(argument.value) is int:
                return [f"{ast.unparse(body.func)}({argument.value} * {unit})" for unit in UNITS]
    return []


def is_whole(expression: str, value: str) -> bool:
    """Whether the result of `f(3 * 100)` means three whole units: its first number is 3, and the others are 0."""
    factor = re.search(r"\((\d+) \*", expression)
    numbers = _PARTS.findall(value)
    return bool(factor and len(numbers) > 1 and int(numbers[0]) == int(factor[1]) and not any(map(int, numbers[1:])))
