"""The table of lessons, at the widths of terminals. What is listed is tested in test_lessons.py."""

import pytest

from seasoned.store.sql import Store
from seasoned.types import Lesson

TEXT = " ".join(f"w{n:03}" for n in range(56))  # 279 characters
RUN = "20261122T152734-expel-hotpotqa-76835c"


@pytest.fixture
def shown(cli, monkeypatch):
    """The lines of the table for lessons by pool."""

    def show(pools, width, *words):
        with Store("seasoned.db") as store:
            for pool, lessons in pools.items():
                store.add_lessons(pool, lessons, who="model")
        monkeypatch.setenv("COLUMNS", str(width))
        lines = cli("lessons", "list", *words).out.splitlines()
        assert max(map(len, lines)) <= width
        return lines

    return show


def insight(text=TEXT, votes=2, **more):
    return Lesson(kind="insight", text=text, importance=votes, sources=("tra-0123456789ab", "tra-b", "tra-c"), **more)


@pytest.mark.parametrize(("width", "room"), [(80, 28), (120, 45)])
def test_an_insight_is_shown_whole_and_has_the_room(shown, width, room):
    both = {f"{RUN}/s0f{fold}/expel": [insight(pinned=not fold)] for fold in (0, 1)}
    lines = shown(both, width, "--kind", "insight")
    head = lines[0].split()
    assert head == ["id", "insight", "votes", "from", "status", "pool"]
    begin, end = lines[0].index("insight"), lines[0].index("votes")
    assert end - begin - 2 >= room
    text = " ".join(" ".join(line[begin:end] for line in lines[1:]).split())
    assert text == f"{TEXT} {TEXT}"
    assert "tra-0123456789ab" in " ".join(lines) or width == 80


def test_insights_come_by_their_votes_whatever_their_age(shown):
    lines = shown({"one": [insight("b", 2), insight("a", 7), insight("c", 2)]}, 80)
    assert [line.split()[1] for line in lines[1:]] == ["a", "b", "c"]
    assert [line.split()[2:4] for line in lines[1:]] == [["7", "3"], ["2", "3"], ["2", "3"]]


def test_a_column_that_says_nothing_is_left_out(shown):
    assert shown({"one": [insight("a")]}, 80)[0].split() == ["id", "insight", "votes", "from"]
    note = Lesson(kind="note", key="k", text="t")
    assert shown({"two": [note]}, 80, "--scope", "two")[0].split() == ["id", "key", "note", "noted"]
    pinned = note.model_copy(update={"id": "les-3", "pinned": True})
    lines = shown({"three": [pinned]}, 120)
    assert lines[0].split() == ["id", "kind", "key", "lesson", "noted", "status", "pool"]


def test_several_kinds_on_a_narrow_terminal(shown):
    note = Lesson(kind="note", key="c3", text="joy")
    lines = shown({"one": [note, Lesson(kind="reflection", key="task-7", text=TEXT)]}, 80)
    assert lines[0].split() == ["id", "kind", "lesson", "noted"]
    assert "c3: joy" in lines[1]
    assert "task-7: w000 w001" in lines[2]
    assert len(lines) < 6


@pytest.mark.parametrize(
    ("width", "left_out"), [(100, ""), (80, ""), (60, "noted, pool, status"), (40, "noted, pool, status")]
)
def test_a_text_has_room_on_a_narrow_terminal(cli, shown, width, left_out):
    note = Lesson(kind="note", key="order 17", text=TEXT, status="quarantined")
    lines = shown({"memory/ann": [note], "memory/bob": [Lesson(kind="heuristic", text=TEXT)]}, width)
    columns = ["noted", "pool", "status"]
    assert [name for name in columns if name not in lines[0].split()] == (columns if left_out else [])
    text = " ".join(lines[1:])
    assert all(f"w{n:03}" in text for n in range(20))
    said = cli("lessons", "list").err
    assert said == (f"Not shown in this narrow terminal: {left_out}.\n" if left_out else "")


def test_no_more_columns_are_left_out_than_must(cli, shown):
    head = shown({"one": [insight(pinned=True)], "two": [insight()]}, 60)[0].split()
    assert head == ["id", "insight", "from", "status", "pool"]
    assert cli("lessons", "list").err == "Not shown in this narrow terminal: votes.\n"


def test_a_pool_keeps_its_name_where_the_short_one_is_not_its_own(shown):
    pools = {f"{RUN.replace('expel', name)}/s0f0/expel": [insight("a")] for name in ("one", "two")}
    lines = shown(pools, 200)
    assert "..76835c" not in "".join(lines)
    assert all(name.partition("/")[0] in "".join(lines) for name in pools)
    lines = shown({"memory/default": [insight("b")]}, 200, "--scope", "memory/default")
    assert lines[0].split()[-1] == "from"
