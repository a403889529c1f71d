"""Guidance as a memory gives it: what the method recalled, advice and examples beside it, in a frame.

Always holds: the text is delimited and cannot close its block, at most so long as asked for (the frame is not counted),
free of characters that hide text, and "" where there is nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from seasoned.pool import ExperiencePool
from seasoned.text import prompt_line, render_prompt, transcript
from seasoned.trust import enclosed, visible
from seasoned.types import Guidance, Lesson, Task, Trajectory

ADVICE = 5
"""At most so many heuristics stand beside what a method recalls that recalls none itself."""

TAG = "experience"

_LEAST = 200  # characters of an example that is worth its place
_ITEM = re.compile(r"\n(?! )")  # between the items of a list, each with the lines that are indented below it
_KNOWN_BY = 200  # characters of a lesson that tell which item is its own


def complete(found: Guidance, task: Task, pool: ExperiencePool, cap: int, most: int | None = None) -> Guidance:
    """What a method recalled for a task, framed, with what a prompt needs beside it.

    That is the heuristics nearest to the task where the method recalled none, and the demonstrations, where the method
    leaves it to the agent to show them. Lessons come first; demonstrations are shortened to the room that is left.

    Args:
        found: from the method.
        task: what it was recalled for.
        pool: where heuristics are found: by meaning, or where the pool has no embedder by importance.
        cap: the most characters of the text within the frame.
        most: at most so many lessons, see `shortened`; None for all.
    """
    advice = [] if any(x.kind == "heuristic" for x in found.lessons) else _advice(task, pool)
    if most is not None:
        found = shortened(found, most)
        advice = advice[: max(most - len(found.lessons), 0)]
    parts = [found.text]
    if advice:
        lines = [prompt_line(lesson.text) for lesson in advice]
        parts.append(render_prompt("seasoned.memory", "advice.j2", lines=lines))
    silent = [shown for shown in found.demonstrations if prompt_line(shown.task) not in found.text]
    room = (cap - sum(map(len, parts)) - 40) // len(silent) if silent else 0
    if room >= _LEAST:
        attempts = [_example(shown, room) for shown in silent]
        parts.append(render_prompt("seasoned.memory", "examples.j2", attempts=attempts))
    text = framed("\n\n".join(filter(None, parts)), cap)
    return found.model_copy(update={"lessons": (*found.lessons, *advice), "text": text})


def shortened(found: Guidance, most: int) -> Guidance:
    """What a method recalled, with its first lessons alone: the items of its text that tell of others are left out.

    Lessons that stand in one item, as those that contradict each other do, stay together; so some more may be left.
    """
    kept, others = found.lessons[:most], found.lessons[most:]
    items = [
        item
        for item in _ITEM.split(found.text)
        if not (item.startswith("- ") and _tells(item, others)) or _tells(item, kept)
    ]
    left = tuple(lesson for lesson in others if any(_tells(item, [lesson]) for item in items))
    return found.model_copy(update={"lessons": (*kept, *left), "text": "\n".join(items)})


def _tells(item: str, lessons: Sequence[Lesson]) -> bool:
    """Whether an item is the own one of any of these: with its key first, or with its text."""
    return any(
        f"- {prompt_line(lesson.text)[:_KNOWN_BY]}" in item
        or (lesson.key != "" and item.startswith(f"- {prompt_line(lesson.key)}: "))
        for lesson in lessons
    )


def framed(text: str, cap: int) -> str:
    """The text in a block that says that it is advice; cut after the last line that fits, or else in a line."""
    inside = enclosed(visible(text), TAG).strip()
    if len(inside) > cap:
        inside = inside[:cap].rpartition("\n")[0] or f"{inside[: cap - 1]}…"
    return render_prompt("seasoned.memory", "guidance.j2", text=inside) if inside else ""


def _advice(task: Task, pool: ExperiencePool) -> list[Lesson]:
    if pool.searches:
        return [lesson for lesson, _ in pool.nearest_lessons(task.text, ADVICE, "heuristic")]
    return sorted(pool.lessons("heuristic"), key=lambda x: (x.importance, x.updated), reverse=True)[:ADVICE]


def _example(attempt: Trajectory, room: int) -> str:
    answer = f"\nAnswer: {prompt_line(attempt.outcome.answer, _LEAST // 2)}" if attempt.outcome.answer else ""
    return transcript(attempt, limit=room - len(answer) - 2) + answer
