"""The guidance of a memory: what the method recalled, further advice and examples, in a frame.

Always holds: the text is delimited and cannot close its block, keeps to its limit (not counting the frame), has no
invisible characters, and is "" if there is no guidance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from seasoned.pool import ExperiencePool
from seasoned.text import not_in_text, prompt_line, render_prompt, transcript
from seasoned.trust import enclosed, visible
from seasoned.types import Block, Entry, Guidance, Lesson, Task, Trajectory

ADVICE = 5  # the most heuristics added for a method that does not recall heuristics itself

TAG = "experience"

_SOURCE = 16  # characters to leave for a lesson's source; most are shorter
_MIN_EXAMPLE = 200  # characters; a shorter example is useless


def complete(
    recalled: Guidance,
    task: Task,
    pool: ExperiencePool,
    cap: int,
    most: int | None = None,
    show: Callable[[Guidance], Guidance] = lambda guidance: guidance,
) -> Guidance:
    """What a method recalled for a task, with additions, in a frame.

    The additions are the pool's heuristics nearest to the task (without an embedder, the most important) if the method
    recalled none, and the demonstrations that the method's text does not show. Lessons come first; demonstrations are
    shortened to the remaining room of `cap` characters. There are at most `most` lessons (see `shortened`; None: all);
    `show` selects what to show, before framing.
    """
    if any(lesson.kind == "heuristic" for lesson in recalled.lessons):
        advice = []
    elif pool.searches:
        advice = [lesson for lesson, _ in pool.nearest_lessons(task.text, ADVICE, "heuristic")]
    else:
        advice = sorted(pool.lessons("heuristic"), key=lambda x: (x.importance, x.updated), reverse=True)[:ADVICE]
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
    unshown = not_in_text(recalled)
    if unshown and room // len(unshown) >= _MIN_EXAMPLE:
        examples = tuple(_example(attempt, room // len(unshown)) for attempt in unshown)
        blocks.append(Block(heading="Earlier attempts that went well:", entries=examples))
    lessons = (*recalled.lessons, *advice)
    return framed(show(Guidance(lessons=lessons, demonstrations=recalled.demonstrations, blocks=tuple(blocks))), cap)


def shortened(recalled: Guidance, most: int) -> Guidance:
    """What a method recalled, limited to its first lessons; entries only about others are left out.

    Lessons in one entry, such as contradicting ones, stay together, so there may be more. An entry without ids may be
    about any lesson, so it stays, as do lessons that no entry names.
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
    """Guidance as one block that is labelled as advice; cut after the last line that fits, or within a line.

    A line about lessons ends with their source: a person, an import, or a number of attempts.
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
        lessons = [known[name] for name in entry.lesson_ids if name in known]
        source = _source(lessons) if entry.text.startswith("- ") and "\n" not in entry.text else ""
        return entry.model_copy(update={"text": f"{entry.text} [{source}]"}) if source else entry

    blocks = (block.model_copy(update={"entries": tuple(map(sourced, block.entries))}) for block in guidance.blocks)
    return guidance.saying(blocks).text


def _source(lessons: Iterable[Lesson]) -> str:
    """The sources of the lessons in one line, in a few tokens; "" if unknown."""
    group = list(lessons)
    if any(lesson.origin == "person" for lesson in group):
        return "a person"
    if any(lesson.data.get("imported") for lesson in group):
        return "imported"
    count = len({source for lesson in group for source in lesson.sources})
    outcomes: set[Any] = {lesson.data.get("success") for lesson in group}
    word = {frozenset({True}): "success", frozenset({False}): "failure"}.get(frozenset(outcomes), "attempt")
    plural = f"{word}es" if word == "success" else f"{word}s"
    return f"{count} {word if count == 1 else plural}" if count else ""


def _lesson_ids(blocks: Iterable[Block]) -> tuple[str, ...]:
    names = (name for block in blocks for entry in block.entries for name in entry.lesson_ids)
    return tuple(dict.fromkeys(names))


def _example(attempt: Trajectory, room: int) -> Entry:
    answer = f"\nAnswer: {prompt_line(attempt.outcome.answer, _MIN_EXAMPLE // 2)}" if attempt.outcome.answer else ""
    shown_text = transcript(attempt, limit=room - len(answer) - 2) + answer
    return Entry(text=f"\n{shown_text}", demonstration_ids=(attempt.id,))
