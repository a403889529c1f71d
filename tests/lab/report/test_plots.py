from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from seasoned.lab.report import plots
from seasoned.lab.report.build import build
from seasoned.lab.report.drawing import BLUE, PALE
from seasoned.lab.report.plots import FIGURES, audit_bars, draw_figures
from seasoned.lab.report.summary import Run, Summary

PLAIN = [plots.accuracy_bars, plots.learning_curve, plots.transitions_bars, plots.tokens_bars]
RETRIED = [plots.solved_by_trial, plots.failures_by_trial, plots.outcome_bars, plots.mean_bars]


def _texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture(scope="module")
def drawn(summary: Summary, retried_summary: Summary) -> dict[str, str]:
    plain = {plot.__name__: plot(summary) for plot in PLAIN}
    return plain | {plot.__name__: plot(retried_summary) for plot in RETRIED}


@pytest.mark.parametrize("plot", [*PLAIN, *RETRIED])
def test_a_plot_is_one_inert_svg_and_always_the_same(plot, summary: Summary, retried_summary: Summary, drawn):
    svg = drawn[plot.__name__]
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert len(root.get("aria-label")) > 20
    assert "<script" not in svg
    assert "<metadata" not in svg
    assert "<style" not in svg
    assert "#010203" not in svg
    assert "currentColor" in svg
    assert plot(summary if plot in PLAIN else retried_summary) == svg


def test_ids_of_two_plots_never_meet(drawn):
    ids = [{element.get("id") for element in ET.fromstring(svg).iter()} - {None} for svg in drawn.values()]
    assert sum(map(len, ids)) == len(set.union(*ids))
    for svg in drawn.values():
        wanted = {part.split(")")[0] for part in svg.split("url(#")[1:]} | {
            part.split('"')[0] for part in svg.split('href="#')[1:]
        }
        assert wanted <= {element.get("id") for element in ET.fromstring(svg).iter()}


def test_the_bars_say_their_figures_and_whose_the_marks_are(drawn):
    texts = _texts(drawn["accuracy_bars"])
    assert "74% (88/119)" in [" ".join(text.split()) for text in texts]
    assert "ExpNote" in texts
    assert any("gpt-3.5-turbo, paper (another model)" in text for text in texts)


def test_an_unknown_benchmark_has_no_marks(summary: Summary):
    svg = plots.accuracy_bars(summary.model_copy(update={"run": Run(benchmark="mine")}))
    assert "paper" not in svg


def test_the_curve_needs_two_points_of_its_own(make_row, drawn):
    texts = _texts(drawn["learning_curve"])
    assert {"0", "15", "30", "60", "training cases"} <= set(texts)
    rows = [make_row("disabled", success=False), make_row("expnote", success=True, trained_on=60)]
    assert plots.learning_curve(build(rows, run={})) == ""


def test_the_curve_has_a_star_for_lessons_from_no_training_case(make_row):
    rows = [make_row("react", success=False)]
    rows += [make_row("expel", success=True, trained_on=n) for n in (5, 9)]
    worked = make_row("expel-worked", success=False, lesson_ids=("les-1",))
    alone = plots.learning_curve(build(rows, run={}))
    drawn = plots.learning_curve(build([*rows, worked], run={}))
    assert "ExpeL-worked" not in alone
    assert "ExpeL-worked" in drawn
    told = [point for point in build([*rows, worked], run={}).curve if point.condition == "expel-worked"]
    assert [(point.trained_on, point.successes, point.n) for point in told] == [(0, 0, 1)]
    assert plots.learning_curve(build([rows[0], rows[1], worked], run={})) == ""


def test_the_segments_say_how_many_tasks(summary: Summary, drawn):
    moved = next(one for one in summary.transitions if one.condition == "expnote")
    texts = _texts(drawn["transitions_bars"])
    assert {str(moved.ft), str(moved.tt)} <= set(texts)


def test_nothing_to_draw_is_nothing():
    empty = build([], run={})
    assert [plot(empty) for plot in (*PLAIN, *RETRIED)] == [""] * 8


def test_any_name_can_be_drawn(make_row):
    names = ["$x^$ & <script>alert(1)</script>", "مرحبا", '情緒\x00"', "_hidden" * 20]
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    rows = [make_row("disabled", success=False, usage=usage)]
    rows += [make_row(name, success=True, trained_on=n, usage=usage) for name in names for n in (5, 9)]
    tried = [
        make_row(name, f"t{i}", fold=i % 2, success=False, reason=reason, trial=trial)
        for name in names
        for i, reason in enumerate(("loop", "answered", name, "step_limit"))
        for trial in range(2)
    ]
    for plots_of, given in ((PLAIN, rows), (RETRIED, tried)):
        found = build(given, run={"benchmark": names[0]})
        for plot in plots_of:
            drawn = plot(found)
            assert ET.fromstring(drawn) is not None
            assert "<script" not in drawn


def test_heuristics_by_what_they_come_from(guided_summary, make_row):
    svg = plots.origins_bars(guided_summary)
    spoken = ET.fromstring(svg).get("aria-label")
    assert "put: ReAct 25%, ERL-success 75%, ERL-failure 25%, ERL 75%" in spoken
    assert "all: ReAct 25%, ERL-success 62%, ERL-failure 12%, ERL 75%" in spoken
    texts = [" ".join(text.split()) for text in _texts(svg)]
    assert {"put", "clean", "all", "ERL-failure", "62% (5/8)"} <= set(texts)
    assert plots.origins_bars(guided_summary) == svg
    assert plots.origins_bars(build([make_row("erl", success=True)], run={})) == ""
    one = guided_summary.origins[0].model_copy(update={"category": "$x^$ & <script>alert(1)</script>"})
    assert "<script" not in plots.origins_bars(guided_summary.model_copy(update={"origins": [one] * 30}))


def test_guidance_tokens_and_what_was_solved(guided_summary):
    svg = plots.guidance_points(guided_summary)
    spoken = ET.fromstring(svg).get("aria-label")
    assert "few-shot-trajectories 38% with 20; ERL-matched 50% with 15; ERL 75% with 30" in spoken
    assert {"38% (3/8)", "ERL-matched", "guidance tokens of an attempt, mean"} <= set(_texts(svg))
    unknown = [one.model_copy(update={"guidance_tokens": None}) for one in guided_summary.guidance]
    assert plots.guidance_points(guided_summary.model_copy(update={"guidance": unknown})) == ""


def test_accuracy_by_number_of_heuristics(make_row):
    rows = [make_row(f"erl-k{k}", str(task), success=task < k) for k in (10, 3, 1) for task in range(4)]
    svg = plots.heuristics_curve(build(rows, run={}))
    assert "25% with 1, 75% with 3, 100% with 10" in ET.fromstring(svg).get("aria-label")
    assert plots.heuristics_curve(build(rows[:4], run={})) == ""
    again = [row.model_copy(update={"repeat": 1, "success": False}) for row in rows]
    svg = plots.heuristics_curve(build([*rows, *again], run={}))
    assert "12% with 1, 38% with 3, 50% with 10" in ET.fromstring(svg).get("aria-label")


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
    block = next(one for one in retried_summary.conditions if one.name == "reflexion")
    assert (block.mean, block.error) == (pytest.approx(7 / 12), pytest.approx(1 / 12))
    texts = _texts(drawn["mean_bars"])
    assert "58.3 ± 8.3" in texts
    assert "papers (other models)" in texts


def test_no_trials_are_no_plots(make_row):
    rows = [make_row(success=True), make_row("expnote", success=False, trained_on=3)]
    assert [plot(build(rows, run={})) for plot in RETRIED] == [""] * 4


def test_a_hundred_trials_are_drawn_in_a_page(make_row):
    rows = [make_row("reflexion", success=False, reason="loop", trial=trial) for trial in range(100)]
    found = build(rows, run={})
    assert len(_texts(plots.failures_by_trial(found))) < 80
    assert len(_texts(plots.solved_by_trial(found))) < 60


def test_pass_at_k_and_pass_hat_k(make_row):
    rows = [
        make_row("erl", str(task), success=turn in (task, 0), repeat=turn) for task in range(3) for turn in range(3)
    ]
    svg = plots.reliability_lines(build(rows, run={}))
    assert "pass@3 100%, pass^3 0%" in ET.fromstring(svg).get("aria-label")
    assert {"k, runs of a task", "1", "2", "3"} <= set(_texts(svg))
    assert len(re.findall(r'id="reliability-LineCollection', svg)) == 2  # the whiskers of both
    assert plots.reliability_lines(build(rows[::3], run={})) == ""


@pytest.fixture
def audited(make_row):
    names = {"disabled": 2, "expnote": 8, "expnote+shuffled": 1, "expnote+blank": 2}
    rows = [
        make_row(condition=name, task_id=f"t{n}", success=n < solved)
        for name, solved in names.items()
        for n in range(10)
    ]
    return build(rows, run={"benchmark": "emoji", "conditions": list(names)})


def test_an_audit_has_a_bar_for_each_alteration(audited):
    svg = audit_bars(audited)
    assert ET.fromstring(svg).get("aria-label") == (
        "Audit: ExpNote, as learned 80%, blank 20%, shuffled among tasks 10%."
    )
    texts = _texts(svg)
    assert {"80%  (8/10)", "20%  (2/10)", "10%  (1/10)"} <= set(texts)
    assert any("disabled" in text for text in texts)
    assert svg == audit_bars(audited)
    assert any(plot is audit_bars for _, plot, _ in FIGURES)


def test_without_an_audit_there_is_no_picture(audited):
    kept = tuple(one for one in audited.conditions if "+" not in one.name)
    assert audit_bars(audited.model_copy(update={"conditions": kept})) == ""


def test_a_figure_names_the_baseline_and_one_without_data_is_left_out(monkeypatch):
    monkeypatch.setattr(plots, "FIGURES", (("Against {baseline}", lambda _: "<svg/>", "x"), ("None", lambda _: "", "")))
    assert draw_figures(build([], run={}, baseline="few-shot")) == [("Against few-shot", "<svg/>", "x")]
    assert draw_figures(build([], run={}, baseline="")) == [("Against the baseline", "<svg/>", "x")]


def test_colours_that_a_dark_page_changes_have_names(monkeypatch):
    monkeypatch.setattr(plots, "FIGURES", (("x", lambda _: f"<path style='fill: {PALE}; stroke: {BLUE}'/>", ""),))
    ((_, svg, _),) = draw_figures(build([], run={}))
    assert svg == f"<path style='fill: var(--pale, {PALE}); stroke: var(--blue, {BLUE})'/>"


def test_every_plot_takes_any_summary_and_no_title_stands_twice(summary, retried_summary):
    pytest.importorskip("matplotlib")
    for given in (summary, retried_summary):
        drawn = [title for title, *_ in draw_figures(given)]
        assert {"Accuracy", "Tokens"} < set(drawn)
        assert len(set(drawn)) == len(drawn)


def test_heuristics_are_drawn_by_origin_and_against_trajectories(guided_summary):
    pytest.importorskip("matplotlib")
    drawn = [title for title, *_ in draw_figures(guided_summary)]
    assert {"Heuristics from successes and failures", "Heuristics against trajectories"} < set(drawn)


def test_what_is_counted_by_seed_fold_and_run_is_called_episodes():
    assert not [title for title, _, caption in FIGURES if "Numbers are tasks" in caption]
