"""A run's episodes as flat rows, for pandas or as CSV.

Always holds: each episode of `results.jsonl` is one row; only the texts of prompts are left out, which the store has.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.errors import MissingExtraError
from seasoned.lab.report.rows import Row, latest
from seasoned.lab.run.outputs import read_rows

if TYPE_CHECKING:
    import pandas

_NESTED = {"usage", "aside", "others", "lesson_ids", "schema_version"}


def flat_rows(directory: Path | str) -> list[dict[str, Any]]:
    """The episodes of a run, each as one flat dictionary with the same keys.

    Raises:
        DataError: the run's results cannot be read.
    """
    return [_flat(row) for row in latest(read_rows(Path(directory)))]


def to_dataframe(directory: Path | str) -> pandas.DataFrame:
    """Return the episodes of a run as a pandas DataFrame, from the directory that `seasoned.run` returns.

    Raises:
        DataError: the run's results cannot be read.
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("", "pandas", "pip install pandas") from error
    return pandas.DataFrame(flat_rows(directory))


def to_csv(rows: list[dict[str, Any]]) -> str:
    """The rows as CSV with a header line."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(row: Row) -> dict[str, Any]:
    plain = {name: value for name, value in row.model_dump().items() if name not in _NESTED}
    used, aside = row.usage, row.aside
    return {
        **plain,
        "solved": row.solved,
        "counted": row.counted,
        "calls": used.calls,
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cost": used.cost,
        "aside_tokens": aside.tokens,
        "lessons": " ".join(row.lesson_ids),
    }
