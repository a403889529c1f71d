"""Chooses which of an agent's own successes to show for a task (ExpeL, sections 4.2, 4.3 and 5.6).

Always holds: no attempt at the task itself (the same id or equal words) is shown, unless asked for; of each other task
only the shortest success is shown; the same request over the same pool gives the same answer; a text is embedded once.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from seasoned.text import split_words, step_lines, tokens, transcript
from seasoned.types import TEXT_REPEATS, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.methods.expel import ExpeL
    from seasoned.pool import ExperiencePool

RetrieveBy = Literal[
    "task", "thought", "action", "step", "reflection", "task-then-thought", "rotation", "random", "none"
]
Rerank = Literal["none", "length", "thought", "task"]
Aspect = Literal["task", "thought", "action", "step", "reflection"]

BUFFER = 4  # candidates for each demonstration that a re-ranker chooses from
_THINKING = ("", "N/A")  # the action of a step in which the agent only thought


def choose(expel: ExpeL, task: Task, pool: ExperiencePool, progress: Trajectory | None) -> tuple[Trajectory, ...]:
    """The demonstrations for a task, best first; those of its category come before all others.

    They are successes of the pool and the worked examples. While there is nothing else to compare, tasks are compared.

    Raises:
        ConfigError: they are chosen by similarity, and the pool has no embedder.
    """
    if expel.k <= 0 or expel.retrieve_by == "none":
        return ()
    candidates = _candidates(expel, task, pool)
    if expel.retrieve_by == "random":
        random.Random(f"demonstrations-{expel.seed}-{task.id}").shuffle(candidates)
        scores = {}
    else:
        aspect, query = _query(expel.retrieve_by, task, pool, progress)
        scores = _scores(pool, aspect, query, candidates)

    def other(candidate: Trajectory) -> bool:
        return bool(task.category) and candidate.category != task.category

    candidates.sort(key=lambda candidate: (other(candidate), -scores.get(candidate.id, 0.0)))
    best = candidates[: BUFFER * expel.k]
    reranked: dict[str, float] = {}
    if expel.rerank == "length":
        reranked = {candidate.id: -float(_size(candidate)) for candidate in best}
    elif expel.rerank == "thought" and (thought := _last_thought(progress)):
        reranked = _scores(pool, "thought", thought, best)
    elif expel.rerank == "task":
        reranked = _scores(pool, "task", task.text, best)
    best.sort(key=lambda candidate: (other(candidate), -reranked.get(candidate.id, 0.0)))
    return tuple(best[: expel.k])


def _candidates(expel: ExpeL, task: Task, pool: ExperiencePool) -> list[Trajectory]:
    """One success for each task, the shortest (of equals the first), except those that are too long."""
    limit = expel.demo_tokens
    if limit is None and expel.manual:
        limit = max(map(_size, expel.manual))
    words = _words(task)
    shortest: dict[str, tuple[int, Trajectory]] = {}
    successes = pool.collected(_Attempts).successes
    own = [each for each in successes if pool.tasks is None or each[1].task_id in pool.tasks]
    for size, success in (*own, *((_size(each), each) for each in expel.manual)):
        same_task = success.task_id == task.id or tuple(split_words(success.task)) == words
        later = expel.first and success.meta.get("trial", 0)
        if later or (same_task and not expel.same_task) or (limit is not None and size > limit):
            continue
        if success.task_id not in shortest or size < shortest[success.task_id][0]:
            shortest[success.task_id] = (size, success)
    # Sorted by task, since attempts are stored in the order in which the workers finished them.
    return [shortest[task_id][1] for task_id in sorted(shortest)]


def _query(by: RetrieveBy, task: Task, pool: ExperiencePool, progress: Trajectory | None) -> tuple[Aspect, str]:
    """The aspect to compare, and the text to compare it with."""
    if progress is None or (by != "reflection" and not progress.steps):
        return "task", task.text
    if by == "reflection":
        lessons = [pool.store.get_lesson(lesson_id) for lesson_id in progress.lesson_ids]
        plans = [lesson.text for lesson in lessons if lesson is not None and lesson.kind == "reflection"]
        return ("reflection", plans[-1]) if plans and plans[-1] else ("task", task.text)
    last = progress.steps[-1]
    aspect = "thought" if by == "task-then-thought" else by
    if by == "rotation":
        aspect = "thought" if last.action in _THINKING else "step" if last.thought else "action"
    if aspect == "thought" and (thought := _last_thought(progress)):
        return "thought", thought
    if aspect in ("thought", "action") and last.action:  # an agent limited to commands has no thoughts
        return "action", last.action
    if aspect == "step" and (lines := step_lines(last)):
        return "step", "\n".join(lines)
    return "task", task.text


def attempts_at(task: Task, pool: ExperiencePool) -> set[str]:
    """The ids of the pool's attempts at a task: the same id or, unless other tasks have the same text, equal words."""
    attempts, words = pool.collected(_Attempts), _words(task)
    by_words = () if words is None else attempts.by_words.get(words, ())
    return {*attempts.by_task.get(task.id, ()), *by_words}


def _words(task: Task) -> tuple[str, ...] | None:
    """The words that identify a task; None if its environment has other tasks with this text."""
    return None if task.data.get(TEXT_REPEATS) else tuple(split_words(task.text))


def reflections(pool: ExperiencePool, trajectory_ids: Iterable[str]) -> list[str]:
    """The active reflections on these attempts, in the order of the attempts."""
    plans: dict[str, dict[str, None]] = {}
    for lesson in pool.store.lessons(pool.experience, kind="reflection", status="active"):
        for source in lesson.sources:
            plans.setdefault(source, {})[lesson.text] = None
    return list(dict.fromkeys(text for its_id in trajectory_ids for text in plans.get(its_id, ())))


class _Attempts:
    """A cache of a pool: its successes with their sizes, and its attempts by task. Values are only replaced."""

    def __init__(self) -> None:
        self.successes: tuple[tuple[int, Trajectory], ...] = ()
        self.by_task: dict[str, frozenset[str]] = {}
        self.by_words: dict[tuple[str, ...], frozenset[str]] = {}

    def add(self, trajectories: Sequence[Trajectory]) -> None:
        for each in trajectories:
            words = tuple(split_words(each.task))
            self.by_task[each.task_id] = self.by_task.get(each.task_id, frozenset()) | {each.id}
            self.by_words[words] = self.by_words.get(words, frozenset()) | {each.id}
        self.successes += tuple((_size(each), each) for each in trajectories if each.outcome.success)


def _scores(pool: ExperiencePool, aspect: Aspect, query: str, candidates: Sequence[Trajectory]) -> dict[str, float]:
    """How similar each candidate is to the query: the score of its best text; -1 if it has none."""
    texts = {candidate.id: _texts(pool, aspect, candidate) for candidate in candidates}
    scores = pool.nearness(query, [text for several in texts.values() for text in several])
    if not scores:
        return {}
    return {its_id: max((scores[text] for text in several), default=-1.0) for its_id, several in texts.items()}


def _texts(pool: ExperiencePool, aspect: Aspect, candidate: Trajectory) -> list[str]:
    if aspect == "task":
        return [candidate.task]
    if aspect == "reflection":
        return reflections(pool, pool.collected(_Attempts).by_task.get(candidate.task_id, ()))
    if aspect == "step":
        return ["\n".join(step_lines(step)) for step in candidate.steps]
    if aspect == "action":
        return [step.action for step in candidate.steps if step.action not in _THINKING]
    return [step.thought for step in candidate.steps if step.thought]


def _last_thought(progress: Trajectory | None) -> str:
    return next((step.thought for step in reversed(progress.steps) if step.thought), "") if progress else ""


def _size(trajectory: Trajectory) -> int:
    return tokens(transcript(trajectory))
