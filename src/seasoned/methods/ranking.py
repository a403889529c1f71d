"""Ranking by a language model: scores from 0 to 100, usually with a reason, and contradicting pairs.

After ERL (section 2, figure 9). Always holds: a prompt has at most `room` tokens of items; its constant text comes
first, and the task last; an unusable reply loses only its own part of the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from seasoned.asking import ask
from seasoned.errors import ContextLengthError, ParseError
from seasoned.llm.structured import shorten
from seasoned.llm.window import LONG_TEXT, is_roomy
from seasoned.protocols import LLM
from seasoned.replies.rankings import Ranking, Scored, ranking_schema, read_ranking
from seasoned.text import CAP, prompt_line, prompt_line_ends, render_prompt, tokens
from seasoned.types import Message

ROOM = 2000
"""Tokens of items in one prompt; together with the rest and the reply, that fits into a context of 4,096."""
MARKS = [str(mark) for mark in range(10)]
_TASK = 1200  # characters of the task, the middle left out
_ENTRY = 44  # tokens of one entry of a reply; models add line breaks and indents even with a grammar: 41 were seen
_LONG_ENTRY = 120  # tokens of an entry with a reason of two sentences
_MIN_PART = 4  # items; a part is not split into smaller ones if a prompt is too long


def rank(
    llm: LLM, task: str, items: Sequence[str], k: int, *, about: str = "", room: int = ROOM, max_tokens: int = 0
) -> Ranking:
    """Let a model pick and score the k items that help most with a task (ERL, figure 9); each item is shown in a line.

    A list with more than `room` tokens (a quarter of its characters) is scored in parts, each in its own call; a part
    that the model refuses as too long is halved. So the result can have fewer or more than k items, and none if no
    reply could be read. `about` says what kind of tasks these are. A reply gets `max_tokens`, or more if k needs it.
    Raises any LLMError of the model except ParseError and ContextLengthError.
    """
    long = is_roomy(llm)
    system = render_prompt("seasoned.methods", "rank_system.j2", about=prompt_line(about, 1000), long=long)
    task, entry = prompt_line_ends(task, LONG_TEXT if long else _TASK), _LONG_ENTRY if long else _ENTRY

    scored: list[Scored] = []
    contradictions: list[tuple[int, int]] = []
    problems: list[str] = []

    def score(start: int, part: list[str]) -> None:
        """Rank the items of a part, in halves if they are too long for the model."""
        wanted = min(k, len(part))
        case = render_prompt("seasoned.methods", "rank.j2", items=part, task=task, wanted=wanted)
        messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": case}]
        schema, limit = ranking_schema(len(part), wanted, 300 if long else 60), max(max_tokens, entry * wanted + 40)
        try:
            answer = ask(llm, lambda _: messages, schema=schema, max_tokens=limit)
        except ContextLengthError as error:
            half = len(part) // 2
            if half < _MIN_PART:
                problems.append(f"{len(part)} items are too long for the model: {error}")
            else:
                score(start, part[:half])
                score(start + half, part[half:])
            return
        ranking = read_ranking(answer.value, len(part), wanted)
        scored.extend(replace(each, place=each.place + start) for each in ranking.scored)
        contradictions.extend((one + start, other + start) for one, other in ranking.contradictions)
        problems.extend([shorten(prompt_line(answer.problem), 200)] if answer.problem else [])
        problems.extend(ranking.problems)

    for start, part in parts(items, room):
        score(start, part)
    scored.sort(key=lambda each: -each.score)
    return Ranking(tuple(scored), tuple(contradictions), tuple(problems))


def rank_each(llm: LLM, task: str, items: Sequence[str], *, about: str = "", max_tokens: int = 16) -> Ranking:
    """Let a model rate each item for a task, in its own call; as `rank`, but without reasons and contradictions.

    If the reply has the probability of each mark (`Reply.odds`), the mean mark counts instead of the likeliest: it
    distinguishes items to which a small model gives the same mark (the weighting of G-Eval, Liu et al. 2023, section
    2). A model that reasons before it answers needs more `max_tokens`. Raises the same errors.
    """
    system = render_prompt("seasoned.methods", "mark_system.j2", about=prompt_line(about, 1000))
    schema = {"type": "string", "enum": MARKS}
    marked: list[tuple[float, int]] = []
    problems: list[str] = []
    for place, item in enumerate(items):
        prompt = render_prompt(
            "seasoned.methods", "mark.j2", task=prompt_line_ends(task, _TASK), item=prompt_line(item)
        )
        messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        try:
            reply = llm.chat(messages, schema=schema, max_tokens=max_tokens)
        except (ParseError, ContextLengthError) as error:
            problems.append(f"item {place + 1} has no mark: {shorten(prompt_line(str(error)), 200)}")
            continue
        odds = reply.odds or {str(reply.parsed): 1.0}
        marked.append((sum(int(mark) * part for mark, part in odds.items()), place))
    marked.sort(key=lambda each: -each[0])
    best = int(MARKS[-1])
    return Ranking(tuple(Scored(place, round(100 * mark / best)) for mark, place in marked), (), tuple(problems))


def parts(items: Sequence[str], room: int = ROOM) -> Iterator[tuple[int, list[str]]]:
    """Split items into parts of at most `room` tokens: the place of each part's first item, and its items as lines."""
    start, size_so_far, part = 0, 0, list[str]()
    for place, item in enumerate(prompt_line(item, max(CAP, len(item))) for item in items):
        size = tokens(f"{place}. {item}\n")
        if part and size_so_far + size > room:
            yield start, part
            start, size_so_far, part = place, 0, []
        part.append(item)
        size_so_far += size
    if part:
        yield start, part
