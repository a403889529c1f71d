from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from seasoned.lab.report import attempt_tables, tables
from seasoned.lab.report.attempt_tables import FEW, show, trials_table
from seasoned.lab.report.build import build
from seasoned.lab.report.html import render
from seasoned.lab.report.summary import Pair, Solved, Summary
from seasoned.lab.report.tables import (
    Column,
    Line,
    Table,
    categories_table,
    pairs_table,
    phases_table,
    place_words,
    to_rich,
)
from seasoned.types import Lesson, Usage

LABELS = ("disabled", "ExpNote", "few-shot")
NAMES = ("solved", "accuracy", "points", "exact", "cost")
SPARE = ("tokens in", "tokens out", "turns", "errors", "seconds")


def drawn(table, width):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(to_rich(table, width))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    return lines


def made(names, spare=(), labels=LABELS, source="", cell="38.5 ± 1.9"):
    columns = (Column("condition", number=False), *map(Column, names), *(Column(name, spare=True) for name in spare))
    cells = (cell,) * (len(columns) - 1)
    return Table("Test", columns, tuple(Line((label, *cells), source) for label in labels))


@pytest.mark.parametrize("width", [80, 90, 100])
@pytest.mark.parametrize("names", [NAMES, NAMES * 2])
@pytest.mark.parametrize("spare", [SPARE[:n] for n in range(6)])
def test_the_first_column_and_every_number_are_whole(width, names, spare):
    lines = drawn(made(names, spare), width)
    assert lines[2].split()[0] == "condition"
    shown = lines[4].count("±")
    assert [line.split()[0] for line in lines[4:7]] == list(LABELS)
    assert all(line.count("38.5 ± 1.9") == shown >= min(len(names), 5) for line in lines[4:7])
    left_out = len(names) + len(spare) - shown
    assert ("Not shown in this narrow terminal: " in "\n".join(lines)) is (left_out > 0)


def test_columns_that_may_give_way_go_first_and_no_more_than_must():
    table = made(("solved", "accuracy"), ("turns", "errors"))
    assert "turns" in drawn(table, 61)[2]
    assert [line for line in drawn(table, 60) if "Not shown" in line] == ["Not shown in this narrow terminal: errors."]
    lines = drawn(made(("solved",), ("turns", "errors")), 30)
    assert (lines[2].split(), lines[4].split()[0]) == (["condition", "solved"], "disabled")
    assert "turns, errors" in " ".join(lines)


@pytest.mark.parametrize("width", [80, 90, 100])
def test_a_longer_name_and_a_source_are_whole_where_columns_may_give_way(width):
    labels = ("few-shot-trajectories", "ERL")
    lines = drawn(made(NAMES[:3], SPARE, labels), width)
    assert [line.split()[0] for line in lines[4:6]] == list(labels)
    lines = drawn(made(NAMES[:3], SPARE, labels, "gpt-3.5-turbo, paper"), width)
    assert lines[4].strip() == "gpt-3.5-turbo, paper"
    assert lines[5].startswith("   few-shot-trajectories ")


@pytest.mark.parametrize(
    ("value", "shown"), [(43.333, "+43.3"), (-12.0, "−12.0"), (0.0, "0.0"), (-0.04, "0.0"), (None, "—")]
)
def test_signed(value, shown):
    assert tables.signed(value) == shown


@pytest.mark.parametrize(
    ("p", "cell", "clause"),
    [
        (1e-9, "<0.001", "p < 0.001"),
        (0.00099, "<0.001", "p < 0.001"),
        (0.0324, "0.032", "p = 0.032"),
        (0.412, "0.41", "p = 0.41"),
        (1.0, "1.00", "p = 1.00"),
    ],
)
def test_p_values(p, cell, clause):
    pair = Pair(a="a", b="b", n=0, both=0, only_a=0, only_b=0, neither=0, points=None, tasks=0, p=p)
    assert tables.p_value(p) == cell
    assert tables.test_words(pair) == f"exact McNemar {clause}"


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "—"), (0.0, "$0"), (0.00001, "<$0.0001"), (0.0123, "$0.012"), (0.5, "$0.5"), (12.345, "$12.35")],
)
def test_an_unknown_cost_is_never_zero(dollars, shown):
    assert tables.cost(dollars) == shown


def test_rates():
    assert tables.percent(0.683) == "68.3%"
    assert tables.percent(None) == "—"
    assert tables.rate_cell(0.683, (0.558, 0.787)) == "68.3% [56, 79]"


@pytest.mark.parametrize(
    ("among", "says"),
    [([(1, 2)], ""), ([(1, 2), (1, 0)], "fold 2"), ([(1, 2), (0, 2)], "seed 1"), ([(1, 2), (0, 0)], "seed 1, fold 2")],
)
def test_a_pool_is_told_from_the_others(among, says):
    assert place_words(1, 2, among) == says


EVIL = "[red]x[/red] | <b>\x1b[31m\u202e\n`"


def _drawn(table: tables.Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(tables.to_rich(table, width))
    return console.file.getvalue()


def test_the_main_table(summary: Summary):
    table = tables.main_table(summary)
    own = [line for line in table.lines if not line.source]
    assert [line.cells[0] for line in own] == ["disabled", "few-shot", "ExpNote", "positive", "negative"]
    expnote = next(line for line in own if line.strong)
    assert expnote.cells[0] == "ExpNote"
    assert expnote.cells[1] == "88/119"
    assert expnote.cells[4] == "<0.001"
    assert own[0].cells[3:5] == ("—", "—")
    assert all(len(line.cells) == len(table.columns) for line in table.lines)


def test_published_figures_are_marked_as_another_models(summary: Summary):
    matching, every = (
        [line for line in tables.main_table(summary, all_published=all_published).lines if line.source]
        for all_published in (False, True)
    )
    assert (len(matching), len(every)) == (5, 10)
    assert {line.source for line in every} == {"gpt-3.5-turbo, paper"}
    assert [line.cells[2] for line in matching] == ["57.0%", "47.0%", "74.0%", "66.0%", "60.0%"]
    assert "another model" in tables.main_table(summary).notes[0]


def test_an_unknown_cost_is_a_dash(make_row):
    rows = [make_row("disabled", success=True, usage=Usage(cost=None)), make_row("cot", success=True)]
    lines = tables.main_table(build(rows, run={})).lines
    assert [line.cells[7] for line in lines] == ["—", "$0"]


def _column(table: tables.Table, name: str) -> list[str]:
    place = [column.name for column in table.columns].index(name)
    return [line.cells[place] for line in table.lines]


def test_scores_have_a_column_where_an_attempt_can_succeed_in_part(guided_summary, summary):
    table = tables.main_table(guided_summary)
    assert _column(table, "score")[:2] == ["0.438", "0.531"]
    assert "mean reward" in table.notes[1]
    published = {line.cells[0]: line.cells[2:4] for line in table.lines if line.source}
    assert published["ReAct"] == ("", "0.665")
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}
    assert "score" not in [column.name for column in tables.main_table(summary).columns]


def test_a_papers_score_is_no_accuracy(make_row):
    rows = [make_row("expel", success=success, reward=float(success)) for success in (True, False)]
    found = build(rows, run={"benchmark": "webshop"}, baseline="react")
    assert _column(tables.main_table(found), "score") == ["0.000", "0.701"]
    everything = tables.main_table(found, all_published=True)
    assert {"0.599", "0.701", ""} < set(_column(everything, "score"))
    assert {"37.0%", "35.0%", ""} < set(_column(everything, "accuracy\n[95%]"))


def test_turns_stand_beside_the_tokens(guided_summary):
    table = tables.main_table(guided_summary)
    assert _column(table, "turns\n(mean)")[0] == "3.5"


def test_the_terminal_keeps_every_figure_whole(summary: Summary):
    table = tables.main_table(summary)
    for width in (60, 80, 120):
        drawn = _drawn(table, width)
        assert max(len(line.rstrip()) for line in drawn.splitlines()) <= width
        assert "73.9% [62, 83]" in drawn  # of 60 tasks, at two seeds
    assert "Not shown in this narrow terminal: tokens in (cached)" in _drawn(table, 80).replace("\n", " ")
    assert "45.6k (93%)" in _drawn(table, 120)
    assert "Not shown" not in _drawn(table, 120)


def test_foreign_text_is_no_markup(make_row):
    rows = [make_row(EVIL, success=True, trained_on=2, lesson_ids=("l",))]
    lessons = [Lesson(id="l", kind="note", key=EVIL, text=EVIL * 40)]
    found = build(rows, run={}, lessons=lessons, baseline="[bold]no")
    for table in (tables.main_table(found), attempt_tables.lessons_table(found, limit=8)):
        drawn = _drawn(table, 200)
        assert "[red]x[/red]" in drawn
        assert "\x1b" not in drawn


def test_every_line_has_as_many_cells_as_there_are_columns(summary: Summary):
    for table in (tables.main_table(summary), attempt_tables.lessons_table(summary, limit=3)):
        assert {len(line.cells) for line in table.lines} == {len(table.columns)}


def test_json_has_figures_not_their_looks(summary: Summary):
    found = json.loads(json.dumps(tables.to_json(tables.comparison_table([summary, summary])), allow_nan=False))
    assert found["rows"][0]["n"] == 119
    assert found["rows"][0]["source"] == ""
    assert found["columns"][4] == "accuracy [95%]"


def test_runs_side_by_side(make_row, rows, summary):
    other = [row.model_copy(update={"success": True, "reason": "answered"}) for row in rows]
    second = build(other, run={"id": "two", "benchmark": "emoji", "model": "m"})
    table = tables.comparison_table([summary, second], [rows, other])
    assert len(table.lines) == 10
    first, later = table.lines[2], table.lines[7]
    assert first.cells[5:8] == ("—", "—", "—")
    assert later.cells[:4] == ("two", "m", "ExpNote", "120/120")
    assert later.values["pairs"] == 119
    assert later.values["p"] < 0.001
    assert [line.values["p"] for line in tables.comparison_table([summary, second]).lines] == [None] * 10


def test_a_task_under_several_seeds_is_one_pair_of_two_runs(make_row):
    told = {}
    for name, solved in (("one", 0), ("two", 5)):
        rows = [make_row(task_id=f"t{i}", seed=seed, success=i < solved) for seed in range(3) for i in range(8)]
        told[name] = (build(rows, run={"id": name}), rows)
    table = tables.comparison_table([one for one, _ in told.values()], [rows for _, rows in told.values()])
    found = table.lines[1].values
    assert tuple(found[key] for key in ("pairs", "tasks", "test", "p")) == (24, 8, "sign-flip", 2 / 2**5)
    assert table.notes[-1] == "A task that occurs several times counts once in p."
    once = tables.comparison_table(
        [build(rows[:8], run={"id": name}) for name, (_, rows) in told.items()], [rows[:8] for _, rows in told.values()]
    )
    assert (once.lines[1].values["p"], once.lines[1].values["test"], len(once.notes)) == (2 / 2**5, "mcnemar", 1)


def test_tasks_of_one_id_are_no_pair_where_they_are_other_tasks(make_row):
    told = []
    for name, own in (("one", "with codes"), ("two", "with faces")):
        rows = [make_row(task_id=f"t{i}", task=own if i < 3 else "the same", success=True) for i in range(5)]
        told.append((build(rows, run={"id": name}), rows))
    table = tables.comparison_table([one for one, _ in told], [rows for _, rows in told])
    assert table.lines[1].values["pairs"] == 2
    assert table.notes[0] == "Pairs are the same condition, task, seed, fold and run of the test on both sides."


def test_runs_are_compared_over_all_runs_of_their_tests(make_row):
    told = []
    for name, solved in (("one", "00"), ("two", "01")):
        rows = [
            make_row(task_id=f"t{i}", success=solved[turn] == "1", repeat=turn) for turn in (0, 1) for i in range(6)
        ]
        told.append((build(rows, run={"id": name}), rows))
    (line,) = tables.comparison_table([one for one, _ in told], [rows for _, rows in told]).lines[1:]
    assert (line.cells[3], line.values["points"], line.values["p"]) == ("6/12", 50.0, 2 / 2**6)


def test_runs_are_called_by_what_tells_them_apart(make_row):
    ids = ("20310405T101112-emoji-aaaaaa", "20310405T101112-", "mine", f"20310405T101112-{'x' * 40}-bbbbbb", "")
    found = [build([make_row(success=True)], run={"id": i, "name": "emoji"}) for i in ids]
    shown = [line.cells[0] for line in tables.comparison_table(found).lines]
    assert shown == ["emoji-aaaaaa", "20310405T101112-", "mine", f"…{'x' * 24}-bbbbbb", "emoji"]


def test_runs_of_other_benchmarks_are_never_paired(make_row):
    rows = [make_row(success=True)]
    found = [build(rows, run={"id": name, "benchmark": name}) for name in ("emoji", "lets")]
    assert tables.comparison_table(found, [rows, rows]).lines[1].values["pairs"] is None


def test_figures_of_one_paper_stand_together(retried_summary):
    lines = [(line.source, line.cells[0]) for line in tables.main_table(retried_summary).lines if line.source]
    assert lines == [
        ("gpt-3.5-turbo-0613, paper", "ReAct"),
        ("gpt-3.5-turbo-0613, paper", "Reflexion R3"),
        ("GPT-3 / GPT-3.5, paper", "retry"),
        ("GPT-3 / GPT-3.5, paper", "Reflexion R11"),
    ]


def _own(table):
    return [line.cells for line in table.lines if not line.source]


def test_categories_with_the_papers_beside_them(retried_summary):
    table = categories_table(retried_summary)
    assert [column.name for column in table.columns] == [
        "category", "ReAct", "retry", "Reflexion", "imitation\n(paper)", "ReAct\n(paper)",
    ]  # fmt: skip
    assert _own(table) == [("clean", "2/6", "2/6", "3/6", "39%", "61%"), ("put", "2/6", "3/6", "4/6", "46%", "50%")]


def test_tasks_whose_goal_was_met_in_training_stand_apart(make_row):
    rows = [
        make_row(name, f"t{i}", success=(i < 3) is (name == "expel"), familiar=i < 3, category="put")
        for name in ("react", "expel")
        for i in range(8)
    ]
    summary = build(rows, run={}, baseline="react")
    assert [block.familiar["yes"] for block in summary.conditions] == [
        Solved(n=3, successes=0),
        Solved(n=3, successes=3),
    ]
    table = categories_table(summary)
    assert _own(table) == [("goal met in training", "0/3", "3/3"), ("goal not met", "5/5", "0/5")]
    new = [row.model_copy(update={"familiar": False}) for row in rows]
    assert categories_table(build(new, run={}, baseline="react")) is None


def test_one_category_needs_no_table(make_row):
    assert categories_table(build([make_row(success=True)], run={})) is None
    many = [make_row(task_id=str(i), success=True, category=f"kind {i}") for i in range(50)]
    table = categories_table(build(many, run={}))
    assert len(table.lines) == 40
    assert table.notes == ("10 more categories are in summary.json.",)


def test_they_are_tables_like_the_others(retried_summary):
    for table in (trials_table(retried_summary), categories_table(retried_summary)):
        assert {len(line.cells) for line in table.lines} == {len(table.columns)}


@pytest.fixture
def compared(make_row):
    """Ten tasks: `choose` solves 4 of them, `react` 2, and each condition after it one more than the one before."""

    def make(conditions=4, tasks=10):
        rates = {"choose": 4, **{name: 2 + i for i, name in enumerate(("react", "expel", "act", "erl", "retry"))}}
        rows = [
            make_row(name, f"t{i}", success=i < rates[name]) for name in list(rates)[:conditions] for i in range(tasks)
        ]
        return build(rows, run={}, baseline="choose")

    return make


def test_two_methods_are_compared_though_neither_is_the_baseline(compared):
    table = pairs_table(compared())
    cells = {line.cells[:2]: line.cells[2:] for line in table.lines}
    assert cells["ReAct", "ExpeL"] == ("10", "0", "1", "+10.0", "1.00")
    assert cells["choose", "ReAct"] == ("10", "2", "0", "−20.0", "0.50")
    assert len(cells) == 6


def test_a_task_under_two_seeds_is_two_episodes(make_row):
    rows = [make_row(name, "t", seed=seed, success=True) for name in ("choose", "react", "expel") for seed in (0, 1)]
    table = pairs_table(build(rows, run={}, baseline="choose"))
    assert {line.cells[[column.name for column in table.columns].index("episodes")] for line in table.lines} == {"2"}


def test_what_the_main_table_has_is_not_said_again(compared):
    assert pairs_table(compared(2)) is None
    assert pairs_table(build([], run={})) is None


def test_a_pair_without_common_tasks_has_no_test(make_row):
    rows = [make_row(name, name, success=True) for name in ("choose", "react", "expel")]
    assert {line.cells[2:] for line in pairs_table(build(rows, run={}, baseline="choose")).lines} == {
        ("0", "0", "0", "—", "—")
    }


@pytest.mark.parametrize(("conditions", "shown"), [(2, False), (5, True), (6, False)])
def test_the_terminal_shows_a_few_pairs_and_the_page_folds_away_many(compared, conditions, shown):
    summary = compared(conditions)
    console = Console(file=io.StringIO(), width=100, color_system=None)
    show(summary, console)
    assert ("only a" in console.file.getvalue()) is shown
    page = render(summary, [])
    opened, closed = "<h3>Pairs</h3>" in page, "<summary>Pairs: " in page
    many = len(summary.pairs) > FEW
    assert (opened, closed) == (shown, many)


LEARNED = Usage(prompt_tokens=7500, cached_tokens=600, completion_tokens=300, calls=9, cost=2.42, seconds=3.0)


def usage(prompt, cached, out, calls, cost):
    return Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=out, calls=calls, cost=cost)


@pytest.fixture
def spent_rows(make_row):
    """Four tasks: alone 1,000 tokens in and 10 calls each, with heuristics 1,200 and 11, and 100 and 1 to rank them."""
    alone, told, ranked = usage(1000, 820, 40, 10, 0.1), usage(1200, 1056, 40, 11, 0.12), usage(100, 50, 5, 1, 0.01)
    found = []
    for i in range(4):
        found.append(make_row("react", f"t{i}", success=i < 1, usage=alone))
        found.append(make_row("erl", f"t{i}", success=i < 3, trained_on=9, usage=told + ranked, aside=ranked))
    return found


@pytest.fixture
def spent_summary(spent_rows):
    return build(spent_rows, run={}, baseline="react", learning={"erl": LEARNED})


def test_the_parts_add_up(spent_summary):
    parts = spent_summary.condition("erl").phases
    assert parts.learning.tokens.to_json() == {"prompt": 7500, "cached": 600, "completion": 300, "total": 7800}
    assert parts.recall.tokens.to_json() == {"prompt": 400, "cached": 200, "completion": 20, "total": 420}
    assert parts.rollout.tokens.to_json() == {"prompt": 4800, "cached": 4224, "completion": 160, "total": 4960}
    assert [getattr(parts, name).calls for name in ("learning", "recall", "rollout", "total")] == [9, 4, 44, 57]
    assert parts.rollout.cost == pytest.approx(0.48)
    assert parts.total.cost == pytest.approx(2.94)
    three = [getattr(parts, name).tokens for name in ("learning", "recall", "rollout")]
    for key, total in parts.total.tokens:
        assert total == sum(getattr(tokens, key) for tokens in three)
    alone = spent_summary.condition("react").phases
    assert (alone.learning.calls, alone.recall.calls) == (0, 0)
    assert alone.rollout == alone.total


def test_what_a_paper_prints_of_tokens_and_cost_stands_beside_ours(spent_rows):
    rows = [row.model_copy(update={"condition": {"react": "tools"}.get(row.condition, "erl")}) for row in spent_rows]
    summary = build(rows, run={"benchmark": "gaia2"}, baseline="tools", learning={"erl": LEARNED})
    table = tables.phases_table(summary)
    printed = [line.cells for line in table.lines if line.source == "GPT-5-mini, paper"]
    assert [cells[:3] + cells[4:6] for cells in printed] == [  # ERL, table 4
        ("tools", "rollout", "103.8M (82%)", "4.3M", "$15.27"),
        ("ERL", "rollout", "192.0M (88%)", "3.9M", "$17.60"),
        ("ERL", "total", "200.5M (85%)", "4.3M", "$21.40"),
    ]
    assert {len(line.cells) for line in table.lines} == {len(table.columns)}


def test_the_table_has_the_rollout_apart_and_against_the_baselines(spent_summary):
    table = phases_table(spent_summary)
    assert [line.cells for line in table.lines] == [
        ("ReAct", "rollout", "4k (82%)", "—", "160", "$0.4", "40"),
        ("ERL", "learning", "7.5k (8%)", "", "300", "$2.42", "9"),
        ("ERL", "recall", "400 (50%)", "", "20", "$0.04", "4"),
        ("ERL", "rollout", "4.8k (88%)", "+20.0%", "160", "$0.48", "44"),
        ("ERL", "total", "12.7k (40%)", "", "480", "$2.94", "57"),
    ]
    assert "Calls are those actually made." in " ".join(table.notes)


def test_it_is_shown_with_the_others(spent_summary):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    show(spent_summary, console)
    assert "ERL, table 4" in console.file.getvalue()
    assert "ERL, table 4" in render(spent_summary, [])
    older = [one.model_copy(update={"phases": None}) for one in spent_summary.conditions]
    assert phases_table(spent_summary.model_copy(update={"conditions": older})) is None


def test_input_is_compared_for_each_task(spent_rows):
    summary = build([*spent_rows, spent_rows[0].model_copy(update={"task_id": "more"})], run={}, baseline="react")
    assert phases_table(summary).lines[2].cells[3] == "+20.0%"
    nobody = build([row for row in spent_rows if row.condition == "erl"], run={}, baseline="react")
    assert [line.cells[3] for line in phases_table(nobody).lines] == ["", "—", ""]


def test_without_calls_beside_the_agent_there_is_no_table(make_row):
    rows = [make_row(name, success=True, usage=Usage(prompt_tokens=9, calls=1)) for name in ("react", "erl")]
    assert phases_table(build(rows, run={}, learning={"erl": Usage()})) is None
