"""What the parts of a condition used: to learn, to recall and to act (ERL, table 4), as figures and as a table.

Always holds: learning, recall and rollout add up to the total; a cost that is unknown makes the sums with it unknown.

    learning    what writing its lessons used, over seeds and folds; conditions that share their lessons say the same
    recall      the calls of test episodes beside the agent's turns: they rank or choose lessons, or reflect on failures
    rollout     the turns of the agent in test episodes
    total       all of it

Each has tokens {prompt, cached, completion, total}, cost (US dollars), calls and seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seasoned.lab.report.format import cost, percent, signed
from seasoned.lab.report.forms import Column, Line, Table
from seasoned.lab.report.rows import Row
from seasoned.text import UNKNOWN, count, label
from seasoned.types import Usage

_BESIDE = ("learning", "recall")


def phases(rows: Sequence[Row], learning: Usage) -> dict[str, Any]:
    """The parts described above.

    Args:
        rows: The final test rows of one condition.
        learning: What writing its lessons used.
    """
    used, recall = (sum(parts, Usage()) for parts in ((row.usage for row in rows), (row.aside for row in rows)))
    parts = {"learning": learning, "recall": recall, "rollout": _less(used, recall), "total": learning + used}
    return {name: spent(part) for name, part in parts.items()}


def spent(used: Usage) -> dict[str, Any]:
    """A usage as a summary has it."""
    return {
        "tokens": {
            "prompt": used.prompt_tokens,
            "cached": used.cached_tokens,
            "completion": used.completion_tokens,
            "total": used.tokens,
        },
        "cost": used.cost,
        "calls": used.calls,
        "seconds": used.seconds,
    }


def _less(whole: Usage, part: Usage) -> Usage:
    known = whole.cost is not None and part.cost is not None
    return Usage(
        prompt_tokens=whole.prompt_tokens - part.prompt_tokens,
        cached_tokens=whole.cached_tokens - part.cached_tokens,
        completion_tokens=whole.completion_tokens - part.completion_tokens,
        calls=whole.calls - part.calls,
        replayed=whole.replayed - part.replayed,
        # Sums of dollars differ in their last digits by the order in which they were added.
        cost=round(max(0.0, (whole.cost or 0.0) - (part.cost or 0.0)), 12) if known else None,
        seconds=max(0.0, whole.seconds - part.seconds),
    )


def phases_table(summary: Mapping[str, Any]) -> Table | None:
    """Tokens and cost of each part, as ERL's table 4 has them; None where nothing was learned or recalled by calls.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    blocks = [block for block in summary["conditions"] if "phases" in block]
    if not any(_there(block["phases"][part]) for block in blocks for part in _BESIDE):
        return None
    columns = (
        Column("condition", number=False),
        Column("part", number=False),
        Column("tokens in\n(cached)"),
        Column(f"input vs\n{label(summary['baseline'])}"),
        Column("tokens\nout"),
        Column("cost"),
        Column("calls", spare=True),
    )
    before = next((_input(block) for block in blocks if block["name"] == summary["baseline"]), None)
    lines = []
    for block in blocks:
        own = block["phases"]
        beside = [part for part in _BESIDE if _there(own[part])]
        more = _input(block) / before - 1 if before and block["name"] != summary["baseline"] else None
        lines += [_line(block["name"], part, own[part], None) for part in beside]
        lines.append(_line(block["name"], "rollout", own["rollout"], more))
        lines += [_line(block["name"], "total", own["total"], None)] if beside else []
    notes = (
        "Learning writes the lessons; conditions that share theirs say the same, and it was paid for once. Recall ranks"
        " or chooses among them for a test task, and reflects where it is tried again. Rollout is the agent's turns.",
        "Input against the baseline's is that of the rollout alone, for each test task.",
        "Calls are those really made. Conditions that share one have its tokens and its cost in the figures of each.",
    )
    return Table("Tokens and cost by part (ERL, table 4)", columns, tuple(lines), notes)


def _line(name: str, part: str, used: Mapping[str, Any], more: float | None) -> Line:
    tokens = used["tokens"]
    cached = f" ({percent(tokens['cached'] / tokens['prompt'], 0)})" if tokens["prompt"] else ""
    cells = (
        label(name),
        part,
        f"{count(tokens['prompt'])}{cached}",
        ("" if part != "rollout" else UNKNOWN) if more is None else f"{signed(100 * more)}%",
        count(tokens["completion"]),
        cost(used["cost"]),
        f"{used['calls']:,}",
    )
    return Line(cells, {"name": name, "part": part, **used, "input_vs_baseline": more})


def _there(used: Mapping[str, Any]) -> bool:
    return bool(used["tokens"]["total"] or used["calls"])


def _input(block: Mapping[str, Any]) -> float:
    """Prompt tokens of the rollout for each test task."""
    tasks = block["n"] + block["errors"]
    return float(block["phases"]["rollout"]["tokens"]["prompt"] / tasks) if tasks else 0.0
