"""Malformed replies for every parser: none may raise, and the time must be linear in the length.

The replies are made from valid ones of each form, cut, doubled, shuffled, nested and mixed with noise. Always holds:
the same seed makes the same replies.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from seasoned.lab.benchmarks.action import read_action
from seasoned.lab.methods.autoguide import read_places
from seasoned.lab.methods.guidelines import read_guideline
from seasoned.llm.calls import split_calls
from seasoned.llm.openai import read_body, usage_of, words_of
from seasoned.llm.structured import read
from seasoned.methods.facts.explore import read_calls
from seasoned.replies.calls import check_call, read_call
from seasoned.replies.commands import answer_in, parse
from seasoned.replies.forms import json_or_lines
from seasoned.replies.heuristics import heuristic_schema, read_heuristic, read_verdict
from seasoned.replies.operations import Item, operations_schema, read_operations
from seasoned.replies.programs import probe_lines, read_program
from seasoned.replies.rankings import ranking_schema, read_ranking
from seasoned.replies.reflections import read_reflection
from seasoned.replies.turns import bare, read_turn, split_reasoning

_ITEMS = [Item("Read both pages where two are named."), Item("Look for the date first.")]
_TOOLS: list[dict[str, Any]] = [
    {"name": "find", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}
]
PARSERS: dict[str, Callable[[str], object]] = {
    "commands": lambda text: (parse(text), answer_in(text)),
    "turns": lambda text: (read_turn(text), split_reasoning(text), bare(text)),
    "actions": lambda text: read_action(text, ["Search", "Lookup", "Finish"]),
    "operations": lambda text: read_operations(text, _ITEMS),
    "rankings": lambda text: read_ranking(text, 5, 3),
    "heuristics": lambda text: (read_heuristic(text, judges=True), read_verdict(text)),
    "reflections": read_reflection,
    "programs": lambda text: (read_program(text), probe_lines(text)),
    "a call": lambda text: (call := read_call(text)) and check_call(call, _TOOLS),
    "tool calls": lambda text: split_calls(text, _TOOLS),
    "library calls": lambda text: read_calls(text, ["find", "sort"]),
    "guidelines": lambda text: read_guideline(json_or_lines(text, lambda _: None)),
    "contexts": lambda text: read_places(json_or_lines(text, lambda said: said), 4),
    "JSON by a schema": lambda text: read(text, _SCHEMAS[len(text) % 3], wrapped=True),
    "a server's body": lambda text: _body(text.encode("utf-8", "replace")),
}
_SCHEMAS = (heuristic_schema(True), operations_schema(2), ranking_schema(5, 3))
_VALID = (
    "THINK[I was told of rain, so it is sadness.]\nANSWER[sadness]\nNOTE[rain: sadness, calm]",
    "Thought: it names two pages\nAction: Search[Milk (film)]\nObservation: no page\nFinish[1994]",
    '{"thought": "look", "action": "Search[Milk]"}',
    '[{"operation": "EDIT", "number": 2, "text": "Look for the year."}, {"operation": "ADD", "text": "x"}]',
    "ADD: Read it twice.\nEDIT 2: Look for the year.\n- **REMOVE** 1.\nAGREE 2",
    '{"ranking": [{"number": 3, "reason": "same", "score": 85}], "contradictions": [[1, 2]]}',
    "3: 85, same kind of task\n1. 17 of 20\n#2 - irrelevant",
    '{"analysis": "a", "succeeded": false, "trigger": "a date is asked", "action": "read the page"}',
    "Trigger: when a date is asked\nAction: read the page\nsucceeded: no",
    "```python\ndef f(x):\n    return x + 1\n```\n>>> f(1)\n2",
    '<tool_call>{"name": "find", "arguments": {"q": "milk"}}</tool_call>',
    'Action: find\nAction Input: {"q": "milk"}',
    'find({"q": "milk"})',
    "<think>was it 2? or [3]?</think>\nThe contexts are 1, 2 and 4.",
    '{"context": "a page is missing", "guideline": "search for its main word"}',
    '{"choices": [{"message": {"content": "hi", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}}], '
    '"usage": {"prompt_tokens": -3}}',
)
_NOISE = (
    *"[]{}()<>\"'`:,\\#*\n\t-",
    *("\0", "\ud800", "\u2028", "😀", "é", "NaN", "1e999", "-0", "null", "9" * 30, "]]>"),
)
_LONG = (
    *("[", "{", '{"a":', "(", "<think>", "```", '"', "\\", "Action: ", "ANSWER[", "1: ", "ADD 1: "),
    *("\n", " ", "a", "a ", "- "),
)


def reply(chance: random.Random) -> str:
    """A malformed reply."""
    text = chance.choice(_VALID)
    for _ in range(chance.randint(1, 4)):
        how, place = chance.randrange(7), chance.randrange(len(text) + 1)
        if how == 0:
            text = text[:place]
        elif how == 1:
            text = text[place:]
        elif how == 2:
            text = text[:place] + chance.choice(_NOISE) * chance.randint(1, 4) + text[place:]
        elif how == 3:
            text = text[:place] + text[place + chance.randint(1, 6) :]
        elif how == 4:
            text = text[:place] + chance.choice(_VALID) + text[place:]
        elif how == 5:
            text = chance.choice(_NOISE[:8]) * chance.randint(1, 60) + text
        else:
            text = text.replace(chance.choice("[]{}\"':, "), chance.choice(_NOISE), chance.randint(1, 5))
    return text[:2000]


def _parse(job: tuple[int, int]) -> tuple[int, list[str]]:
    """Put replies through every parser; takes (seed, number of replies), and returns the number and the errors."""
    seed, number = job
    chance, crashes = random.Random(seed), list[str]()
    for _ in range(number):
        text = reply(chance)
        for name, parser in PARSERS.items():
            try:
                parser(text)
            except BaseException as error:
                crashes.append(f"{name}: {type(error).__name__}: {error}; of {text!r}")
    return number, crashes


def _body(content: bytes) -> object:
    body = read_body(content)
    return words_of(body), usage_of(body, 0.1, model="m", base_url="http://127.0.0.1/v1")


def replies(number: int) -> dict[str, Any]:
    """Put malformed replies through every parser."""
    parts = max(number // 2000, 1)
    jobs = [(seed, number // parts) for seed in range(parts)]
    began = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(_parse, jobs))
    crashes = [crash for _, crashes in done for crash in crashes]
    row = {"what": "malformed replies", "replies": sum(n for n, _ in done), "parsers": len(PARSERS)}
    seconds = round(time.monotonic() - began, 1)
    return {**row, "seconds": seconds, "crashes": len(crashes), "first": crashes[:3], "ok": not crashes}


def lengths(most: int) -> dict[str, Any]:
    """The worst factor of a parser's processor time for a text ten times as long: 10 is linear."""
    worst: list[tuple[float, str, float]] = []
    for name, parser in PARSERS.items():
        for unit in (*_LONG, *_VALID):
            short, long = (_seconds(parser, (unit * (size // len(unit) + 1))[:size]) for size in (most // 10, most))
            # Shorter times cannot be measured reliably beside other work.
            worst.append((long / max(short, 2e-3), f"{name}: {unit[:24]!r}", long))
    factor, where, _ = max(worst)
    slowest = max(worst, key=lambda one: one[2])
    row = {"what": f"a reply of {most:,} characters", "times ten": round(factor, 1), "where": where}
    return {**row, "slowest": round(slowest[2], 2), "of": slowest[1], "ok": factor <= 25}


def _seconds(parser: Callable[[str], object], text: str) -> float:
    taken = []
    for _ in range(2):
        began = time.process_time()
        parser(text)
        taken.append(time.process_time() - began)
    return min(taken)
