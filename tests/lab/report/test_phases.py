"""What learning, recall and the agent's turns used, apart and together."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from seasoned.lab.report.forms import to_json, to_markdown
from seasoned.lab.report.html import render
from seasoned.lab.report.phases import phases, phases_table
from seasoned.lab.report.rows import Row, judged
from seasoned.lab.report.summary import build, condition_of
from seasoned.lab.report.tables import show
from seasoned.types import Usage

LEARNED = Usage(prompt_tokens=7500, cached_tokens=600, completion_tokens=300, calls=9, cost=2.42, seconds=3.0)


def usage(prompt, cached, out, calls, cost):
    return Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=out, calls=calls, cost=cost)


@pytest.fixture
def rows(make_row):
    """Four tasks: alone 1,000 tokens in and 10 calls each, with heuristics 1,200 and 11, and 100 and 1 to rank them."""
    alone, told, ranked = usage(1000, 820, 40, 10, 0.1), usage(1200, 1056, 40, 11, 0.12), usage(100, 50, 5, 1, 0.01)
    found = []
    for i in range(4):
        found.append(make_row("react", f"t{i}", success=i < 1, usage=alone))
        found.append(make_row("erl", f"t{i}", success=i < 3, trained_on=9, usage=told + ranked, aside=ranked))
    return found


@pytest.fixture
def summary(rows):
    return build(rows, run={}, baseline="react", learning={"erl": LEARNED})


def test_the_parts_add_up(summary):
    parts = condition_of(summary, "erl")["phases"]
    assert parts["learning"]["tokens"] == {"prompt": 7500, "cached": 600, "completion": 300, "total": 7800}
    assert parts["recall"]["tokens"] == {"prompt": 400, "cached": 200, "completion": 20, "total": 420}
    assert parts["rollout"]["tokens"] == {"prompt": 4800, "cached": 4224, "completion": 160, "total": 4960}
    assert [parts[name]["calls"] for name in ("learning", "recall", "rollout", "total")] == [9, 4, 44, 57]
    assert parts["rollout"]["cost"] == pytest.approx(0.48)
    assert parts["total"]["cost"] == pytest.approx(2.94)
    for key in ("prompt", "cached", "completion", "total"):
        three = (parts[name]["tokens"][key] for name in ("learning", "recall", "rollout"))
        assert parts["total"]["tokens"][key] == sum(three)
    alone = condition_of(summary, "react")["phases"]
    assert (alone["learning"]["calls"], alone["recall"]["calls"]) == (0, 0)
    assert alone["rollout"] == alone["total"]


def test_an_unknown_price_is_unknown_where_it_matters(make_row):
    known, unknown = Usage(calls=2, cost=0.3), Usage(calls=1, cost=None)
    parts = phases([make_row(usage=known)], unknown)
    assert [parts[name]["cost"] for name in ("learning", "recall", "rollout", "total")] == [None, 0.0, 0.3, None]
    parts = phases([make_row(usage=known + unknown, aside=unknown)], known)
    assert [parts[name]["cost"] for name in ("learning", "recall", "rollout", "total")] == [0.3, None, None, None]


def test_sums_of_dollars_leave_no_dust(make_row):
    asides = [Usage(cost=price) for price in (0.1, 0.2, 0.7)]
    rows = [make_row(task_id=str(i), usage=one, aside=one) for i, one in enumerate(asides)]
    rows.append(make_row(task_id="x", usage=Usage(cost=0.3), aside=Usage(cost=0.3)))
    assert phases(rows, Usage())["rollout"]["cost"] == 0.0


def test_the_table_has_the_rollout_apart_and_against_the_baselines(summary):
    table = phases_table(summary)
    assert [line.cells for line in table.lines] == [
        ("ReAct", "rollout", "4k (82%)", "—", "160", "$0.4", "40"),
        ("ERL", "learning", "7.5k (8%)", "", "300", "$2.42", "9"),
        ("ERL", "recall", "400 (50%)", "", "20", "$0.04", "4"),
        ("ERL", "rollout", "4.8k (88%)", "+20.0%", "160", "$0.48", "44"),
        ("ERL", "total", "12.7k (40%)", "", "480", "$2.94", "57"),
    ]
    assert "Calls are those really made." in " ".join(table.notes)
    assert table.lines[3].values["input_vs_baseline"] == pytest.approx(0.2)
    json.dumps(to_json(table), allow_nan=False)
    assert "| ERL | rollout | 4.8k (88%) | +20.0% |" in to_markdown(table)


def test_it_is_shown_with_the_others(summary):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    show(summary, console)
    assert "ERL, table 4" in console.file.getvalue()
    assert "ERL, table 4" in render(summary, [])
    for block in summary["conditions"]:  # a run of an older version
        del block["phases"]
    assert phases_table(summary) is None


def test_input_is_compared_for_each_task(rows):
    summary = build([*rows, rows[0].model_copy(update={"task_id": "more"})], run={}, baseline="react")
    assert phases_table(summary).lines[2].cells[3] == "+20.0%"
    nobody = build([row for row in rows if row.condition == "erl"], run={}, baseline="react")
    assert [line.cells[3] for line in phases_table(nobody).lines] == ["", "—", ""]


def test_without_calls_beside_the_agent_there_is_no_table(make_row):
    rows = [make_row(name, success=True, usage=Usage(prompt_tokens=9, calls=1)) for name in ("react", "erl")]
    assert phases_table(build(rows, run={}, learning={"erl": Usage()})) is None


def test_a_row_without_it_used_nothing_aside(make_row):
    old = make_row(success=True, usage=Usage(prompt_tokens=9)).model_dump(exclude={"aside"})
    assert Row.model_validate(old).aside == Usage()


def test_attempts_at_a_task_are_summed_aside_too(make_row):
    aside = Usage(prompt_tokens=10, calls=1)
    rows = [make_row(success=False, trial=trial, usage=aside + aside, aside=aside) for trial in range(3)]
    (one,) = judged(rows)
    assert (one.usage.calls, one.aside.calls, one.aside.prompt_tokens) == (6, 3, 30)
