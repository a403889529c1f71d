"""Tables at the widths of terminals (words and numbers stay whole, and whole columns give way), and figures."""

import io

import pytest
from rich.console import Console

from seasoned.lab.report import forms as figures
from seasoned.lab.report.forms import Column, Line, Table, to_rich

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
    assert figures.signed(value) == shown


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
    assert figures.p_value(p) == cell
    assert figures.p_clause(p) == clause


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "—"), (0.0, "$0"), (0.00001, "<$0.0001"), (0.0123, "$0.012"), (0.5, "$0.5"), (12.345, "$12.35")],
)
def test_an_unknown_cost_is_never_zero(dollars, shown):
    assert figures.cost(dollars) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.6, "1 min 0 s"), (312, "5 min 12 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds, shown):
    assert figures.duration(seconds) == shown


def test_rates():
    assert figures.percent(0.683) == "68.3%"
    assert figures.percent(None) == "—"
    assert figures.interval([0.558, 0.787]) == "[56, 79]"
    assert figures.share(0, 0) is None
    assert figures.share(1, 4) == 0.25
