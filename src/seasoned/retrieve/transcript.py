"""A trajectory as text: the one rendering of an attempt that all methods put into their prompts.

Always holds: one line for each thought, action and observation, so that nothing an environment or a model says can pass
for another part of the prompt; with a limit the text is never longer; what is cut is cut from the longest observations
first, and the first and the last step go last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from seasoned.retrieve.render import CAP, clean, clean_ends
from seasoned.types import Step, Trajectory

TOKEN = 4
"""Characters that count as one token here: a cheap estimate, right within a third for English prose."""

_LONGEST = 4000  # characters of a task; and of each part of a step, where the whole has a limit
_LEAST = 24  # characters that are left of a line that is cut


def tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // TOKEN)


def guidance_tokens(text: str, demonstrations: Iterable[Trajectory]) -> int:
    """About how many tokens guidance has: its text, and as transcripts the demonstrations that are not in the text."""
    return tokens(text) + sum(tokens(transcript(one)) for one in demonstrations if clean(one.task) not in text)


def transcript(trajectory: Trajectory, *, limit: int | None = None, cap: int | None = None, task: bool = True) -> str:
    """The attempt as lines of "Task: ..", "Thought: ..", "Action: .." and "Observation: ..", empty ones left out.

    Args:
        trajectory: the attempt; how it ended is not told.
        limit: at most so many characters in all; the attempt is shortened to that, see `shorten_trajectory`.
        cap: at most so many characters of each thought, action and observation; by default 600, or 4,000 where there
            is a limit, as that takes from the longest what is too much.
        task: whether the task's text stands first.
    """
    if cap is None:
        cap = CAP if limit is None else _LONGEST
    if limit is not None:
        trajectory = shorten_trajectory(trajectory, limit, cap=cap, task=task)
    lines = [f"Task: {clean_ends(trajectory.task, _LONGEST)}"] if task else []
    lines += [line for step in trajectory.steps for line in step_lines(step, cap)]
    text = "\n".join(lines)
    return text if limit is None else text[: max(limit, 0)]


def step_lines(step: Step, cap: int = CAP) -> list[str]:
    """A step as up to three lines."""
    parts = (("Thought", step.thought), ("Action", step.action), ("Observation", step.observation))
    return [f"{label}: {line}" for label, text in parts if (line := clean(text, cap))]


def shorten_trajectory(trajectory: Trajectory, limit: int, *, cap: int = _LONGEST, task: bool = True) -> Trajectory:
    """The same attempt with less text, so that its transcript has at most `limit` characters where that can be.

    The longest observations are cut first, all to one length; then the thoughts, then the middle of the task; then
    steps in the middle are left out, and a line says how many. (Reflexion's code cuts observations too, and knows no
    second step.)

    Args:
        trajectory: what is to be shortened; it is returned as it is where it fits.
        limit: characters of the transcript.
        cap: as in `transcript`.
        task: as in `transcript`.

    Returns:
        A trajectory with the same id, task id and outcome.
    """

    def over() -> int:
        return len(transcript(trajectory, cap=cap, task=task)) - limit

    for field in ("observation", "thought"):
        if (excess := over()) > 0:
            trajectory = trajectory.model_copy(update={"steps": _cut(trajectory.steps, field, excess, cap)})
    if task and (excess := over()) > 0:
        kept = max(len(clean_ends(trajectory.task, _LONGEST)) - excess, limit // 2, _LEAST)
        trajectory = trajectory.model_copy(update={"task": clean_ends(trajectory.task, min(kept, _LONGEST))})
    if (excess := over()) > 0:
        trajectory = trajectory.model_copy(update={"steps": _thin(trajectory.steps, excess, cap)})
    return trajectory


def _cut(steps: Sequence[Step], field: Literal["observation", "thought"], excess: int, cap: int) -> tuple[Step, ...]:
    """The steps with the field cut to the greatest length that saves `excess` characters, or else to the least one."""
    lengths = [len(clean(getattr(step, field), cap)) for step in steps]
    low, high = _LEAST, max(lengths, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(length - middle for length in lengths if length > middle) >= excess:
            low = middle
        else:
            high = middle - 1
    return tuple(step.model_copy(update={field: clean(getattr(step, field), min(low, cap))}) for step in steps)


def _thin(steps: Sequence[Step], excess: int, cap: int) -> tuple[Step, ...]:
    """The steps without as many in the middle as it takes to save `excess` characters; the first and the last stay."""
    size = [sum(len(line) + 1 for line in step_lines(step, cap)) for step in steps]
    for count in range(2, len(steps) - 1):
        start = max(1, min((len(steps) - count) // 2, len(steps) - 1 - count))
        mark = Step(observation=f"({count} steps are left out here)")
        saved = sum(size[start : start + count]) - len(step_lines(mark)[0]) - 1
        if saved >= excess or count == len(steps) - 2:
            return (*steps[:start], mark, *steps[start + count :])
    return tuple(steps)
