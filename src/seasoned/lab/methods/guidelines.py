"""Guidelines of AutoGuide: writing one from a failure beside a success, and reading what a model wrote.

Always holds: no reply raises; a guideline that comes out has a context, is not what the prompt quoted, whatever word of
it was exchanged, and its context is no line of the attempts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from seasoned.asking import ask
from seasoned.llm.structured import closed_object
from seasoned.llm.window import LONG_TEXT, Cuts, is_roomy
from seasoned.methods.expel.extraction import Call, worked_pair
from seasoned.protocols import LLM
from seasoned.replies.forms import json_or_lines
from seasoned.replies.heuristics import text_that_begins
from seasoned.text import TOKEN, all_words, prompt_line, render_prompt, same_words, transcript
from seasoned.types import Message, Step, Trajectory

log = logging.getLogger(__name__)

GOOD = (
    "a form was sent back because a field is empty",
    "fill in the field that the answer names and send it again, instead of sending the same form once more",
)
PART_CHARS = {"context": 140, "guideline": 240}
"""Characters of each part."""

_SAID = 200  # characters of an action or observation where the attempts part
_QUOTED = 5  # words in a row that nobody but the prompt's example says
_SEEN = 8  # words in a row, if they are half of a context, that come from one attempt


def write_guideline(
    llm: LLM,
    pair: Call,
    *,
    about: str = "",
    worked: tuple[Sequence[Trajectory], str, str] | None = None,
    begins: str = "",
    max_tokens: int = 200,
    room: int = 2400,
    cuts: Cuts | None = None,
) -> tuple[str, str] | None:
    """Let the model say in which context a failure and a success part, and what to do there.

    Args:
        llm: the model.
        pair: the two attempts, the failure first.
        about: what kind of tasks these are.
        worked: attempts as `worked_pair` takes them, with their context and guideline. They are shown as an exchange
            before: a small model copies what is merely quoted.
        begins: the words that every guideline begins with, where only such a one can help; the reply is held to them.
        max_tokens: of the reply.
        room: tokens that the attempts may take together, and the worked ones as many; halved up to three times where
            the prompt is too long.
        cuts: how much of the attempts was left out is added here.

    Returns:
        Context and guideline; None where the reply holds none, and that is logged.

    Raises:
        ConfigError: `worked` has none; see `worked_pair`.
        LLMError: as the model raises it, but for ParseError; a ContextLengthError where the pair does not fit.
    """
    values = {"about": prompt_line(about, 1000), "good": GOOD, "worked": worked is not None}
    system = render_prompt("seasoned.lab.methods", "autoguide_system.j2", **values)

    def prompt(room: int) -> list[Message]:
        messages: list[Message] = [{"role": "system", "content": system}]
        if worked is not None:
            attempts, context, guideline = worked
            reply = json.dumps({"context": context, "guideline": guideline}, ensure_ascii=False)
            shown = _pair(worked_pair(attempts), room)
            messages += [{"role": "user", "content": shown}, {"role": "assistant", "content": reply}]
        return [*messages, {"role": "user", "content": _pair(pair, room)}]

    chars = dict.fromkeys(PART_CHARS, LONG_TEXT) if is_roomy(llm) else PART_CHARS
    answer = ask(llm, prompt, room, schema=_schema(begins, chars), max_tokens=max_tokens)
    if cuts is not None:
        cuts.append((_size(pair, 10**9), _size(pair, answer.room)))
    value = json_or_lines(answer.value, lambda _: None)
    seen = [part for attempt in pair.attempts for part in (attempt.task, *(s.observation for s in attempt.steps))]
    guideline = read_guideline(value, example=worked[1:] if worked else None, begins=begins, seen=seen, chars=chars)
    if guideline is None:
        log.warning("no guideline from %s: the reply holds none: %r", pair, prompt_line(str(value), 120))
    return guideline


def read_guideline(
    value: Any,
    *,
    example: tuple[str, str] | None = None,
    begins: str = "",
    seen: Sequence[str] = (),
    chars: Mapping[str, int] = PART_CHARS,
) -> tuple[str, str] | None:
    """Context and guideline of a reply, cleaned and capped.

    None where one is missing, where the guideline is that of the prompt or that of `example` in its context, where it
    begins otherwise than `begins`, in any case, or where the context is copied from what was `seen`: it would come
    again in no other task.
    """
    if not isinstance(value, dict):
        return None
    context = prompt_line(str(value.get("context") or ""), chars["context"]).strip(" .:")
    guideline = prompt_line(str(value.get("guideline") or ""), chars["guideline"])
    said = same_words(context), same_words(guideline)
    if not all(said) or shares_run(guideline, GOOD[1], _QUOTED):
        return None
    run = max(_SEEN, len(said[0].split()) // 2)
    if any(shares_run(context, text, run) for text in seen):
        return None
    if example is not None and said == (same_words(example[0]), same_words(example[1])):
        return None
    return (context, guideline) if guideline.casefold().startswith(begins.casefold()) else None


def shares_run(text: str, other: str, run: int) -> bool:
    """Whether so many words in a row stand in both texts, however long: nobody writes them twice by chance."""
    words, others = all_words(text), all_words(other)
    there = {others[place : place + run] for place in range(len(others) - run + 1)}
    return any(words[place : place + run] in there for place in range(len(words) - run + 1))


def _size(pair: Call, room: int) -> int:
    return sum(len(transcript(one, limit=TOKEN * room // 2, task=not n)) for n, one in enumerate(pair.attempts))


def _pair(pair: Call, room: int) -> str:
    failed, succeeded = pair.attempts
    limit = TOKEN * room // 2
    same = sum(1 for _ in takewhile(_alike, zip(failed.steps, succeeded.steps, strict=False)))
    return render_prompt(
        "seasoned.lab.methods",
        "autoguide_pair.j2",
        failed=transcript(failed, limit=limit),
        succeeded=transcript(succeeded, limit=limit, task=False),
        same=same,
        parts=[_step(attempt.steps, same) for attempt in (failed, succeeded)],
    )


def _step(steps: Sequence[Step], place: int) -> dict[str, str]:
    """What was done at a place and what was said to it; {} where nothing was."""
    if place >= len(steps) or not steps[place].action.strip():
        return {}
    return {
        "action": prompt_line(steps[place].action, _SAID),
        "observation": prompt_line(steps[place].observation, _SAID),
    }


def _alike(steps: tuple[Step, Step]) -> bool:
    return steps[0].action == steps[1].action


def _schema(begins: str = "", chars: Mapping[str, int] = PART_CHARS) -> dict[str, Any]:
    text: dict[str, dict[str, Any]] = {
        part: {"type": "string", "minLength": 3, "maxLength": longest} for part, longest in chars.items()
    }
    if begins:
        text["guideline"] = text_that_begins(begins, chars["guideline"])
    return closed_object(text)
