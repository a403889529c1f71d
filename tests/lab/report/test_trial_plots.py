from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from seasoned.lab.report import trial_plots
from seasoned.lab.report.summary import build

ALL = [trial_plots.solved_by_trial, trial_plots.failures_by_trial, trial_plots.outcome_bars, trial_plots.mean_bars]


def _texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture(scope="module")
def drawn(retried_summary):
    return {plot.__name__: plot(retried_summary) for plot in ALL}


@pytest.mark.parametrize("plot", ALL)
def test_a_plot_is_one_inert_svg_and_always_the_same(plot, retried_summary, drawn):
    svg = drawn[plot.__name__]
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert len(root.get("aria-label")) > 20
    assert "<script" not in svg
    assert "#010203" not in svg
    assert plot(retried_summary) == svg


def test_the_lines_end_in_their_figures(drawn):
    texts = _texts(drawn["solved_by_trial"])
    assert {"58", "42", "50", "R0", "R3", "Reflexion", "retry", "gathering"} <= set(texts)
    assert "Reflexion 33%, 50%, 58%, 58%" in ET.fromstring(drawn["solved_by_trial"]).get("aria-label")


def test_loops_are_kept_apart_from_running_out_of_steps(drawn):
    texts = _texts(drawn["failures_by_trial"])
    assert {"in a loop", "out of steps", "wrong answer", "Reflexion R0", "Reflexion R3"} <= set(texts)
    assert "stopped otherwise" not in texts
    spoken = ET.fromstring(drawn["failures_by_trial"]).get("aria-label")
    assert "Reflexion R3: in a loop 2, out of steps 2, wrong answer 1" in spoken


def test_outcomes_are_solved_failed_and_halted(drawn):
    spoken = ET.fromstring(drawn["outcome_bars"]).get("aria-label")
    assert "Reflexion: solved 7, failed 1, halted 4" in spoken
    assert "gathering: solved 6" in spoken


def test_means_have_their_error_and_the_papers(drawn, retried_summary):
    block = next(one for one in retried_summary["conditions"] if one["name"] == "reflexion")
    assert (block["mean"], block["error"]) == (pytest.approx(7 / 12), pytest.approx(1 / 12))
    texts = _texts(drawn["mean_bars"])
    assert "58.3 ± 8.3" in texts
    assert "papers (other models)" in texts


def test_nothing_to_draw_is_nothing(make_row):
    rows = [make_row(success=True), make_row("expnote", success=False, trained_on=3)]
    for found in (build([], run={}), build(rows, run={})):
        assert [plot(found) for plot in ALL] == [""] * 4


@pytest.mark.parametrize("name", ["$x^$ & <script>alert(1)</script>", "مرحبا", '情緒\x00"', "_hidden" * 20])
def test_any_name_can_be_drawn(make_row, name):
    rows = [
        make_row(name, f"t{i}", fold=i % 2, success=False, reason=reason, trial=trial)
        for i, reason in enumerate(("loop", "answered", name, "step_limit"))
        for trial in range(2)
    ]
    found = build(rows, run={"benchmark": name})
    for plot in ALL:
        assert ET.fromstring(plot(found)) is not None
        assert "<script" not in plot(found)


def test_a_hundred_trials_are_drawn_in_a_page(make_row):
    rows = [make_row("reflexion", success=False, reason="loop", trial=trial) for trial in range(100)]
    found = build(rows, run={})
    assert len(_texts(trial_plots.failures_by_trial(found))) < 80
    assert len(_texts(trial_plots.solved_by_trial(found))) < 60


def test_pass_at_k_and_pass_hat_k(make_row):
    rows = [
        make_row("erl", str(task), success=turn in (task, 0), repeat=turn) for task in range(3) for turn in range(3)
    ]
    svg = trial_plots.reliability_lines(build(rows, run={}))
    assert "pass@3 100%, pass^3 0%" in ET.fromstring(svg).get("aria-label")
    assert {"k, runs of a task", "1", "2", "3"} <= set(_texts(svg))
    assert len(re.findall(r'id="reliability-LineCollection', svg)) == 2  # the whiskers of both
    assert trial_plots.reliability_lines(build(rows[::3], run={})) == ""
