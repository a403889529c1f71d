"""The figures that the papers print, for the reference rows beside ours.

They were measured with other models, on other samples and sometimes other data: a reference, never a rival. Always
holds: every figure names the model that acted and the paper it is from; nothing here enters a statistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_EXPNOTE = ("ExpNote", "gpt-3.5-turbo")
_EXPEL = ("ExpeL", "gpt-3.5-turbo-0613")
_REFLEXION = ("Reflexion", "GPT-3 / GPT-3.5")
_ERL = ("ERL", "GPT-5-mini")


@dataclass(frozen=True)
class Reference:
    """One published figure.

    `value` is in percent (unit "%") or a mean score of 0..1 (unit "score"), `error` in the same unit. `condition` is
    spelled as ours are, so that rows can be put side by side (what we have no condition for keeps a name of its own);
    `lessons` is the size of the pool, where it is printed.
    `trial` is set where tasks were tried again (0: the first attempt), `category` where a part of them is meant.
    """

    benchmark: str
    condition: str
    value: float
    paper: str
    model: str
    error: float | None = None
    unit: Literal["%", "score"] = "%"
    lessons: int | None = None
    trial: int | None = None
    category: str = ""

    @property
    def source(self) -> str:
        """Whose figure it is: "gpt-3.5-turbo, paper"."""
        return f"{self.model}, paper"


@dataclass(frozen=True)
class Steps:
    """What an attempt consisted of on average (ExpeL, table 6): thoughts, actions, actions that were invalid; and the
    tokens of its thoughts, actions and observations."""

    condition: str
    thoughts: float
    actions: float
    invalid: float
    thought_tokens: float
    action_tokens: float
    observation_tokens: float
    source: str = f"{_EXPEL[1]}, paper"


def references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of one benchmark, by its short name in any case; none for one we know nothing of.

    Where tasks were tried again, that is the figure after the last trial.
    """
    whole = [figure for figure in _of(benchmark) if not figure.category]
    last = {(figure.paper, figure.condition): figure.trial for figure in whole}
    return tuple(figure for figure in whole if figure.trial == last[(figure.paper, figure.condition)])


def trial_references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of a benchmark by trial, in order."""
    return tuple(figure for figure in _of(benchmark) if figure.trial is not None)


def category_references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of a benchmark by category."""
    return tuple(figure for figure in _of(benchmark) if figure.category)


def step_references(benchmark: str) -> tuple[Steps, ...]:
    """What attempts of the papers' agents consisted of."""
    return _STEPS.get(benchmark.strip().casefold(), ())


def reference_for(benchmark: str, condition: str) -> Reference | None:
    """The figure of the same benchmark and condition, in percent, if a paper printed one."""
    name = condition.strip().casefold().replace("_", "-")
    figures = (figure for figure in references(benchmark) if figure.unit == "%")
    return next((figure for figure in figures if figure.condition == name), None)


def _of(benchmark: str) -> list[Reference]:
    wanted = benchmark.strip().casefold()
    return [figure for figure in _ALL if figure.benchmark == wanted]


def _expnote() -> list[Reference]:
    """ExpNote, tables 1 and 2: 100 test cases each; in brackets there, and `lessons` here, the notes in the memory."""
    benchmarks = ("clutrr", "mets", "emoji", "lets")
    accuracy = {
        "zero-shot": (36, 23, 34, 35),
        "few-shot": (44, 61, 47, 1),
        "cot": (40, 54, 54, 60),
        "teachme": (31, 51, 56, 56),
        "reflexion": (54, 62, 71, 68),
        "disabled": (35, 49, 57, 50),
        "case": (49, 59, 58, 51),
        "positive": (51, 56, 66, 64),
        "negative": (55, 52, 60, 71),
        "expnote": (61, 66, 74, 89),
    }
    lessons = {
        "disabled": (0, 0, 0, 0),
        "case": (128, 279, 20, 87),
        "positive": (73, 166, 14, 41),
        "negative": (55, 113, 6, 46),
        "expnote": (128, 279, 20, 87),
    }
    return [
        Reference(benchmark, name, values[i], *_EXPNOTE, lessons=lessons[name][i] if name in lessons else None)
        for i, benchmark in enumerate(benchmarks)
        for name, values in accuracy.items()
    ]


def _expel() -> list[Reference]:
    """ExpeL, figure 5 and tables 1 and 3: mean and standard error over the folds where they are printed.

    `given` is FEVER with insights that were adapted from HotpotQA.
    """
    figures: dict[str, list[tuple[str, float, float | None]]] = {
        "hotpotqa": [
            ("react", 28.0, 1.4),
            ("expel", 39.0, 1.7),
            ("expel-insights", 36.0, None),
            ("expel-retrieve", 31.0, None),
            ("hand-crafted", 32.0, 1.1),
            ("expel-reflections", 29.0, 0.4),
            ("gpt-3.5-insights", 32.0, 0.4),
        ],
        "alfworld": [
            ("react", 40.0, 0.3),
            ("expel", 59.0, 0.3),
            ("expel-insights", 50.0, None),
            ("expel-retrieve", 55.0, None),
            ("expel-reasoning", 48.5, 2.1),
            ("expel-random", 42.5, 0.8),
        ],
        "webshop": [("expel-insights", 37.0, None), ("expel-retrieve", 38.0, None)],
        "fever": [
            ("act", 58.0, 0.0),
            ("react", 63.0, 0.4),
            ("transfer-without-demos", 65.0, 1.7),
            ("given", 70.0, 0.7),
        ],
    }
    found = [
        Reference(benchmark, name, value, *_EXPEL, error=error)
        for benchmark, rows in figures.items()
        for name, value, error in rows
    ]
    scores = {"act": 0.666, "react": 0.665, "expel-insights": 0.675, "expel-retrieve": 0.67, "expel": 0.701}
    scores["imitation"] = 0.599
    found += [Reference("webshop", name, value, *_EXPEL, unit="score") for name, value in scores.items()]
    return found


def _expel_trials() -> list[Reference]:
    """ExpeL, table 2 (attempts again at evaluation, R0 to R3), and Reflexion's R3 on HotpotQA (section 5.2)."""
    figures = {
        "reflexion": (40.3, 47.8, 52.2, 54.4),
        "expel-retrieve-reflexion": (54.5, 57.5, 59.7, 60.4),
        "expel-reflexion": (59.0, 60.4, 63.4, 64.2),
    }
    found = [
        Reference("alfworld", name, value, *_EXPEL, trial=trial)
        for name, values in figures.items()
        for trial, value in enumerate(values)
    ]
    return [*found, Reference("hotpotqa", "reflexion", 40.0, *_EXPEL, trial=3)]


def _expel_categories() -> list[Reference]:
    """ExpeL, table 5: ALFWorld by kind of task (`examine` is called look there). Imitation is from the ReAct paper."""
    kinds = ("put", "clean", "heat", "cool", "examine", "puttwo")
    figures = {
        "imitation": (46, 39, 74, 100, 22, 6),
        "act": (46, 39, 4, 48, 11, 0),
        "react": (50, 61, 13, 71, 0, 29),
        "expel-insights": (61, 87, 12, 76, 0, 29),
        "expel-retrieve": (73, 74, 43, 71, 17, 29),
        "expel": (83, 74, 43, 67, 39, 29),
    }
    return [
        Reference("alfworld", name, value, *_EXPEL, category=kind)
        for name, values in figures.items()
        for kind, value in zip(kinds, values, strict=True)
    ]


def _reflexion() -> list[Reference]:
    """Reflexion, sections 3.1, 3.2 and 4.4: the first trial and the last, with reflections and without (`retry`).

    How many trials of ALFWorld without reflections led to 75 percent is not printed.
    """
    figures: list[tuple[str, str, dict[int | None, float]]] = [
        ("hotpotqa", "retry", {0: 34, 6: 34}),
        ("hotpotqa", "reflexion", {0: 32, 6: 54}),
        ("alfworld", "retry", {0: 63, None: 75}),
        ("alfworld", "reflexion", {0: 63, 11: 97}),
        ("webshop", "retry", {0: 33, 3: 34}),
        ("webshop", "reflexion", {0: 33, 3: 35}),
    ]
    return [
        Reference(benchmark, name, value, *_REFLEXION, trial=trial)
        for benchmark, name, values in figures
        for trial, value in values.items()
    ]


def _erl() -> list[Reference]:
    """ERL: Gaia2 Search and Execution and overall, and table 1 (tau2-bench by domain)."""
    gaia: dict[str, list[tuple[str, float]]] = {
        "gaia2-search": [("react", 53.6), ("erl", 60.7), ("autoguide", 61.9)],
        "gaia2-execution": [("react", 43.1), ("erl", 51.4), ("autoguide", 39.6)],
        "gaia2": [
            ("react", 48.3),
            ("erl", 56.1),
            ("expel", 50.9),
            ("few-shot-trajectories", 46.4),
            ("erl-no-reward", 51.2),
        ],
        "tau2-airline": [("react", 36.7), ("erl", 38.3)],
        "tau2-retail": [("react", 43.3), ("erl", 47.5)],
        "tau2-telecom": [("react", 30.0), ("erl", 28.3)],
        "tau2": [("react", 36.7), ("erl", 38.0)],
    }
    gaia["gaia2-search"].append(("erl-iterative", 54.8))
    gaia["gaia2-execution"].append(("erl-iterative", 46.5))
    return [Reference(benchmark, name, value, *_ERL) for benchmark, rows in gaia.items() for name, value in rows]


_ALL = (*_expnote(), *_expel(), *_expel_trials(), *_expel_categories(), *_reflexion(), *_erl())

_STEPS = {
    "hotpotqa": (
        Steps("act", 0.0, 5.08, 0.0, 0.0, 58.79, 445.72),
        Steps("react", 5.19, 5.18, 0.0, 192.51, 68.07, 625.46),
        Steps("expel-insights", 5.28, 5.04, 0.01, 231.48, 71.4, 560.42),
        Steps("expel-retrieve", 4.65, 4.63, 0.01, 176.71, 60.34, 496.69),
        Steps("expel", 5.02, 4.8, 0.03, 212.13, 66.41, 547.23),
    ),
    "alfworld": (
        Steps("act", 0.0, 11.13, 6.25, 0.0, 81.19, 416.46),
        Steps("react", 8.96, 14.82, 2.84, 282.28, 104.14, 393.16),
        Steps("expel-insights", 7.57, 14.0, 2.34, 241.62, 98.98, 384.54),
        Steps("expel-retrieve", 7.9, 13.08, 1.95, 260.27, 93.75, 376.1),
        Steps("expel", 8.16, 14.3, 2.32, 262.66, 100.78, 393.19),
    ),
    "webshop": (
        Steps("act", 0.0, 4.32, 0.16, 0.0, 43.8, 41.52),
        Steps("react", 3.08, 4.47, 0.42, 116.41, 45.33, 58.27),
        Steps("expel-insights", 3.26, 4.72, 0.26, 118.8, 50.39, 58.97),
        Steps("expel-retrieve", 2.91, 4.24, 0.61, 103.52, 44.35, 56.66),
        Steps("expel", 3.2, 4.33, 0.35, 111.51, 44.99, 57.23),
    ),
}
