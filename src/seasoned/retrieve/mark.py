"""Marks by a language model: one call for each item, which is marked from 0 to 9 on its own.

For models that cannot rank a list: Qwen2.5-Coder-1.5B gives twenty in a row, mostly the first, the same score. Always
holds: constant text stands first in a prompt, then the task, the item last; an item without a usable reply is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from seasoned.errors import ContextLengthError, ParseError
from seasoned.llm.schema import shorten
from seasoned.protocols import LLM
from seasoned.retrieve.ranking import Ranking, Scored
from seasoned.retrieve.render import clean, clean_ends, render_prompt
from seasoned.types import Message

MARKS = [str(mark) for mark in range(10)]
_TASK = 1200  # characters of the task, the middle left out


def rank_each(llm: LLM, task: str, items: Sequence[str], *, about: str = "", max_tokens: int = 16) -> Ranking:
    """Let a model mark each item for a task, in a call of its own.

    Where the model tells how likely each mark was (`Reply.odds`), the mean mark counts and not the likeliest one: it
    tells items apart that a small model gives the same mark (the weighting of G-Eval, Liu et al. 2023, section 2).

    Args:
        llm: the model.
        task: the text of the task.
        items: each is shown in one line.
        about: what kind of tasks these are.
        max_tokens: of a reply; more for a model that reasons before it answers.

    Returns:
        All items that were marked, the best first, those with the same mark in their order; without reasons, and
        without pairs that contradict one another.

    Raises:
        LLMError: as the model raises it, but for ParseError and ContextLengthError.
    """
    system = render_prompt("seasoned.retrieve", "mark_system.j2", about=clean(about, 1000))
    schema = {"type": "string", "enum": MARKS}
    marked: list[tuple[float, int]] = []
    problems: list[str] = []
    for place, item in enumerate(items):
        shown = render_prompt("seasoned.retrieve", "mark.j2", task=clean_ends(task, _TASK), item=clean(item))
        messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": shown}]
        try:
            reply = llm.chat(messages, schema=schema, max_tokens=max_tokens)
        except (ParseError, ContextLengthError) as error:
            problems.append(f"item {place + 1} has no mark: {shorten(clean(str(error)), 200)}")
            continue
        odds = reply.odds or {str(reply.parsed): 1.0}
        marked.append((sum(int(mark) * part for mark, part in odds.items()), place))
    marked.sort(key=lambda each: -each[0])
    best = int(MARKS[-1])
    return Ranking(tuple(Scored(place, round(100 * mark / best)) for mark, place in marked), (), tuple(problems))
