"""Guidelines of AutoGuide: writing one from a failure and a success, and parsing the model's reply.

Always holds: no reply raises; a guideline has a context, is not the prompt's example (even with words exchanged), and
its context is not copied from the attempts.
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
"""The most characters of each part."""

_STEP_CHARS = 200  # of an action or observation at the step where the attempts differ
_QUOTED = 5  # words in a row that only the prompt's example has
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
    """Let the model write the context in which a failure and a success differ, and what to do there.

    Args:
        llm: the model.
        pair: the two attempts, the failure first.
        about: the kind of tasks.
        worked: attempts with their context and guideline, shown as an earlier exchange, since a small model copies what
            is only quoted; ConfigError if they have no pair (see `worked_pair`).
        begins: the words that every guideline must begin with.
        max_tokens: of the reply.
        room: tokens for both attempts, and as many for the worked ones; halved up to three times for a long prompt.
        cuts: gets an entry on how much of the attempts was left out.

    Returns:
        Context and guideline; None if the reply has none, which is logged.

    Raises:
        LLMError: any error of the model but ParseError; ContextLengthError if the pair does not fit.
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

    None if one is missing, if the guideline repeats the prompt's or both repeat the `example`, if the guideline does
    not begin with `begins` (in any case), or if the context is copied from a text in `seen`, since no other task would
    have it.
    """
    if not isinstance(value, dict):
        return None
    context = prompt_line(str(value.get("context") or ""), chars["context"]).strip(" .:")
    guideline = prompt_line(str(value.get("guideline") or ""), chars["guideline"])
    normalized = same_words(context), same_words(guideline)
    if not all(normalized) or shares_run(guideline, GOOD[1], _QUOTED):
        return None
    run = max(_SEEN, len(normalized[0].split()) // 2)
    if any(shares_run(context, text, run) for text in seen):
        return None
    if example is not None and normalized == (same_words(example[0]), same_words(example[1])):
        return None
    return (context, guideline) if guideline.casefold().startswith(begins.casefold()) else None


def shares_run(text: str, other: str, run: int) -> bool:
    """Whether both texts contain the same `run` words in a row, which hardly happens by chance."""
    words, others = all_words(text), all_words(other)
    runs = {others[place : place + run] for place in range(len(others) - run + 1)}
    return any(words[place : place + run] in runs for place in range(len(words) - run + 1))


def _size(pair: Call, room: int) -> int:
    return sum(len(transcript(one, limit=TOKEN * room // 2, task=not n)) for n, one in enumerate(pair.attempts))


def _pair(pair: Call, room: int) -> str:
    failed, succeeded = pair.attempts
    limit = TOKEN * room // 2
    actions = zip((step.action for step in failed.steps), (step.action for step in succeeded.steps), strict=False)
    same = len(list(takewhile(lambda both: both[0] == both[1], actions)))
    return render_prompt(
        "seasoned.lab.methods",
        "autoguide_pair.j2",
        failed=transcript(failed, limit=limit),
        succeeded=transcript(succeeded, limit=limit, task=False),
        same=same,
        parts=[_step(attempt.steps, same) for attempt in (failed, succeeded)],
    )


def _step(steps: Sequence[Step], place: int) -> dict[str, str]:
    """The action and observation of a step; {} if there is none."""
    if place >= len(steps) or not steps[place].action.strip():
        return {}
    step = steps[place]
    return {name: prompt_line(getattr(step, name), _STEP_CHARS) for name in ("action", "observation")}


def _schema(begins: str = "", chars: Mapping[str, int] = PART_CHARS) -> dict[str, Any]:
    text: dict[str, dict[str, Any]] = {
        part: {"type": "string", "minLength": 3, "maxLength": longest} for part, longest in chars.items()
    }
    if begins:
        text["guideline"] = text_that_begins(begins, chars["guideline"])
    return closed_object(text)
