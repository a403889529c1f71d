"""Writes the heuristics of ERL, each from a single attempt.

After ERL (section 2, figures 6 and 8). Always holds: an attempt gives at most one heuristic, and no reply raises.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from seasoned.asking import Answer, ask
from seasoned.errors import ContextLengthError, ParseError
from seasoned.llm.window import Cuts, room_for
from seasoned.methods.attempts import last_word, without_verdict
from seasoned.replies import heuristics as replies
from seasoned.replies.heuristics import Draft
from seasoned.text import TOKEN, prompt_line, render_prompt, transcript
from seasoned.types import Lesson, Message, Reply, Trajectory

if TYPE_CHECKING:
    from seasoned.methods.erl import ERL

log = logging.getLogger(__name__)

_TASK = 1000  # characters of a heuristic's source task
_FAULTS = {"copied": replies.COPIED, "own": replies.OWN, "late": replies.TOO_LATE}
_ENDINGS = {
    "step_limit": ": the steps ran out",
    "loop": ": it did the same thing again and again",
    "answered": ": the answer was wrong",
    "context": ": it grew too long",
    "budget": ": it used too much",
}


def write_heuristic(
    erl: ERL, trajectory: Trajectory, keep_verdict: Callable[[bool], object], cuts: Cuts
) -> Draft | None:
    """Let the model write what one attempt teaches (ERL section 2, figure 8); None if its reply has no heuristic.

    `keep_verdict` is called with the verdict of a model that judges, even if its heuristic is not usable; `cuts`
    collects how much of the attempt was left out. Raises ContextLengthError if the attempt does not fit, and any other
    LLMError of the model except ParseError.
    """
    judges, example, chars = erl.judges(trajectory), erl.example, erl.part_chars
    worked = None if judges else erl.worked
    schema = replies.heuristic_schema(judges, erl.begins, chars)

    def system(quotes: bool) -> Message:
        values = {"about": prompt_line(erl.about, 1000), "judges": judges, "example": example, "quotes": quotes}
        values |= {"good": replies.GOOD, "bad": replies.BAD}
        name = "erl_paper.j2" if "rationale" in chars else "erl_system.j2"
        return {"role": "system", "content": render_prompt("seasoned.methods", name, **values)}

    def prompt(room: int) -> list[Message]:
        before = _exchange(*worked, example, TOKEN * room) if worked and example else []
        return [first, *before, {"role": "user", "content": _case(trajectory, judges, TOKEN * room)}]

    first, plain = system(quotes=worked is None), system(quotes=False) if example and not worked else None
    answer = ask(erl.llm, prompt, erl.room or room_for(erl.llm, 2400), schema=schema, max_tokens=erl.max_tokens)
    cuts.append((len(transcript(trajectory, limit=10**9)), len(transcript(trajectory, limit=TOKEN * answer.room))))
    read = partial(replies.read_heuristic, judges=judges, example=example, begins=erl.begins, chars=chars)
    read = partial(read, filters=erl.filters, prompt=first["content"], attempt=answer.messages[-1]["content"])
    chat = partial(erl.llm.chat, schema=schema, max_tokens=erl.max_tokens)
    draft, problem, verdict = _corrected(answer, read, chat, plain, worked)
    if judges and verdict is not None:
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
    short = prompt_line(analysis, replies.PART_CHARS["analysis"])
    heuristic = {"analysis": short, "trigger": example[0], "action": example[1]}
    return [
        {"role": "user", "content": _case(worked, False, limit)},
        {"role": "assistant", "content": json.dumps(heuristic, ensure_ascii=False)},
    ]


def _corrected(
    answer: Answer,
    read: Callable[[Any], tuple[Draft | None, str]],
    chat: Callable[[list[Message]], Reply],
    plain: Message | None,
    worked: object,
) -> tuple[Draft | None, str, bool | None]:
    """The heuristic, problem and verdict of an answer, asking again once for each fault.

    `plain` is the system prompt without its quotation; `worked` says whether an attempt was shown before this one.
    """
    reply, faults = answer.value, dict(_FAULTS)
    (draft, problem), verdict = read(reply), replies.read_verdict(reply)
    while draft is None and (fault := next((name for name, says in faults.items() if problem.startswith(says)), "")):
        del faults[fault]
        if fault == "copied" and plain is not None:
            # In the same conversation, a small model copies the quotation again.
            messages = [plain, *answer.messages[1:]]
        else:
            request = render_prompt("seasoned.methods", "erl_again.j2", fault=fault, shown=worked)
            text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
            messages = [*answer.messages, {"role": "assistant", "content": text}, {"role": "user", "content": request}]
        with suppress(ParseError, ContextLengthError):  # the problem of the first reply stands
            reply = chat(messages).parsed
            draft, problem = read(reply)
            verdict = draft.succeeded if draft else verdict
    return draft, problem, verdict


def _case(trajectory: Trajectory, judges: bool, limit: int) -> str:
    outcome = trajectory.outcome
    if judges:
        trajectory, ending = without_verdict(trajectory), "Nobody has told how the attempt ended."
    else:
        score = outcome.reward if outcome.reward is not None and 0 < outcome.reward < 1 else None
        ending = "The attempt succeeded" if outcome.success else f"The attempt failed{_ENDINGS.get(outcome.reason, '')}"
        ending += "." if score is None else f", with a score of {score:.2f} of 1."
        # Repeated right before the model writes: a small model overlooks it in the middle of the attempt.
        if outcome.reason == "answered" and (verdict := last_word(trajectory)):
            ending += f' It was told: "{verdict}"'
    attempt = transcript(trajectory, limit=limit)
    return render_prompt("seasoned.methods", "erl_attempt.j2", attempt=attempt, ending=ending)
