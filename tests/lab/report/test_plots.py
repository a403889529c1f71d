from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from seasoned.errors import MissingExtraError
from seasoned.lab.report import plots
from seasoned.lab.report.summary import build

ALL = [plots.accuracy_bars, plots.learning_curve, plots.transitions_bars, plots.tokens_bars]


def _texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture(scope="module")
def drawn(summary: dict[str, Any]) -> dict[str, str]:
    return {plot.__name__: plot(summary) for plot in ALL}


@pytest.mark.parametrize("plot", ALL)
def test_a_plot_is_one_inert_svg_and_always_the_same(plot, summary: dict[str, Any], drawn):
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
    assert plot(summary) == svg


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


def test_an_unknown_benchmark_has_no_marks(summary: dict[str, Any]):
    svg = plots.accuracy_bars({**summary, "run": {"benchmark": "mine"}})
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
    told = [point for point in build([*rows, worked], run={})["curve"] if point["condition"] == "expel-worked"]
    assert [(point["trained_on"], point["successes"], point["n"]) for point in told] == [(0, 0, 1)]
    assert plots.learning_curve(build([rows[0], rows[1], worked], run={})) == ""


def test_the_segments_say_how_many_tasks(summary: dict[str, Any], drawn):
    moved = next(one for one in summary["transitions"] if one["condition"] == "expnote")
    texts = _texts(drawn["transitions_bars"])
    assert {str(moved["F=>T"]), str(moved["T=>T"])} <= set(texts)


def test_nothing_to_draw_is_nothing():
    empty = build([], run={})
    assert [plot(empty) for plot in ALL] == [""] * 4


@pytest.mark.parametrize("name", ["$x^$ & <script>alert(1)</script>", "مرحبا", '情緒\x00"', "_hidden" * 20])
def test_any_name_can_be_drawn(make_row, name):
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    rows = [make_row("disabled", success=False, usage=usage)]
    rows += [make_row(name, success=True, trained_on=n, usage=usage) for n in (5, 9)]
    found = build(rows, run={"benchmark": name})
    for plot in ALL:
        assert ET.fromstring(plot(found)) is not None
        assert "<script" not in plot(found)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, summary: dict[str, Any]):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*seasoned\[eval\]"):
        plots.accuracy_bars(summary)


def test_heuristics_by_what_they_come_from(guided_summary, make_row):
    svg = plots.origins_bars(guided_summary)
    spoken = ET.fromstring(svg).get("aria-label")
    assert "put: ReAct 25%, ERL-success 75%, ERL-failure 25%, ERL 75%" in spoken
    assert "all: ReAct 25%, ERL-success 62%, ERL-failure 12%, ERL 75%" in spoken
    texts = [" ".join(text.split()) for text in _texts(svg)]
    assert {"put", "clean", "all", "ERL-failure", "62% (5/8)"} <= set(texts)
    assert plots.origins_bars(guided_summary) == svg
    assert plots.origins_bars(build([make_row("erl", success=True)], run={})) == ""
    one = {**guided_summary["origins"][0], "category": "$x^$ & <script>alert(1)</script>"}
    assert "<script" not in plots.origins_bars({**guided_summary, "origins": [one] * 30})


def test_guidance_tokens_and_what_was_solved(guided_summary):
    svg = plots.guidance_points(guided_summary)
    spoken = ET.fromstring(svg).get("aria-label")
    assert "few-shot-trajectories 38% with 20; ERL-matched 50% with 15; ERL 75% with 30" in spoken
    assert {"38% (3/8)", "ERL-matched", "guidance tokens of an attempt, mean"} <= set(_texts(svg))
    unknown = [{**one, "guidance_tokens": None} for one in guided_summary["guidance"]]
    assert plots.guidance_points({**guided_summary, "guidance": unknown}) == ""


def test_accuracy_by_number_of_heuristics(make_row):
    rows = [make_row(f"erl-k{k}", str(task), success=task < k) for k in (10, 3, 1) for task in range(4)]
    svg = plots.heuristics_curve(build(rows, run={}))
    assert "25% with 1, 75% with 3, 100% with 10" in ET.fromstring(svg).get("aria-label")
    assert plots.heuristics_curve(build(rows[:4], run={})) == ""
    again = [row.model_copy(update={"repeat": 1, "success": False}) for row in rows]
    svg = plots.heuristics_curve(build([*rows, *again], run={}))
    assert "12% with 1, 38% with 3, 50% with 10" in ET.fromstring(svg).get("aria-label")
