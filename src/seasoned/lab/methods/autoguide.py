"""AutoGuide (Fu et al., 2024) as ERL describes it: guidelines for contexts, from a failure and a success.

Always holds: recalled guidelines fit the context of the last observation, and nothing is recalled if none fits; a
failure gives at most one guideline; no lesson from an attempt at a task is recalled for that task.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from seasoned.asking import ask
from seasoned.errors import ConfigError, ContextLengthError
from seasoned.lab.methods.guidelines import write_guideline
from seasoned.llm.structured import closed_object
from seasoned.llm.window import LONG_TEXT, Cuts, room_for, said_of
from seasoned.methods import check_least
from seasoned.methods.attempts import TOO_LONG, UNUSABLE
from seasoned.methods.expel.demonstrations import attempts_at
from seasoned.methods.expel.extraction import Call, attempts_before, plan_calls, skip_unused, worked_pair
from seasoned.protocols import LLM
from seasoned.replies.forms import json_or_lines
from seasoned.text import prompt_line, render_prompt, same_words, step_lines, tokens
from seasoned.types import Block, Guidance, Lesson, Message, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

log = logging.getLogger(__name__)

By = Literal["llm", "embedding"]

LAST = 2
"""How many last steps show the context of an attempt."""
NOTHING = ("", "OK.")
"""Observations without information; the last steps then show the context."""
_HEADING = "In a situation like this, at other tasks:"
_STEP = 300  # characters of each part of a step
_TASK = 600  # characters of the task that show the context of an attempt


@dataclass(frozen=True)
class AutoGuide:
    """Guidelines for the context that an attempt is in (ERL, sections 1 and B). For agents that ask at each turn.

    Args:
        llm: extracts the guidelines; with `by="llm"`, it identifies the context at each turn.
        about: the kind of tasks.
        worked: attempts with the context and guideline that they should give; see `write_guideline`.
        begins: the words that every guideline begins with.
        goal: extracts the goal from a task's text when most of it is something else, such as a room's furniture.
        k: guidelines to show at a turn.
        by: how the context is identified: `llm` picks among the known ones; `embedding` takes the nearest ones.
        least: with `embedding`, the least cosine of a context that fits.
        room: tokens of both attempts of a pair in a prompt (None: three quarters of a long window, or 2,400).
        contexts_room: tokens of known contexts in a prompt (None: likewise, or 1,500); if there are more, the nearest
            are shown, or the newest if the pool has no embedder.
        max_tokens: tokens of a reply.
        same_task: recall lessons also for the task that they come from. For recurring work; never in an evaluation.

    Raises:
        ConfigError: a number is out of range, `by` is unknown, or `worked` has no pair; see `worked_pair`.
    """

    name: ClassVar[str] = "autoguide"
    llm: LLM
    about: str = ""
    worked: tuple[Sequence[Trajectory], str, str] | None = None
    begins: str = ""
    goal: Callable[[str], str] | None = None
    k: int = 3
    by: By = "llm"
    least: float = 0.5
    room: int | None = None
    contexts_room: int | None = None
    max_tokens: int = 200
    same_task: bool = False

    def __post_init__(self) -> None:
        check_least(self, {"k": 1, "room": 100, "contexts_room": 100, "max_tokens": 16})
        if self.by not in get_args(By):
            raise ConfigError(f"by of AutoGuide is one of {', '.join(get_args(By))}, not {self.by!r}")
        if self.worked is not None:
            worked_pair(self.worked[0])

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Write a guideline for each failure at a task that was also solved, by comparison with its first success.

        A pair that was learned from is skipped. An equal guideline for an equal context adds one to the importance of
        the stored one.

        Raises:
            LLMError: the model failed other than by a reply's form or a prompt's length; earlier guidelines stay.
            StoreError: the pool is read-only; no model is called.
        """
        pool.writable()
        earlier = attempts_before(trajectories, pool) if self.same_task else ()
        pairs = plan_calls(trajectories, earlier=earlier, chunk=1, seed=0, successes=False)
        if not pairs:
            problem = "no task was both failed and solved, so there is nothing to learn guidelines from"
            log.warning(problem)
            pool.passed_over(problem)
        # Including deleted guidelines, so that what a person removed is not written again.
        known = {source for lesson in pool.lessons("guideline", status=None) for source in lesson.sources}
        unused: dict[str, str] = {}
        cuts = Cuts()
        for pair in pairs:
            if pair.attempts[0].id in known:
                continue
            try:
                guideline = write_guideline(
                    self.llm,
                    pair,
                    about=self.about,
                    worked=self.worked,
                    begins=self.begins,
                    max_tokens=self.max_tokens,
                    room=self.room or room_for(self.llm, 2400),
                    cuts=cuts,
                )
                problem = UNUSABLE
            except ContextLengthError as error:
                guideline, problem = None, f"{TOO_LONG}: {error}"
            if guideline is not None:
                _keep(pool, pair, *guideline)
                continue
            log.warning("no guideline from %s: %s", pair, problem)
            pool.passed_over(f"no guideline from {pair}: {problem}")
            unused[pair.attempts[0].id] = problem
        if cut := said_of(cuts):
            pool.passed_over(cut)
        skip_unused(pool, trajectories, pairs, unused)

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The guidelines without a context, then those for the context of the last observation.

        Raises:
            ConfigError: `by="embedding"`, and the pool has no embedder.
            LLMError: the model failed other than by a reply's form or a prompt's length.
        """
        own_attempts = set() if self.same_task else attempts_at(task, pool)
        usable = [lesson for lesson in pool.lessons("guideline") if own_attempts.isdisjoint(lesson.sources)]
        guidelines = [lesson for lesson in usable if not lesson.key][: self.k]
        usable = [lesson for lesson in usable if lesson.key]
        if usable and progress is not None and progress.steps:
            guidelines += self._fitting(usable, pool, task, progress)[: self.k]
        if not guidelines:
            return Guidance()
        lines = [": ".join(prompt_line(part, LONG_TEXT) for part in (one.key, one.text) if part) for one in guidelines]
        return Guidance(lessons=tuple(guidelines), blocks=(Block.listing(_HEADING, guidelines, lines),))

    def _fitting(
        self, usable: Sequence[Lesson], pool: ExperiencePool, task: Task, progress: Trajectory
    ) -> list[Lesson]:
        """The guidelines whose context fits the last steps, the best first."""
        now = "\n".join(line for step in progress.steps[-LAST:] for line in step_lines(step, _STEP))
        if self.by == "embedding":
            seen = progress.steps[-1].observation
            scores = pool.nearness(now if seen in NOTHING else seen, [lesson.key for lesson in usable])
            near = [lesson for lesson in usable if scores[lesson.key] >= self.least]
            return sorted(near, key=lambda lesson: -scores[lesson.key])
        contexts: dict[str, list[Lesson]] = {}
        for lesson in usable:
            contexts.setdefault(same_words(lesson.key), []).append(lesson)
        known = self._known(list(contexts.values()), pool, now)
        if not known:
            return []
        task_text = prompt_line(self.goal(task.text) if self.goal else task.text, _TASK)
        places = self._identify([group[0].key for group in known], f"Task: {task_text}\n\n{now}")
        return [lesson for place in places for lesson in sorted(known[place], key=lambda each: -each.importance)]

    def _known(self, groups: list[list[Lesson]], pool: ExperiencePool, now: str) -> list[list[Lesson]]:
        """The groups (one per context) that fit into the prompt, in a constant order."""
        sizes = [tokens(f"00. {prompt_line(group[0].key)}\n") for group in groups]
        room = self.contexts_room or room_for(self.llm, 1500)
        if sum(sizes) <= room:
            return groups
        order = list(reversed(range(len(groups))))
        if pool.searches:
            scores = pool.nearness(now, [group[0].key for group in groups])
            order.sort(key=lambda place: (-scores[groups[place][0].key], place))
        used = accumulate(sizes[place] for place in order)
        chosen = [place for place, total in zip(order, used, strict=True) if total <= room]
        return [groups[place] for place in sorted(chosen)]

    def _identify(self, contexts: Sequence[str], now: str) -> list[int]:
        """The places of the contexts that fit, from the model; empty if its reply is unusable."""
        system = render_prompt(
            "seasoned.lab.methods",
            "autoguide_where.j2",
            about=prompt_line(self.about, 1000),
            contexts=[prompt_line(context) for context in contexts],
        )
        messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": now}]
        number = {"type": "integer", "minimum": 1, "maximum": len(contexts)}
        properties = {
            "situation": {"type": "string", "maxLength": 120},
            "numbers": {"type": "array", "maxItems": self.k, "items": number},
        }
        try:
            answer = ask(self.llm, lambda _: messages, schema=closed_object(properties), max_tokens=self.max_tokens)
        except ContextLengthError as error:
            log.warning("the context of an attempt is not identified: %s", error)
            return []
        value = json_or_lines(answer.value, lambda text: text)
        places, problem = read_places(value, len(contexts))
        if problem:
            log.info("the context of an attempt: %s", problem)
        return places


def read_places(value: Any, count: int) -> tuple[list[int], str]:
    """The places (from 0) of the numbers in a reply, each once, and a sentence on invalid numbers, or ""."""
    numbers = value.get("numbers") if isinstance(value, dict) else value
    entries = numbers if isinstance(numbers, list) else _numbers(numbers)
    if not entries and not isinstance(numbers, list):
        return [], f"the reply names no contexts: {prompt_line(str(value), 120)!r}"
    named = [_numbers(entry) or [0] for entry in entries]
    flat = [number for each in named for number in each]
    places = list(dict.fromkeys(number - 1 for number in flat if 1 <= number <= count))
    wrong = sum(not 1 <= number <= count for number in flat)
    return places, f"{wrong} of its numbers are none of the {count} contexts" if wrong else ""


def _numbers(value: Any) -> list[int]:
    """The numbers in 2, "2" or "1, 2"; [] for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    words = re.split(r"[\s,;&]|\band\b", value[:200]) if isinstance(value, str) else []
    parts = [part for part in (word.strip("#.()[]") for word in words) if part]
    return [int(part) for part in parts] if all(part.isdecimal() and len(part) < 10 for part in parts) else []


def _keep(pool: ExperiencePool, pair: Call, context: str, guideline: str) -> None:
    """Store a guideline, under an equal context if there is one; an equal guideline gains importance instead."""
    sources = pair.sources
    alike = [old for old in pool.lessons("guideline") if same_words(old.key) == same_words(context)]
    same = next((old for old in alike if same_words(old.text) == same_words(guideline)), None)
    if same is not None and not same.pinned:
        changes = {"importance": same.importance + 1, "sources": tuple(dict.fromkeys((*same.sources, *sources)))}
        pool.update(same.model_copy(update=changes), why=f"said again by {pair}")
    elif same is None:
        lesson = Lesson(
            kind="guideline",
            text=guideline,
            key=alike[0].key if alike else context,
            category=pair.attempts[0].category,
            method="autoguide",
            sources=sources,
        )
        pool.add(lesson, why=f"learned from {pair}")
