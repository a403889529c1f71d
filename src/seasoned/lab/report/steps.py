"""What an attempt consists of, on average: thoughts, actions and tokens (ExpeL, table 6).

Always holds: every attempt counts, repeated ones too, but for those that an error of the server ended; a figure that
the trajectories do not hold is null, never 0.

One condition: condition, n (attempts), and means over them: thoughts (steps with a thought), actions (steps with an
action), invalid (actions that the environment could not read, from `meta["invalid"]`), prompt_tokens,
completion_tokens, calls, thought_tokens, action_tokens, observation_tokens (of Llama 2's vocabulary, as it lies in
the wordllama package: null without it; the paper's are tiktoken's), guidance_tokens (see
`seasoned.text.guidance_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from seasoned.embed import static
from seasoned.errors import SeasonedError
from seasoned.lab.report.rows import Row
from seasoned.text import guidance_tokens
from seasoned.types import Guidance, Trajectory

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MEANS: dict[str, Callable[[Trajectory], int | None]] = {
    "thoughts": lambda made: sum(bool(step.thought.strip()) for step in made.steps),
    "actions": lambda made: sum(bool(step.action.strip()) for step in made.steps),
    "invalid": lambda made: _invalid(made),
    "prompt_tokens": lambda made: made.usage.prompt_tokens,
    "completion_tokens": lambda made: made.usage.completion_tokens,
    "calls": lambda made: made.usage.calls + made.usage.replayed,
    "thought_tokens": lambda made: _tokens(step.thought for step in made.steps),
    "action_tokens": lambda made: _tokens(step.action for step in made.steps),
    "observation_tokens": lambda made: _tokens(step.observation for step in made.steps),
}


def step_statistics(attempts: Sequence[Row], trajectories: Sequence[Trajectory]) -> list[dict[str, Any]]:
    """The means described above, one dictionary a condition, in the order of the rows.

    Args:
        attempts: The test attempts that the conditions are judged by.
        trajectories: What they were, and the attempts that they were shown; others are passed over.
    """
    known = {trajectory.id: trajectory for trajectory in trajectories}
    groups: dict[str, list[Trajectory]] = {}
    for row in attempts:
        if row.reason != "error" and row.trajectory_id in known:
            groups.setdefault(row.condition, []).append(known[row.trajectory_id])
    figures = {**_MEANS, "guidance_tokens": lambda made: _guidance(made, known)}
    return [
        {"condition": name, "n": len(made), **{what: _mean(made, figure) for what, figure in figures.items()}}
        for name, made in groups.items()
    ]


def _guidance(made: Trajectory, known: Mapping[str, Trajectory]) -> int | None:
    """Counted as `erl-matched` counts what it matches."""
    shown = [known[one] for one in made.demonstration_ids if one in known]
    if len(shown) < len(made.demonstration_ids):
        return None
    return guidance_tokens(Guidance(demonstrations=tuple(shown), blocks=made.blocks()))


def _mean(made: Sequence[Trajectory], figure: Callable[[Trajectory], int | None]) -> float | None:
    figures = [figure(one) for one in made]
    told = [one for one in figures if one is not None]
    return sum(told) / len(figures) if len(told) == len(figures) else None


def _tokens(texts: Iterable[str]) -> int | None:
    if (tokenizer := _tokenizer()) is None:
        return None
    return sum(len(one) for one in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False))


@cache
def _tokenizer() -> Tokenizer | None:
    """None where it is not installed, or broken: a report is not kept back for a column."""
    try:
        return static.tokenizer()
    except SeasonedError:
        return None


def _invalid(made: Trajectory) -> int | None:
    told = made.meta.get("invalid")
    return told if isinstance(told, int) and not isinstance(told, bool) else None
