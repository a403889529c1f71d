"""Writes the heuristics of ERL, each from a single attempt.

After ERL (section 2, figures 6 and 8). Always holds: an attempt gives at most one heuristic, and no reply raises.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from seasoned.asking import Answer, ask
from seasoned.errors import ContextLengthError, ParseError
from seasoned.llm.window import Cuts
from seasoned.methods.attempts import last_word, without_verdict
from seasoned.protocols import LLM
from seasoned.replies.heuristics import (
    BAD,
    COPIED,
    GOOD,
    OWN,
    PART_CHARS,
    TOO_LATE,
    Draft,
    heuristic_schema,
    read_heuristic,
    read_verdict,
)
from seasoned.text import TOKEN, prompt_line, render_prompt, transcript
from seasoned.types import Lesson, Message, Reply, Trajectory

log = logging.getLogger(__name__)

_TASK = 1000  # characters of a heuristic's source task
_FAULTS = {"copied": COPIED, "own": OWN, "late": TOO_LATE}
_ENDINGS = {
    "step_limit": ": the steps ran out",
    "loop": ": it did the same thing again and again",
    "answered": ": the answer was wrong",
    "context": ": it grew too long",
    "budget": ": it used too much",
}


def write_heuristic(
    llm: LLM,
    trajectory: Trajectory,
    *,
    judges: bool = False,
    about: str = "",
    example: tuple[str, str] | None = None,
    worked: tuple[Trajectory, str] | None = None,
    begins: str = "",
    max_tokens: int = 300,
    room: int = 2400,
    keep_verdict: Callable[[bool], object] | None = None,
    chars: Mapping[str, int] = PART_CHARS,
    filters: bool = True,
    cuts: Cuts | None = None,
) -> Draft | None:
    """Let the model write what one attempt teaches (ERL section 2, figure 8); None if its reply has no heuristic.

    Args:
        llm: the model.
        trajectory: the attempt.
        judges: whether the outcome is hidden from the model, which then judges it (appendix C.2).
        about: what kind of tasks these are.
        example: a model trigger and action, if tasks have something in common.
        worked: a failed attempt that teaches `example`, and its analysis. They are shown as an earlier exchange, since
            a small model copies what is quoted; not used if the model judges, or without `example`.
        begins: words that every action must begin with, if only such actions help; the schema enforces them.
        max_tokens: tokens of the reply.
        room: tokens of the attempt, and of the worked one; halved up to three times if the prompt is too long.
        keep_verdict: called with the model's verdict, even if its heuristic is not usable.
        chars: the most characters of each part; with a `rationale`, the form is the paper's (figures 6 and 8).
        filters: see `read_heuristic`.
        cuts: collects how much of the attempt was left out.

    Raises:
        LLMError: whatever the model raises, except ParseError; ContextLengthError if the attempt does not fit.
    """
    shown = None if judges or example is None else worked
    schema = heuristic_schema(judges, begins, chars)
    system = _system(about, judges, example, quotes=shown is None, paper="rationale" in chars)

    def prompt(room: int) -> list[Message]:
        before = _exchange(*shown, example, TOKEN * room) if shown and example else []
        return [system, *before, {"role": "user", "content": _case(trajectory, judges, TOKEN * room)}]

    answer = ask(llm, prompt, room, schema=schema, max_tokens=max_tokens)
    if cuts is not None:
        cuts.append((len(transcript(trajectory, limit=10**9)), len(transcript(trajectory, limit=TOKEN * answer.room))))
    reads = partial(read_heuristic, judges=judges, example=example, begins=begins, chars=chars, filters=filters)
    reads = partial(reads, prompt=system["content"], attempt=answer.messages[-1]["content"])
    plain = _system(about, judges, example, quotes=False) if shown is None and example is not None else None
    draft, problem, verdict = _corrected(
        answer, reads, partial(llm.chat, schema=schema, max_tokens=max_tokens), plain, shown
    )
    if judges and verdict is not None and keep_verdict is not None:
        keep_verdict(verdict)
    if problem:
        log.log(logging.INFO if draft else logging.WARNING, "the heuristic of %s: %s", trajectory.id, problem)
    return draft


def as_lesson(draft: Draft, trajectory: Trajectory, task: str = "", chars: int = 0) -> Lesson:
    """The lesson that stores an attempt's heuristic; `data["judged"]` is the model's verdict, if it judged.

    `task` is compared with other tasks, by default the text of the attempt's task. `chars` limits the heuristic in
    guidance and its task in a prompt; 0: the limits for small models.
    """
    judged = {} if draft.succeeded is None else {"judged": draft.succeeded}
    success = trajectory.outcome.success if draft.succeeded is None else draft.succeeded
    parts = {"analysis": draft.analysis, "trigger": draft.trigger, "action": draft.action}
    parts |= {} if draft.rationale is None else {"rationale": draft.rationale}
    return Lesson(
        kind="heuristic",
        text=draft.text,
        key=draft.trigger,
        category=trajectory.category,
        method="erl",
        sources=(trajectory.id,),
        data={**parts, "success": success, "task": prompt_line(task or trajectory.task, chars or _TASK), **judged}
        | ({"chars": chars} if chars else {}),
    )


def _exchange(worked: Trajectory, analysis: str, example: tuple[str, str], limit: int) -> list[Message]:
    """A worked attempt and its analysis, as an exchange."""
    heuristic = {"analysis": prompt_line(analysis, PART_CHARS["analysis"]), "trigger": example[0], "action": example[1]}
    return [
        {"role": "user", "content": _case(worked, False, limit)},
        {"role": "assistant", "content": json.dumps(heuristic, ensure_ascii=False)},
    ]


def _system(about: str, judges: bool, example: tuple[str, str] | None, quotes: bool, paper: bool = False) -> Message:
    values = {"about": prompt_line(about, 1000), "judges": judges, "example": example, "good": GOOD, "bad": BAD}
    name = "erl_paper.j2" if paper else "erl_system.j2"
    return {"role": "system", "content": render_prompt("seasoned.methods", name, **values, quotes=quotes)}


def _corrected(
    answer: Answer,
    read_reply: Callable[[Any], tuple[Draft | None, str]],
    chat: Callable[[list[Message]], Reply],
    plain: Message | None,
    shown: object,
) -> tuple[Draft | None, str, bool | None]:
    """The heuristic, problem and verdict of an answer, asking again once for each fault; see `_again`."""
    reply, faults = answer.value, dict(_FAULTS)
    (draft, problem), verdict = read_reply(reply), read_verdict(reply)
    while draft is None and (fault := next((name for name, says in faults.items() if problem.startswith(says)), "")):
        del faults[fault]
        with suppress(ParseError, ContextLengthError):  # the problem of the first reply stands
            reply = chat(_again(answer.messages, plain, shown, reply, fault)).parsed
            draft, problem = read_reply(reply)
            verdict = draft.succeeded if draft else verdict
    return draft, problem, verdict


def _again(messages: list[Message], plain: Message | None, shown: object, reply: Any, fault: str) -> list[Message]:
    """The messages that ask again after an unusable heuristic; `plain` is the prompt without the quotation."""
    if fault == "copied" and plain is not None:
        return [plain, *messages[1:]]  # in the same conversation, a small model copies the quotation again
    request = render_prompt("seasoned.methods", "erl_again.j2", fault=fault, shown=shown)
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    return [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": request}]


def _case(trajectory: Trajectory, judges: bool, limit: int) -> str:
    outcome = trajectory.outcome
    if judges:
        trajectory, ending = without_verdict(trajectory), "Nobody has told how the attempt ended."
    else:
        score = outcome.reward if outcome.reward is not None and 0 < outcome.reward < 1 else None
        ending = "The attempt succeeded" if outcome.success else f"The attempt failed{_ENDINGS.get(outcome.reason, '')}"
        ending += "." if score is None else f", with a score of {score:.2f} of 1."
        # Repeated right before the model writes: a small model overlooks it in the middle of the attempt.
        ending += (
            f' It was told: "{verdict}"' if outcome.reason == "answered" and (verdict := last_word(trajectory)) else ""
        )
    attempt = transcript(trajectory, limit=limit)
    return render_prompt("seasoned.methods", "erl_attempt.j2", attempt=attempt, ending=ending)
