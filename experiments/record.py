"""How well does the record predict what lessons do? `python experiments/record.py STORE METHOD BASELINE [WAY ..]`.

It uses all runs of a store that compare a learning method with a baseline. A lesson's measured effect is the mean gain
over the baseline at the test and gate tasks where it was shown, minus the mean gain at all of them. It is compared with
the score that the training attempts give the lesson, in each way (words, judge, likelihood), with the bundled model.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

from scipy.stats import spearmanr

from seasoned.lab.run.keys import ALONE, LESSONS
from seasoned.llm.opening import ModelSettings, open_llm
from seasoned.proof.record import WAYS, Way, against_record
from seasoned.store.sql import Store

LEAST = 4
"""The fewest tasks at which a lesson must have been shown for an effect."""


def effects(store: Store, scope: str, method: str, baseline: str) -> dict[str, float]:
    """The measured effect of each lesson of a pool such as `RUN/s0f0/expnote`."""
    block = scope.removesuffix(f"/{method}")
    gate = f"{method}+gate"
    gains = []
    for arm, plain in ((method, baseline), (gate + LESSONS, gate + ALONE)):
        alone = {t.task_id: bool(t.outcome.success) for t in store.trajectories(f"{block}/{plain}/test")}
        gains += [
            (set(t.lesson_ids), bool(t.outcome.success) - alone[t.task_id])
            for t in store.trajectories(f"{block}/{arm}/test")
            if t.task_id in alone
        ]
    mean = sum(gain for _, gain in gains) / max(len(gains), 1)
    known = {}
    for lesson in store.lessons(scope):
        shown_gains = [gain for shown, gain in gains if lesson.id in shown]
        if LEAST <= len(shown_gains) < len(gains):
            known[lesson.id] = sum(shown_gains) / len(shown_gains) - mean
    return known


def main(address: str, method: str, baseline: str, *ways: Way) -> None:
    """Print the rank correlation of score and effect for each way, with n and p."""
    scores: dict[Way, list[float]] = {way: [] for way in ways or WAYS}
    measured: list[float] = []
    with ExitStack() as stack:
        store = stack.enter_context(Store(address))
        model = stack.enter_context(open_llm(ModelSettings())) if set(scores) != {"words"} else None
        for scope in [each for each in store.scopes() if each.endswith(f"/{method}")]:
            known = effects(store, scope, method, baseline)
            lessons = [lesson for lesson in store.lessons(scope) if lesson.id in known]
            attempts = store.trajectories(f"{scope.removesuffix(f'/{method}')}/training")
            if not lessons or not attempts:
                continue
            measured += [known[lesson.id] for lesson in lessons]
            for way, values in scores.items():
                values += [one.score for one in against_record(lessons, attempts, way, model)]
            print(f"{scope}: {len(lessons)} lessons", file=sys.stderr)
    for way, values in scores.items():
        test = spearmanr(values, measured)
        print(f"{way:<11} rho {test.statistic:+.2f}  p {test.pvalue:.2g}  n {len(measured)}")


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
