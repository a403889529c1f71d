"""Reads the action `Name[argument]` in what a model wrote, for environments whose actions have that form.

Always holds: whatever the text holds, reading raises nothing, and its time grows linearly with the length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

# Full-width signs become their ASCII twins, one for one, so that positions stay the same.
_TWINS = str.maketrans("【】［］（）：", "[][]():")
_CLOSERS = {"[": "]", "(": ")"}
_MARKS = r"[ \t>*_`#~+\"'“”‘’•–—-]"
_MADE_UP = re.compile(rf"^{_MARKS}{{0,16}}observation\b", re.IGNORECASE | re.ASCII | re.MULTILINE)
_OVER = re.compile(rf"{_MARKS}*(?:[.!?]|\Z)")
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`"), ("[", "]"))


def read_action(text: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Reads the first action `Name[argument]` of a reply.

    Names may be in any case, bold, quoted or behind "Action 3:"; `Name(argument)` is read too, and `Name: argument` at
    the beginning of a line. An action that begins a line goes before one that a sentence mentions. Brackets may nest;
    one that never closes ends with the line. What stands below a line that begins with "Observation" was made up by the
    model and is not read. The time taken grows linearly with the length.

    Args:
        text: What the model wrote; untrusted.
        names: The actions there are; at least one.

    Returns:
        The name as it stands in `names` and the argument in one line, without quotes around it; None: no action.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    scan = text.translate(_TWINS)
    at_line_start, in_line = _patterns(tuple(names))
    first = min(filter(None, (at_line_start.search(scan), in_line.search(scan))), key=re.Match.start, default=None)
    if first is None:
        return None
    if made_up := _MADE_UP.search(scan, first.end()):
        scan = scan[: made_up.start()]
    starts = at_line_start.finditer(scan)
    start = next(starts, first)
    following = next(starts, None)
    begin, limit = start.end(), following.start() if following else len(scan)
    called = (start["name"] or start["loud"]).casefold()
    name = next(known for known in names if known.casefold() == called)
    return name, _bare(text[begin : _end(scan, start[0][-1], begin, limit, in_line)])


@cache
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """An action that begins a line, and one within a line. Every repetition is bounded: matching stays linear."""
    either = "|".join(re.escape(name) for name in names)
    begins = (
        rf"^{_MARKS}{{0,16}}(?:\d{{1,3}}[.)][ \t]{{0,4}})?"
        rf"(?:(?:next )?action[ \t]{{0,4}}\d{{0,3}}[ \t*_`]{{0,4}}[:.)-]{_MARKS}{{0,16}})?"
        rf"(?:(?P<name>{either})[*_`]{{0,3}}[ \t]{{0,4}}[\[(:]|(?P<loud>(?!)))"
    )
    within = rf"(?<![A-Za-z0-9])(?:(?P<name>{either})[*_`]{{0,3}}[ \t]{{0,4}}\[|(?P<loud>(?-i:{either}))\()"
    flags = re.IGNORECASE | re.ASCII
    return re.compile(begins, flags | re.MULTILINE), re.compile(within, flags)


def _end(scan: str, opener: str, begin: int, limit: int, in_line: re.Pattern[str]) -> int:
    """Where an argument ends: at its closing bracket, else before the next action or at the end of its line."""
    closer = _CLOSERS.get(opener)
    depth = 1
    for sign in re.finditer(r"[\[\]]" if opener == "[" else r"[()]", scan[begin:limit]) if closer else ():
        depth += -1 if sign[0] == closer else 1
        if depth == 0:
            return begin + sign.start()
    line = scan.find("\n", begin, limit)
    end = line if line >= 0 else limit
    another = in_line.search(scan, begin, end)
    end = another.start() if another else end
    last = scan.rfind(closer, begin, end) if closer else -1
    # "Search[x [y] z": the bracket that is there may close an inner one.
    return last if last >= 0 and _OVER.match(scan, last + 1, end) else end


def _bare(argument: str) -> str:
    plain = " ".join(argument.split()).strip("*` ")
    for opener, closer in _QUOTES:
        inner = plain[1:-1]
        if len(plain) > 1 and plain[0] == opener and plain[-1] == closer and not {opener, closer} & set(inner):
            return inner.strip()
    return plain
