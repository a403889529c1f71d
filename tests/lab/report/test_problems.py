from __future__ import annotations

import pytest

from seasoned.lab.report.html import render
from seasoned.lab.report.problems import LearnedPool, place, with_problems
from seasoned.lab.report.summary import build
from seasoned.types import Usage

NAMES = ("expel", "expel-insights")


@pytest.fixture
def summary(make_row):
    rows = [
        make_row(name, f"t{fold}{i}", fold=fold, success=True, trained_on=6 * (name != "react"))
        for name in ("react", *NAMES)
        for fold in (0, 1)
        for i in range(2)
    ]
    learning = {name: Usage(calls=3) for name in NAMES}
    return build(rows, run={}, baseline="react", learning=learning)


def test_problems_are_counted_by_condition_and_listed_by_pool(summary):
    said = "Insights from the comparison of a, b: UPVOTE 7: it names none of the 2 insights, so it is passed over"
    pools = [LearnedPool(NAMES, 0, 0, 3, (said, "<b>more</b>")), LearnedPool(NAMES, 0, 1, 2)]
    found = with_problems(summary, pools)
    counts = {block["name"]: (block["learning"] or {}).get("problems") for block in found["conditions"]}
    assert counts == {"react": None, "expel": 2, "expel-insights": 2}
    assert found["problems"] == [
        {"conditions": list(NAMES), "seed": 0, "fold": 0, "problems": [said, "<b>more</b>"]},
    ]
    assert found["remarks"] == summary["remarks"]
    assert "problems" not in summary
    page = render(found, [])
    assert "<summary>ExpeL, ExpeL-insights, fold 0: 2</summary>" in page
    assert said in page
    assert "&lt;b&gt;more" in page
    assert "What learning passed over" not in render(summary, [])


def test_who_learned_nothing_is_named_with_the_reason(summary):
    why = "none of the 6 attempts succeeded, so there is nothing to learn insights from"
    pools = [LearnedPool(NAMES, 0, 0, 0, (why,)), LearnedPool(NAMES, 0, 1, 2), LearnedPool(("erl",), 0, 1, 0)]
    assert with_problems(summary, pools)["remarks"][-2:] == [
        f"ExpeL, ExpeL-insights learned no lesson in fold 0: {why}.",
        "ERL learned no lesson in fold 1: nothing that could be used came back.",
    ]
    (remark,) = with_problems(summary, pools[:1])["remarks"][len(summary["remarks"]) :]
    assert remark.startswith("ExpeL, ExpeL-insights learned no lesson: none of the 6")


@pytest.mark.parametrize(
    ("among", "says"),
    [([(1, 2)], ""), ([(1, 2), (1, 0)], "fold 2"), ([(1, 2), (0, 2)], "seed 1"), ([(1, 2), (0, 0)], "seed 1, fold 2")],
)
def test_a_pool_is_told_from_the_others(among, says):
    assert place(1, 2, among) == says
