"""Reflexion (Shinn et al., 2023): after a failure, the model writes a plan that the next attempt at the task gets.

Always holds: a reflection is shown only for its own task; a failed attempt gives at most one; its prompt says that the
attempt failed, but not what the environment said about the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from seasoned.asking import ask
from seasoned.errors import ContextLengthError
from seasoned.llm.window import LONG_TEXT, Cuts, is_roomy, room_for
from seasoned.methods.attempts import NO_OUTCOME, TOO_LONG, UNUSABLE, without_verdict
from seasoned.protocols import LLM
from seasoned.replies.reflections import REFLECTION_CHARS, read_reflection
from seasoned.text import TOKEN, prompt_line, render_prompt, transcript
from seasoned.types import Block, Entry, Guidance, Lesson, Message, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

Strategy = Literal["none", "last", "reflexion", "last+reflexion"]

ATTEMPT = 8000  # characters of an attempt in a prompt, unless the window is long; halved if the context is too short
_PLANS = "You have tried this task before and failed. Your plans after each failure, the newest last:"


@dataclass(frozen=True)
class Reflexion:
    """Reflections for the next attempt at the same task (paper section 2.3).

    Args:
        llm: writes the reflections.
        strategy: what the next attempt sees. `reflexion`: the reflections; `last`: the last attempt; `last+reflexion`:
            both; `none`: nothing, the baseline that only retries.
        examples: failed attempts, each with a good reflection on it. The paper has two; without them, reflections help
            little.
        about: the kind of tasks.
        memory: the most reflections to show, the newest ones (paper section 2: 3).
        max_tokens: tokens of a reflection.
        attempt_chars: characters of an attempt in a prompt; the longest observations are cut first. None: three
            quarters of a long window, or 8,000.
    """

    name: ClassVar[str] = "reflexion"
    llm: LLM
    strategy: Strategy = "reflexion"
    examples: tuple[tuple[Trajectory, str], ...] = ()
    about: str = ""
    memory: int = 3
    max_tokens: int = 160
    attempt_chars: int | None = None

    @property
    def _room(self) -> int:
        return self.attempt_chars or TOKEN * room_for(self.llm, ATTEMPT // TOKEN)

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Reflect on each failed attempt that has no reflection yet, in order.

        An attempt of unknown outcome, as after a server error, is skipped; a reply without a plan gives no lesson and
        is logged.

        Raises:
            InfrastructureError: the model's server failed; earlier reflections stay stored.
        """
        if "reflexion" not in self.strategy:
            return
        # Deleted lessons count too: a reflection that a person removed is not written again.
        known = pool.taught("reflection", trajectories)
        for trajectory in trajectories:
            if trajectory.outcome.success is None:
                pool.skip([trajectory], NO_OUTCOME)
            if trajectory.outcome.success is not False or trajectory.id in known:
                continue
            known.add(trajectory.id)
            earlier = [lesson.text for lesson in self._remembered(trajectory.task_id, pool)]
            cuts = Cuts()
            try:
                text = self.reflect(trajectory, earlier, cuts)
            except ContextLengthError as error:
                log.warning("no reflection on %s, whatever is cut from it: %s", trajectory.id, error)
                pool.skip([trajectory], f"{TOO_LONG}: {error}")
                continue
            if text:
                left_out = sum(full - sent for full, sent in cuts)
                lesson = Lesson(
                    kind="reflection",
                    text=text,
                    key=trajectory.task_id,
                    category=trajectory.category,
                    method="reflexion",
                    sources=(trajectory.id,),
                    data={"trial": trajectory.meta.get("trial", 0)} | ({"left_out": left_out} if left_out else {}),
                )
                pool.add(lesson, why="reflected on a failed attempt")
            else:
                pool.skip([trajectory], UNUSABLE)

    def reflect(self, trajectory: Trajectory, earlier: Sequence[str] = (), cuts: Cuts | None = None) -> str:
        """Ask the model what went wrong in a failed attempt and what to do instead (paper section 2.3).

        `earlier` are the reflections on earlier attempts at the task, the oldest first; `cuts` collects the length of
        the attempt, before and after cutting. The result is one line; "" if the reply has no plan, which is logged.

        Raises:
            InfrastructureError: the model's server failed.
            ContextLengthError: the attempt does not fit, however much is cut.
        """
        system = render_prompt("seasoned.methods", "reflexion_ask.j2", about=self.about)
        constant: list[Message] = [{"role": "system", "content": system}]
        for example, ideal in self.examples:
            constant.append({"role": "user", "content": _case(example, (), max(ATTEMPT, self._room))})
            constant.append({"role": "assistant", "content": prompt_line(ideal, REFLECTION_CHARS)})

        def prompt(room: int) -> list[Message]:
            return [*constant, {"role": "user", "content": _case(trajectory, earlier, room)}]

        answer = ask(self.llm, prompt, self._room, max_tokens=self.max_tokens)
        if cuts is not None:
            cuts.append((_length(trajectory, 10**9), _length(trajectory, answer.room)))
        limit = LONG_TEXT if is_roomy(self.llm) else REFLECTION_CHARS
        text = read_reflection(answer.value, whole=answer.whole, longest=limit)
        if not text:
            log.warning("no reflection on %s: the reply has no plan: %r", trajectory.id, prompt_line(answer.value, 80))
        return text

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """Guidance for the next attempt at this task; empty before the first attempt and during an attempt."""
        if progress is not None:
            return Guidance()
        plans = self._remembered(task.id, pool) if "reflexion" in self.strategy else []
        failed = pool.trajectories(task_id=task.id, success=False)[-1:] if "last" in self.strategy else []
        if not plans and not failed:
            return Guidance()
        blocks = []
        if failed and (last_attempt := transcript(without_verdict(failed[0]), limit=self._room, task=False)):
            entry = Entry(text=last_attempt, demonstration_ids=(failed[0].id,))
            blocks.append(Block(heading="Your last attempt at this task, which failed:", entries=(entry,)))
        if plans:
            blocks.append(Block.listing(_PLANS, plans, (_plan(lesson.text) for lesson in plans)))
        return Guidance(lessons=tuple(plans), blocks=tuple(blocks))

    def _remembered(self, task_id: str, pool: ExperiencePool) -> list[Lesson]:
        """The newest reflections on a task with different texts, the oldest of them first."""
        newest: dict[str, Lesson] = {}
        for lesson in reversed(pool.lessons("reflection", key=task_id)):
            newest.setdefault(lesson.text, lesson)
        return list(newest.values())[: max(self.memory, 0)][::-1]


def _case(trajectory: Trajectory, earlier: Sequence[str], limit: int) -> str:
    return render_prompt(
        "seasoned.methods",
        "reflexion_case.j2",
        earlier=[_plan(plan) for plan in earlier],
        attempt=transcript(without_verdict(trajectory), limit=limit),
    )


def _plan(text: str) -> str:
    return prompt_line(text, LONG_TEXT)


def _length(trajectory: Trajectory, limit: int) -> int:
    return len(transcript(without_verdict(trajectory), limit=limit))
