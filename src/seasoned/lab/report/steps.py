"""The thoughts, actions, observations and tokens in the attempts of a condition (ExpeL, table 6).

Always holds: a figure that one of the attempts lacks is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from seasoned.embed import static
from seasoned.errors import SeasonedError
from seasoned.lab.report.rows import Row
from seasoned.lab.report.summary import Steps
from seasoned.text import guidance_tokens
from seasoned.types import Guidance, Trajectory

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PARTS = ("thought", "action", "observation")


def step_statistics(attempts: Sequence[Row], trajectories: Sequence[Trajectory]) -> tuple[Steps, ...]:
    """The mean figures per attempt of each condition (ExpeL, table 6), in the order of the rows.

    Args:
        attempts: The final test attempts, including retries and repeats.
        trajectories: The attempts of the rows and their demonstrations; others are skipped.
    """
    by_id = {trajectory.id: trajectory for trajectory in trajectories}
    groups: dict[str, list[dict[str, int | None]]] = {}
    for row in attempts:
        if row.reason != "error" and row.trajectory_id in by_id:
            groups.setdefault(row.condition, []).append(_figures(by_id[row.trajectory_id], by_id))
    return tuple(
        Steps.model_validate(
            {"condition": name, "n": len(figures)}
            | {what: _mean([one[what] for one in figures]) for what in figures[0]}
        )
        for name, figures in groups.items()
    )


def _figures(attempt: Trajectory, by_id: Mapping[str, Trajectory]) -> dict[str, int | None]:
    """The figures of `Steps` for one attempt; None if it lacks one."""
    parts = {part: [str(getattr(step, part)) for step in attempt.steps] for part in _PARTS}
    invalid = attempt.meta.get("invalid")  # actions that the environment could not read
    return {
        **{f"{part}s": sum(bool(text.strip()) for text in texts) for part, texts in parts.items()},
        **{f"{part}_tokens": _tokens(texts) for part, texts in parts.items()},
        "invalid": invalid if type(invalid) is int else None,
        "prompt_tokens": attempt.usage.prompt_tokens,
        "completion_tokens": attempt.usage.completion_tokens,
        "calls": attempt.usage.calls + attempt.usage.replayed,
        "guidance_tokens": _guidance(attempt, by_id),
    }


def _mean(figures: Sequence[int | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) / len(figures) if len(known) == len(figures) else None


def _guidance(attempt: Trajectory, by_id: Mapping[str, Trajectory]) -> int | None:
    """The guidance tokens, counted as `erl-matched` does; None if a demonstration is missing."""
    shown = [by_id[one] for one in attempt.demonstration_ids if one in by_id]
    if len(shown) < len(attempt.demonstration_ids):
        return None
    return guidance_tokens(Guidance(demonstrations=tuple(shown), blocks=attempt.blocks()))


def _tokens(texts: list[str]) -> int | None:
    """Tokens of Llama 2's vocabulary (the paper uses tiktoken); None without the wordllama package, which has it."""
    if (tokenizer := _tokenizer()) is None:
        return None
    return sum(len(one) for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False))


@cache
def _tokenizer() -> Tokenizer | None:
    """The tokenizer; None if it is missing or broken, since a missing column must not prevent the report."""
    try:
        return static.tokenizer()
    except SeasonedError:
        return None
