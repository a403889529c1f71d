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
    spelled as ours are, so that rows can be put side by side; `lessons` is the size of the pool, where it is printed.
    """

    benchmark: str
    condition: str
    value: float
    paper: str
    model: str
    error: float | None = None
    unit: Literal["%", "score"] = "%"
    lessons: int | None = None

    @property
    def source(self) -> str:
        """Whose figure it is: "gpt-3.5-turbo, paper"."""
        return f"{self.model}, paper"


def references(benchmark: str) -> tuple[Reference, ...]:
    """The published figures of one benchmark, by its short name in any case; none for one we know nothing of."""
    wanted = benchmark.strip().casefold()
    return tuple(figure for figure in _ALL if figure.benchmark == wanted)


def reference_for(benchmark: str, condition: str) -> Reference | None:
    """The figure of the same benchmark and condition, in percent, if a paper printed one."""
    name = condition.strip().casefold().replace("_", "-")
    figures = (figure for figure in references(benchmark) if figure.unit == "%")
    return next((figure for figure in figures if figure.condition == name), None)


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
    """ExpeL, figure 5 and tables 1 to 3 and 5: mean and standard error over two folds where they are printed."""
    figures: dict[str, list[tuple[str, float, float | None]]] = {
        "hotpotqa": [
            ("react", 28.0, 1.4),
            ("expel", 39.0, 1.7),
            ("expel-insights", 36.0, None),
            ("expel-retrieve", 31.0, None),
            ("reflexion", 40.0, None),
            ("hand-crafted", 32.0, 1.1),
            ("with-reflections", 29.0, 0.4),
            ("gpt-3.5-insights", 32.0, 0.4),
        ],
        "alfworld": [
            ("react", 40.0, 0.3),
            ("expel", 59.0, 0.3),
            ("expel-insights", 50.0, None),
            ("expel-retrieve", 55.0, None),
            ("reflexion", 54.4, None),
            ("reasoning-similarity", 48.5, None),
            ("random", 42.5, None),
            ("expel-r1", 60.4, None),
            ("expel-r2", 63.4, None),
            ("expel-r3", 64.2, None),
        ],
        "webshop": [("expel-insights", 37.0, None), ("expel-retrieve", 38.0, None)],
        "fever": [
            ("act", 58.0, 0.0),
            ("react", 63.0, 0.4),
            ("transfer-without-demos", 65.0, 1.7),
            ("transfer", 70.0, 0.7),
        ],
    }
    found = [
        Reference(benchmark, name, value, *_EXPEL, error=error)
        for benchmark, rows in figures.items()
        for name, value, error in rows
    ]
    scores = {"act": 0.666, "react": 0.665, "expel-insights": 0.675, "expel-retrieve": 0.67, "expel": 0.701}
    found += [Reference("webshop", name, value, *_EXPEL, unit="score") for name, value in scores.items()]
    return found


def _reflexion() -> list[Reference]:
    """Reflexion: the first trial and the last (7 trials on HotpotQA, 12 on ALFWorld)."""
    figures = {"hotpotqa": (34, 7, 54), "alfworld": (63, 12, 97)}
    found = []
    for benchmark, (first, trials, last) in figures.items():
        found.append(Reference(benchmark, "reflexion-trial-1", first, *_REFLEXION))
        found.append(Reference(benchmark, f"reflexion-trial-{trials}", last, *_REFLEXION))
    return found


def _erl() -> list[Reference]:
    """ERL: Gaia2 Search and Execution and overall, and table 1 (tau2-bench by domain)."""
    gaia: dict[str, list[tuple[str, float]]] = {
        "gaia2-search": [("baseline", 53.6), ("erl", 60.7), ("autoguide", 61.9)],
        "gaia2-execution": [("baseline", 43.1), ("erl", 51.4), ("autoguide", 39.6)],
        "gaia2": [
            ("baseline", 48.3),
            ("erl", 56.1),
            ("expel", 50.9),
            ("few-shot", 46.4),
            ("erl-no-reward", 51.2),
        ],
        "tau2-airline": [("baseline", 36.7), ("erl", 38.3)],
        "tau2-retail": [("baseline", 43.3), ("erl", 47.5)],
        "tau2-telecom": [("baseline", 30.0), ("erl", 28.3)],
        "tau2": [("baseline", 36.7), ("erl", 38.0)],
    }
    gaia["gaia2-search"].append(("erl-iterative", 54.8))
    gaia["gaia2-execution"].append(("erl-iterative", 46.5))
    return [Reference(benchmark, name, value, *_ERL) for benchmark, rows in gaia.items() for name, value in rows]


_ALL = (*_expnote(), *_expel(), *_reflexion(), *_erl())
