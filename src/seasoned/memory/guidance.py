"""Guidance as a memory gives it: what the method recalled, advice and examples beside it, in a frame.

Always holds: the text is delimited and cannot close its block, at most so long as asked for (the frame is not counted),
free of characters that hide text, and "" where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from seasoned.pool import ExperiencePool
from seasoned.text import not_in_text, prompt_line, render_prompt, transcript
from seasoned.trust import enclosed, visible
from seasoned.types import Block, Entry, Guidance, Lesson, Task, Trajectory

ADVICE = 5
"""At most so many heuristics stand beside what a method recalls that recalls none itself."""

TAG = "experience"

_SOURCE = 16  # characters of where a lesson comes from, at most in most cases
_LEAST = 200  # characters of an example that is worth its place


def complete(
    recalled: Guidance,
    task: Task,
    pool: ExperiencePool,
    cap: int,
    most: int | None = None,
    show: Callable[[Guidance], Guidance] = lambda guidance: guidance,
) -> Guidance:
    """What a method recalled for a task, framed, with what a prompt needs beside it.

    That is the heuristics nearest to the task where the method recalled none, and the demonstrations, where the method
    leaves it to the agent to show them. Lessons come first; demonstrations are shortened to the room that is left.

    Args:
        recalled: from the method.
        task: what it was recalled for.
        pool: where heuristics are found: by meaning, or where the pool has no embedder by importance.
        cap: the most characters of the text within the frame.
        most: at most so many lessons, see `shortened`; None for all.
        show: what is shown of all that, before it is framed.
    """
    advice = [] if any(lesson.kind == "heuristic" for lesson in recalled.lessons) else _advice(task, pool)
    if most is not None:
        recalled = shortened(recalled, most)
        advice = advice[: max(most - len(recalled.lessons), 0)]
    blocks = list(recalled.blocks)
    room = cap - len(recalled.text) - 40 - _SOURCE * (len(recalled.lessons) + len(advice))
    if advice:
        blocks.append(
            Block.listing("Advice for work like this:", advice, (prompt_line(lesson.text) for lesson in advice))
        )
        room -= len(blocks[-1].text)
    silent = not_in_text(recalled)
    if silent and room // len(silent) >= _LEAST:
        examples = tuple(_example(attempt, room // len(silent)) for attempt in silent)
        blocks.append(Block(heading="Earlier attempts that went well:", entries=examples))
    lessons = (*recalled.lessons, *advice)
    return framed(show(Guidance(lessons=lessons, demonstrations=recalled.demonstrations, blocks=tuple(blocks))), cap)


def shortened(recalled: Guidance, most: int) -> Guidance:
    """What a method recalled, with its first lessons alone: the entries that tell only of others are left out.

    Lessons that stand in one entry, as those that contradict each other do, stay together; so some more may be left. An
    entry without ids may tell of any of the lessons, so it stays, and so do the lessons that no entry names.
    """
    first = {lesson.id for lesson in recalled.lessons[:most]}
    blocks = []
    for block in recalled.blocks:
        entries = tuple(each for each in block.entries if not each.lesson_ids or first.intersection(each.lesson_ids))
        if entries:
            blocks.append(block.model_copy(update={"entries": entries}))
    kept = {*first, *_lesson_ids(blocks)}
    if any(not (each.lesson_ids or each.demonstration_ids) for block in blocks for each in block.entries):
        kept |= {lesson.id for lesson in recalled.lessons}.difference(_lesson_ids(recalled.blocks))
    lessons = tuple(lesson for lesson in recalled.lessons if lesson.id in kept)
    return Guidance(lessons=lessons, demonstrations=recalled.demonstrations, blocks=tuple(blocks))


def framed(guidance: Guidance, cap: int) -> Guidance:
    """Guidance whose text is one block that says that it is advice; cut after the last line that fits, or in a line.

    A line that tells of lessons ends with where they come from: a person, an import, or so many attempts.
    """
    inside = enclosed(visible(_sourced(guidance)), TAG).strip()
    if len(inside) > cap:
        inside = inside[:cap].rpartition("\n")[0] or f"{inside[: cap - 1]}…"
    if not inside:
        return guidance.saying(())
    text = render_prompt("seasoned.memory", "guidance.j2", text=inside)
    shown = tuple(name for block in guidance.blocks for entry in block.entries for name in entry.demonstration_ids)
    entry = Entry(text=text, lesson_ids=_lesson_ids(guidance.blocks), demonstration_ids=shown)
    return guidance.saying([Block(entries=(entry,))])


def _sourced(guidance: Guidance) -> str:
    known = {lesson.id: lesson for lesson in guidance.lessons}

    def sourced(entry: Entry) -> Entry:
        told = [known[name] for name in entry.lesson_ids if name in known]
        source = _source(told) if entry.text.startswith("- ") and "\n" not in entry.text else ""
        return entry.model_copy(update={"text": f"{entry.text} [{source}]"}) if source else entry

    blocks = (block.model_copy(update={"entries": tuple(map(sourced, block.entries))}) for block in guidance.blocks)
    return guidance.saying(blocks).text


def _source(lessons: Iterable[Lesson]) -> str:
    """Where lessons that stand in one line come from, in a few tokens; "" where nothing is known of that."""
    told = list(lessons)
    if any(lesson.origin == "person" for lesson in told):
        return "a person"
    if any(lesson.data.get("imported") for lesson in told):
        return "imported"
    count = len({source for lesson in told for source in lesson.sources})
    ended = {lesson.data.get("success") for lesson in told}
    word = {frozenset({True}): "success", frozenset({False}): "failure"}.get(frozenset(ended), "attempt")
    plural = f"{word}es" if word == "success" else f"{word}s"
    return f"{count} {word if count == 1 else plural}" if count else ""


def _lesson_ids(blocks: Iterable[Block]) -> tuple[str, ...]:
    names = (name for block in blocks for entry in block.entries for name in entry.lesson_ids)
    return tuple(dict.fromkeys(names))


def _advice(task: Task, pool: ExperiencePool) -> list[Lesson]:
    if pool.searches:
        return [lesson for lesson, _ in pool.nearest_lessons(task.text, ADVICE, "heuristic")]
    return sorted(pool.lessons("heuristic"), key=lambda x: (x.importance, x.updated), reverse=True)[:ADVICE]


def _example(attempt: Trajectory, room: int) -> Entry:
    answer = f"\nAnswer: {prompt_line(attempt.outcome.answer, _LEAST // 2)}" if attempt.outcome.answer else ""
    said = transcript(attempt, limit=room - len(answer) - 2) + answer
    return Entry(text=f"\n{said}", demonstration_ids=(attempt.id,))
