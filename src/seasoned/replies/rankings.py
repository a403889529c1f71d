"""Reads the reply of a model that ranked numbered items, whatever its form.

Always holds: no reply raises; each item is scored at most once, from 0 to 100; a sentence reports each part that could
not be used or had to be interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seasoned.llm.structured import closed_object, shorten
from seasoned.replies.forms import json_or_lines
from seasoned.text import prompt_line

UNREAD = 50
"""The score of a picked item whose own score is unreadable."""
_NAMES = ("number", "id", "index", "lesson", "heuristic")  # of the field with the item's number
_MAX_PROBLEMS = 20  # reported for one reply

# "1. Lesson 5: 90" is the first line of a list, and about item 5.
_LISTED = r"(?:\d{1,3}[.)][\s*_`#\[(\"-]{1,8}(?=(?:number|lesson|item|heuristic)\W{1,4}\d))?"
_NAMED = r"(?:(?:number|no|lesson|item|heuristic|id)\b\W{0,4})?"
_LINE = re.compile(rf"[\s*_`#\[(\"-]{{0,12}}{_LISTED}{_NAMED}(\d{{1,6}})(?!\w)(.*)", re.IGNORECASE)
_GRADES = {"none": 0, "irrelevant": 0, "low": 20, "medium": 50, "moderate": 50, "high": 80, "perfect": 100}
_FIGURE = r"-?\d{1,9}(?:\.\d{1,9})?"
_OF = r"\s{0,3}(?:/|(?:\bout\s{1,3})?\bof\b)\s{0,3}"
# 85, 85/100, 17 of 20, 8 out of 10
_SCORE = re.compile(rf"(?P<points>{_FIGURE})(?:{_OF}(?P<of>{_FIGURE}))?", re.IGNORECASE)
_SCORED = re.compile(r"\bscore\W{0,6}(?=-?\d)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_SHORT = re.compile(r"(?<![\w.:-])(\d{1,6}) ?: ?(-?\d{1,9}(?:\.\d{1,9})?)(?![\w:/])")


@dataclass(frozen=True)
class Scored:
    """One item of a ranking: its place in the list from 0, its score from 0 to 100, and the reason for it."""

    place: int
    score: int
    reason: str = ""


@dataclass(frozen=True)
class Ranking:
    """Items by descending score (of equals, in the reply's order), pairs of contradicting places, and problems."""

    scored: tuple[Scored, ...] = ()
    contradictions: tuple[tuple[int, int], ...] = ()
    problems: tuple[str, ...] = ()


def ranking_schema(count: int, wanted: int, reason: int = 60) -> dict[str, Any]:
    """The JSON Schema of a ranking of up to `wanted` of `count` items, with reasons of up to `reason` characters."""
    number = {"type": "integer", "minimum": 1, "maximum": count}
    entry = {
        "number": number,
        "reason": {"type": "string", "maxLength": reason},
        "score": {"type": "integer", "minimum": 0, "maximum": 100},
    }
    pair = {"type": "array", "minItems": 2, "maxItems": 2, "items": number}
    properties = {
        "ranking": {"type": "array", "minItems": 1, "maxItems": wanted, "items": closed_object(entry)},
        "contradictions": {"type": "array", "maxItems": 3, "items": pair},
    }
    return closed_object(properties)


def read_ranking(reply: Any, count: int, wanted: int | None = None) -> Ranking:
    """Read a ranking of items numbered from 1 to `count`: JSON, or text with JSON or lines such as "3: 85, alike".

    If a number is named twice, the first counts; unknown numbers are skipped; an unreadable score counts as 50, and one
    out of range as the nearest limit. An item without a score gets one by its place in the reply, never above that of
    the item before. Fewer than `wanted` items are reported as a problem.
    """
    problems: list[str] = []
    value = json_or_lines(reply, lambda text: tuple(_lines(text)))
    if value and isinstance(value, tuple):
        problems.append("the reply is not JSON, so its lines were read")
    scored: dict[int, Scored] = {}
    last_score = 100
    for turn, (number, score, reason) in enumerate(_entries(value)):
        place = _number(number) - 1
        if not 0 <= place < count:
            problems.append(f"it names {shorten(prompt_line(str(number)), 40)!r}, which is none of the {count} items")
        elif place in scored:
            problems.append(f"it names number {place + 1} twice, and the first counts")
        else:
            last_score, problem = _points(score, min(100 - turn, last_score))
            problems += [f"number {place + 1}: {problem}"] if problem else []
            scored[place] = Scored(place, last_score, prompt_line(str(reason or ""), 200))
    if not scored:
        problems.append(f"it scores nothing: {shorten(prompt_line(str(reply)), 200)!r}")
    elif wanted is not None and len(scored) < wanted:
        problems.append(f"it picks only {len(scored)} of the {wanted} items that were asked for")
    unreported = len(problems) - _MAX_PROBLEMS
    reported = (*problems[:_MAX_PROBLEMS], f"and {unreported} more problems") if unreported > 0 else tuple(problems)
    ordered = sorted(scored.values(), key=lambda each: -each.score)
    return Ranking(tuple(ordered), _pairs(value, count), reported)


def _entries(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The (number, score, reason) entries of any form: objects, lists, "3:90 1:75", bare numbers, object by number."""
    if isinstance(value, dict) and not _field(value, *_NAMES):
        inner = next((part for key, part in value.items() if _is_ranking(key, part)), None)
        value = value if inner is None else inner
    if isinstance(value, dict) and not _field(value, *_NAMES):
        for key, entry in value.items():
            if _number(key) > 0:
                yield (key, *_judgement(entry))
        return
    for entry in value if isinstance(value, list | tuple) else [value]:
        if isinstance(entry, str) and not _LETTER.search(entry) and (short := _SHORT.findall(entry)):
            yield from ((number, score, "") for number, score in short)
        elif isinstance(entry, dict):
            yield (_field(entry, *_NAMES), *_judgement(entry))
        elif isinstance(entry, list | tuple) and entry:
            yield (entry[0], *_judgement(entry[1:]))
        else:
            yield entry, None, ""


def _is_ranking(key: Any, part: Any) -> bool:
    """Whether a value has entries of a ranking, unlike ["a reason", 85] or pairs of contradictions."""
    if str(key).strip().lower() in ("ranking", "ranked", "order") and isinstance(part, dict | list | str) and part:
        return True
    if isinstance(part, dict):
        return any(_number(key) > 0 for key in part)
    return isinstance(part, list) and bool(part) and isinstance(part[0], dict)


def _judgement(entry: Any) -> tuple[Any, Any]:
    """Score and reason of one entry."""
    if isinstance(entry, dict):
        return _field(entry, "score", "relevance", "points"), _field(entry, "reason", "rationale", "why")
    if isinstance(entry, list | tuple):
        score: Any = next((x for x in entry if isinstance(x, int | float) and not isinstance(x, bool)), None)
        words = [x for x in entry if isinstance(x, str)]
        if score is None and words:
            score = min(words, key=len)
        return score, max((word for word in words if word is not score), key=len, default="")
    return entry, ""


def _field(entry: Mapping[str, Any], *names: str) -> Any:
    by_name = {str(key).strip().lower(): value for key, value in entry.items()}
    return next((by_name[name] for name in names if by_name.get(name) is not None), None)


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        if labelled := _LINE.match(line):
            rest, score = labelled[2], _score(labelled[2])
            if score or rest.strip(" .:-*_`") == "" or _grade(rest) is not None:
                yield {"number": labelled[1], "score": score[0] if score else rest, "reason": rest.strip(" .:-*_`")}


def _score(text: str) -> re.Match[str] | None:
    """The first score in a text, or the one with the label "score"."""
    label = _SCORED.search(text)
    return _SCORE.search(text, label.end() if label else 0)


def _number(value: Any) -> int:
    """The number of an item, in any form (3, "3", "#3", "lesson 3"); 0 if the value has none."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        return int(value) if value == value and abs(value) < 1e9 and value == int(value) else 0
    digits = re.search(r"(?<![\d.-])\d{1,6}(?![\d.])", value[:60]) if isinstance(value, str) else None
    return int(digits[0]) if digits else 0


def _points(score: Any, otherwise: int) -> tuple[int, str]:
    """The score of an item, or `otherwise` if it has none; and a problem to report, or ""."""
    if score is None or score == "":
        return max(0, otherwise), "it has no score, so its place in the reply counts"
    value, problem = _value(score)
    if value is None:
        return UNREAD, f"its score {shorten(prompt_line(str(score)), 40)!r} cannot be read, and counts as {UNREAD}"
    if not 0 <= value <= 100:
        problem = f"its score {shorten(prompt_line(str(score)), 40)!r} is not within 0 to 100"
    return round(min(max(value, 0.0), 100.0)), problem


def _value(score: Any) -> tuple[float | None, str]:
    if isinstance(score, bool) or not isinstance(score, int | float | str):
        return None, ""
    if isinstance(score, str):
        problem = "" if score.strip().isdecimal() else f"its score was written as {shorten(prompt_line(score), 40)!r}"
        points_of = _score(score[:200])
        if points_of is None:
            return _grade(score), problem
        points = float(points_of["points"])
        of = float(points_of["of"] or (1 if 0 < points < 1 else 100))
        return (100 * points / of if of else None), problem
    if score != score or abs(score) > 1e9:
        return None, ""
    return (100.0 * score, f"its score {score} is read as a share") if 0 < score < 1 else (float(score), "")


def _grade(text: str) -> float | None:
    """The score that words mean, such as "very high"; None if they mean none."""
    words = re.findall(r"[a-z]+", text[:200].lower())
    grade = next((_GRADES[word] for word in words if word in _GRADES), None)
    if grade is None or "very" not in words:
        return grade
    return min(grade + 10, 100) if grade > 50 else max(grade - 10, 0)


def _pairs(value: Any, count: int) -> tuple[tuple[int, int], ...]:
    """The contradictions in a reply, as pairs of places, the smaller first; anything else is skipped."""
    contradictions = _field(value, "contradictions") if isinstance(value, dict) else None
    pairs: dict[tuple[int, int], None] = {}
    for pair in contradictions if isinstance(contradictions, list) else ():
        places = sorted({_number(each) - 1 for each in pair}) if isinstance(pair, list) else []
        if len(places) == 2 and -1 < places[0] < places[1] < count:
            pairs[(places[0], places[1])] = None
    return tuple(pairs)
