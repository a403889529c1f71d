"""Figures published in the papers, for the reference rows beside ours; `reference.toml` has them.

They come from other models, other samples and sometimes other data, so they are not comparable with ours. Always holds:
every figure names the acting model, the paper, and its table or section and row; nothing here enters a statistic.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

Unit = Literal["%", "score", "pass^3", "pass@3", "source", "points a note", "total"]
_FILE = Path(__file__).with_name("reference.toml")


class _Printed(BaseModel):
    """The fields of every figure.

    `condition` is the name of our equivalent condition, so that rows can be put side by side; without an equivalent, it
    is another name. `place` is the table, figure or section of the paper, `row` the name of the row there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str
    condition: str
    paper: str
    model: str
    place: str
    row: str

    @property
    def source(self) -> str:
        """The origin of the figure: "gpt-3.5-turbo, paper"."""
        return f"{self.model}, paper"


class Reference(_Printed):
    """One published figure.

    `value` is in percent (unit "%") or a mean score of 0..1 (unit "score"), `error` in the same unit; `lessons` is the
    size of the pool, if it is printed. Other units name other columns of a table, and `what` a column of costs. `trial`
    is set if tasks were tried again (0: the first attempt), `category` if the figure is of a part of the tasks.
    """

    value: float
    error: float | None = None
    unit: Unit = "%"
    lessons: int | None = None
    trial: int | None = None
    category: str = ""
    what: str = ""


class Steps(_Printed):
    """The mean number of thoughts, actions, observations and invalid actions per attempt (ExpeL, table 6), with the
    tokens of the attempt, and of its thoughts, actions and observations."""

    thoughts: float
    actions: float
    observations: float
    invalid: float
    tokens: float
    thought_tokens: float
    action_tokens: float
    observation_tokens: float


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid")

    row: str
    condition: str
    values: tuple[float, ...]
    errors: tuple[float, ...] | None = None
    lessons: tuple[int, ...] | None = None


class Block(BaseModel):
    """A table or a passage of a paper, as the head of `reference.toml` describes it."""

    model_config = ConfigDict(extra="forbid")

    paper: str
    model: str
    place: str
    unit: Unit = "%"
    along: Literal["benchmark", "trial", "category", "steps", "cost"]
    benchmark: str = ""
    columns: tuple[int | str, ...]
    rows: tuple[_Row, ...]

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        for row in self.rows:
            if {len(row.values), len(row.errors or row.values), len(row.lessons or row.values)} != {len(self.columns)}:
                raise ValueError(f"{self.paper}, {self.place}, {row.row}: expected as many figures as columns")
        return self

    def figures(self) -> Iterator[Reference | Steps]:
        """The figures, row by row."""
        for row in self.rows:
            known = {"paper": self.paper, "model": self.model, "place": self.place, "benchmark": self.benchmark}
            known |= {"row": row.row, "condition": row.condition}
            if self.along == "steps":
                yield Steps.model_validate(known | dict(zip(self.columns, row.values, strict=True)))
                continue
            for i, column in enumerate(self.columns):
                optional = {"error": row.errors and row.errors[i], "lessons": row.lessons and row.lessons[i]}
                column_field: dict[str, int | str] = {"what" if self.along == "cost" else self.along: column}
                figure = {"value": row.values[i], "unit": self.unit, **optional, **column_field}
                yield Reference.model_validate(known | figure)


@cache
def blocks() -> tuple[Block, ...]:
    """The tables and passages of the file, in order."""
    return tuple(map(Block.model_validate, tomllib.loads(_FILE.read_text(encoding="utf-8"))["block"]))


@cache
def _all() -> tuple[Reference | Steps, ...]:
    return tuple(figure for block in blocks() for figure in block.figures())


def _of(benchmark: str, *, parts: bool = False) -> list[Reference]:
    """The figures of a benchmark, by its short name in upper or lower case.

    `parts` adds those of its parts, such as "tau2-telecom", with the part as `category`.
    """
    name = benchmark.strip().casefold()
    printed = [one for one in _all() if isinstance(one, Reference)]
    inner = [one for one in printed if parts and one.benchmark.startswith(f"{name}-")]
    of_parts = [one.model_copy(update={"category": one.benchmark.removeprefix(f"{name}-")}) for one in inner]
    return [*(one for one in printed if one.benchmark == name), *of_parts]


def references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of a whole benchmark; if tasks were tried again, those after the last trial."""
    overall = [figure for figure in _of(benchmark) if figure.unit in ("%", "score") and not figure.category]
    last = {(figure.paper, figure.condition): figure.trial for figure in overall}
    return tuple(figure for figure in overall if figure.trial == last[(figure.paper, figure.condition)])


def trial_references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of a benchmark by trial, in order."""
    return tuple(figure for figure in _of(benchmark) if figure.trial is not None)


def category_references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of a benchmark by category; a part, such as "gaia2-search", counts as a category."""
    return tuple(figure for figure in _of(benchmark, parts=True) if figure.category and figure.unit == "%")


def further_references(benchmark: str) -> tuple[Reference, ...]:
    """Other published figures of a benchmark and its parts: over several runs, of source tasks, efficiency, costs."""
    return tuple(figure for figure in _of(benchmark, parts=True) if figure.unit not in ("%", "score"))


def step_references(benchmark: str) -> tuple[Steps, ...]:
    """The published numbers of thoughts, actions and observations per attempt."""
    name = benchmark.strip().casefold()
    return tuple(figure for figure in _all() if isinstance(figure, Steps) and figure.benchmark == name)


def reference_for(benchmark: str, condition: str) -> Reference | None:
    """The published figure of the same benchmark and condition, in percent, if there is one."""
    name = condition.strip().casefold().replace("_", "-")
    figures = (figure for figure in references(benchmark) if figure.unit == "%")
    return next((figure for figure in figures if figure.condition == name), None)
