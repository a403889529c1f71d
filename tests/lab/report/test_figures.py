from __future__ import annotations

import pytest

from seasoned.lab.report.build import build
from seasoned.lab.report.drawing import BLUE, PALE
from seasoned.lab.report.figures import FIGURES, Figure


def test_the_baseline_is_named_where_it_is_known():
    figure = Figure("Against {baseline}", lambda summary: "", "")
    assert figure.heading(build([], run={}, baseline="few-shot")) == "Against few-shot"
    assert figure.heading(build([], run={}, baseline="")) == "Against the baseline"
    assert figure.svg(build([], run={})) == ""


def test_colours_that_a_dark_page_changes_have_names():
    figure = Figure("x", lambda summary: f"<path style='fill: {PALE}; stroke: {BLUE}'/>", "")
    assert figure.svg(build([], run={})) == f"<path style='fill: var(--pale, {PALE}); stroke: var(--blue, {BLUE})'/>"


def test_every_plot_takes_any_summary_and_no_title_stands_twice(summary, retried_summary):
    pytest.importorskip("matplotlib")
    for given in (summary, retried_summary):
        drawn = [figure.heading(given) for figure in FIGURES if figure.svg(given)]
        assert {"Accuracy", "Tokens"} < set(drawn)
        assert len(set(drawn)) == len(drawn)


def test_heuristics_are_drawn_by_origin_and_against_trajectories(guided_summary):
    pytest.importorskip("matplotlib")
    drawn = [figure.title for figure in FIGURES if figure.svg(guided_summary)]
    assert {"Heuristics from successes and failures", "Heuristics against trajectories"} < set(drawn)


def test_what_is_counted_by_seed_fold_and_run_is_called_episodes():
    assert not [figure.title for figure in FIGURES if "Numbers are tasks" in figure.caption]
