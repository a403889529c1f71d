"""The calls that extract insights: which attempts they show together, their prompts, and how replies are read.

After ExpeL (section 4.2, algorithm 2). Always holds: the same attempts give the same calls in the same order; a reply
in the wrong form, or a prompt too long for the model, loses only that call.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from seasoned.asking import Prompt, ask
from seasoned.errors import ConfigError, ContextLengthError
from seasoned.llm.window import MEASURED, Cuts, room_for
from seasoned.methods.attempts import NO_OUTCOME, TOO_LONG
from seasoned.replies.commands import RIGHT, WRONG, right_answer
from seasoned.replies.operations import MOST, Item, Parsed, operations_schema, read_operations
from seasoned.text import CAP, TOKEN, prompt_line, render_prompt, transcript
from seasoned.types import Message, Trajectory

if TYPE_CHECKING:
    from seasoned.methods.expel import ExpeL
    from seasoned.pool import ExperiencePool

GOOD = (
    "When a letter gets no answer, write again in other words before you give up.",
    "Before you hand in a form, check that every field that was asked for is filled in.",
)
BAD = ("Send the letter to Mr Hale in room 12.",)
_NO_LIMIT = 10**9
_REFLECTIONS = 3  # shown with one call


@dataclass(frozen=True)
class Call:
    """Attempts to show together: a failure and a success at one task (`pair`), or successes at several tasks.

    The success may be the failure itself, `corrected`.
    """

    attempts: tuple[Trajectory, ...]
    pair: bool = False
    reflections: tuple[str, ...] = ()

    def __str__(self) -> str:
        ids = ", ".join(self.sources)
        return f"the comparison of {ids}" if self.pair else f"the successes {ids}"

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the attempts, each once."""
        return tuple(dict.fromkeys(attempt.id for attempt in self.attempts))


class Extractor:
    """Asks the model of an `ExpeL` to revise a list of insights after seeing some attempts.

    `room` is in tokens (a quarter of the characters) and shrinks if a prompt was too long. `cuts` collects what was
    left out of the prompts.
    """

    def __init__(self, expel: ExpeL) -> None:
        self.expel = expel
        self.room = expel.room or room_for(expel.llm, 2400)
        self.cuts: Cuts = []

    def ask(self, call: Call, insights: Sequence[Item], crowded: bool) -> Parsed:
        """Make one call; if the list is `crowded`, the model is asked to remove some insights first.

        There are no operations if the attempts are too long for the model, however they are shortened. Raises any other
        LLMError of the model except ParseError.
        """
        structured, longest = self.expel.structured, self.expel.longest_insight
        lines = self._prompt(call, insights, crowded, structured=False)
        try:
            answer = ask(
                self.expel.llm,
                self._prompt(call, insights, crowded, structured=True) if structured else lines,
                self.room,
                schema=operations_schema(len(insights), longest) if structured else None,
                lines=lines,
                max_tokens=self.expel.max_tokens,
            )
        except ContextLengthError as error:
            return Parsed((), (f"{TOO_LONG}: {error}",))
        self.room = answer.room
        self.cuts.append((_size(call, None), _size(call, answer.room)))
        parsed = read_operations(answer.value, insights, longest)
        if answer.problem:
            parsed = replace(parsed, problems=(f"asked for lines instead of JSON: {answer.problem}", *parsed.problems))
        return parsed

    def _prompt(self, call: Call, insights: Sequence[Item], crowded: bool, *, structured: bool) -> Prompt:
        worked, insight = self.expel.worked, self.expel.worked_insight
        values = {"about": prompt_line(self.expel.about, 1000), "good": GOOD, "bad": BAD, "most": MOST}
        values |= {"structured": structured, "worked": worked is not None}
        system = render_prompt("seasoned.methods", "expel_system.j2", **values)

        def messages(room: int) -> list[Message]:
            before: list[Message] = [{"role": "system", "content": system}]
            if worked is not None:
                added = [{"operation": "ADD", "number": 0, "text": insight}]
                reply = json.dumps(added, ensure_ascii=False) if structured else f"ADD: {insight}"
                before += [
                    {"role": "user", "content": _case(worked_pair(worked[0]), (), False, room)},
                    {"role": "assistant", "content": reply},
                ]
            return [*before, {"role": "user", "content": _case(call, insights, crowded, room)}]

        return messages


def _case(call: Call, insights: Sequence[Item], crowded: bool, room: int) -> str:
    return render_prompt(
        "seasoned.methods",
        "expel_attempts.j2",
        insights=[prompt_line(item.text, max(CAP, len(item.text))) for item in insights],
        crowded=crowded,
        pair=call.pair,
        attempts=_transcripts(call, room),
        reflections=[prompt_line(text) for text in call.reflections[-_REFLECTIONS:]],
    )


def _transcripts(call: Call, room: int | None) -> list[str]:
    """The transcripts of a call's attempts: full if there is room (None: always), else each in an equal part of it."""

    def transcripts(limit: int) -> list[str]:
        return [transcript(one, limit=limit, task=not (call.pair and n)) for n, one in enumerate(call.attempts)]

    if room is None or room > MEASURED:
        full = transcripts(_NO_LIMIT)
        if room is None or sum(map(len, full)) <= TOKEN * room:
            return full
    return transcripts(TOKEN * room // len(call.attempts))


def _size(call: Call, room: int | None) -> int:
    return sum(map(len, _transcripts(call, room)))


def plan_calls(
    trajectories: Sequence[Trajectory],
    *,
    earlier: Sequence[Trajectory] = (),
    chunk: int,
    seed: int,
    compare: bool = True,
    successes: bool = True,
    reflections: Callable[[Sequence[str]], list[str]] | None = None,
) -> list[Call]:
    """Plan the calls of an extraction, in order (ExpeL algorithm 2); those of one task in the order of their trials.

    First (`compare`), for each task with a success, one call for each of its failures, in order, beside its first
    success. Without a success, a failure whose right answer was named is shown beside its own correction (ours: the
    paper retries its tasks instead). Then (`successes`) the first successes of all tasks, shuffled, in nearly equal
    parts of at most `chunk` (the paper's L). An attempt that ended in an error or without a verdict is neither a
    success nor a failure. `earlier` attempts were learned from before and are only compared with new ones.
    `reflections` returns the reflections on the attempts with these ids, if they are to be shown.
    """
    tasks: dict[str, list[Trajectory]] = {}
    fresh = {trajectory.id for trajectory in trajectories}
    for trajectory in (*(t for t in earlier if t.id not in fresh), *trajectories):
        tasks.setdefault(trajectory.task_id, []).append(trajectory)
    won = {task: next((t for t in tried if t.outcome.success), None) for task, tried in tasks.items()}

    def call(attempts: Sequence[Trajectory], pair: bool = False) -> Call:
        ids = [other.id for attempt in attempts for other in tasks[attempt.task_id]]
        return Call(tuple(attempts), pair, tuple(reflections(ids)) if reflections else ())

    calls = [
        call(pair, pair=True)
        for task, success in (won.items() if compare else ())
        for failure in tasks[task]
        if failure.outcome.success is False
        and (pair := _beside(failure, success))
        and not fresh.isdisjoint(attempt.id for attempt in pair)
    ]
    first = [success for success in won.values() if success is not None and success.id in fresh] if successes else []
    random.Random(f"insights-{seed}").shuffle(first)
    return calls + [call(part) for part in near_equal(first, chunk)]


def _beside(failure: Trajectory, success: Trajectory | None) -> tuple[Trajectory, ...]:
    """A failure and the attempt to compare it with; empty if there is none."""
    if success is not None:
        return failure, success
    right = corrected(failure)
    return () if right is None else (_judged(failure), right)


def corrected(failure: Trajectory) -> Trajectory | None:
    """A failed attempt with the right answer as its last step; None if the environment did not name the answer."""
    judged = _judged(failure)
    right = right_answer(judged.steps[-1].observation) if judged.steps else ""
    if not right:
        return None
    answer = judged.steps[-1].model_copy(update={"action": f"ANSWER[{right}]", "observation": RIGHT, "reward": 1.0})
    outcome = failure.outcome.model_copy(update={"success": True, "reward": 1.0, "answer": right})
    return failure.model_copy(update={"steps": (*judged.steps[:-1], answer), "outcome": outcome})


def worked_pair(attempts: Sequence[Trajectory]) -> Call:
    """A worked failure with the success at the same task, or its own correction. Raises ConfigError without a pair."""
    calls = plan_calls(attempts, chunk=1, seed=0, successes=False)
    if not calls:
        raise ConfigError(
            "worked attempts must be a failure and a success at one task, or a failure that was told the right answer, "
            f"as in {WRONG.format(answer='x')!r}, not {', '.join(t.id for t in attempts) or 'nothing'}"
        )
    return calls[0]


def _judged(attempt: Trajectory) -> Trajectory:
    """The attempt up to its answer; later notes are not part of what went wrong."""
    end = next((n for n, step in enumerate(attempt.steps) if step.action.startswith("ANSWER[")), len(attempt.steps))
    return attempt.model_copy(update={"steps": attempt.steps[: end + 1]})


def attempts_before(trajectories: Sequence[Trajectory], pool: ExperiencePool) -> list[Trajectory]:
    """All attempts of the pool at the same tasks."""
    return [t for task in dict.fromkeys(t.task_id for t in trajectories) for t in pool.trajectories(task_id=task)]


def skip_unused(
    pool: ExperiencePool, trajectories: Sequence[Trajectory], calls: Sequence[Call], unused: Mapping[str, str]
) -> None:
    """Report the attempts that teach nothing yet: no outcome, a failure without a success, or in `unused`."""
    shown_ids = {name for call in calls for name in call.sources}
    for attempt in trajectories:
        if attempt.outcome.success is None:
            pool.skip([attempt], NO_OUTCOME)
        elif attempt.id in unused or (attempt.outcome.success is False and attempt.id not in shown_ids):
            pool.skip([attempt], unused.get(attempt.id, "no success at the same task to compare it with"))


def near_equal(items: Sequence[Trajectory], most: int) -> list[Sequence[Trajectory]]:
    """The items in order, in as few parts of at most `most` as possible, whose sizes differ by at most one."""
    count = -(-len(items) // most)
    bounds = [place * len(items) // count for place in range(count + 1)] if count else []
    return [items[start:end] for start, end in pairwise(bounds)]
