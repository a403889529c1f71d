"""`seasoned lessons duplicates|cap`: upkeep by hand."""

import pytest

from seasoned.store.sql import Store
from seasoned.types import Lesson

HASHING = ("--embedder", "hashing")


@pytest.fixture
def ids():
    texts = ["check the order id", "check the order id", "paint the wall"]
    lessons = [Lesson(kind="heuristic", text=text, importance=float(n)) for n, text in enumerate(texts)]
    with Store("seasoned.db") as store:
        store.add_lessons("memory/default", lessons, who="model")
    return [lesson.id for lesson in lessons]


def test_duplicates_are_shown_side_by_side_and_merged_when_asked(cli, ids):
    shown = cli("lessons", "duplicates", *HASHING).out
    assert shown.splitlines() == [
        f"{ids[1]}        check the order id",
        f"  {ids[0]}  1.000  check the order id",
        "1 lesson says what another says",
    ]
    found = cli("lessons", "duplicates", *HASHING, "--json").json
    assert (found["lessons"], found["merged"], found["groups"][0]["others"][0]["id"]) == (1, 0, ids[0])
    assert "; 1 was kept" in cli("lessons", "duplicates", *HASHING, "--merge").out
    assert [x["id"] for x in cli("lessons", "list", "--status", "active", "--json").json] == ids[1:]
    assert "0 lessons say" in cli("lessons", "duplicates", *HASHING).out
    why = cli("lessons", "show", ids[0], "--json").json["history"][-1]["why"]
    assert why == f"seasoned lessons duplicates --merge: merged into {ids[1]}, which says the same"


def test_a_pool_that_is_not_there_is_not_looked_for(cli, ids):
    for words in (["duplicates", *HASHING], ["cap", "--lessons", "1"], ["snapshot", "x"]):
        done = cli("lessons", *words, "--scope", "memory/defualt")
        assert done.code == 1
        assert "there is no pool 'memory/defualt' in" in done.err
        assert "; it has memory/default" in done.err


def test_long_lists_are_shortened(cli):
    with Store("seasoned.db") as store:
        store.add_lessons("s", [Lesson(kind="note", text=f"n{i % 4} it") for i in range(60)], who="model")
    shown = cli("lessons", "duplicates", *HASHING, "--threshold", "1", "--limit", "2").out
    assert shown.count("and 4 more\n") == 2
    assert "and 2 more groups" in shown


def test_caps_disable_what_is_worth_least(cli, ids):
    done = cli("lessons", "cap", "--lessons", 2)
    assert done.out.splitlines() == [f"{ids[0]}  check the order id", "1 lesson disabled, 2 active"]
    assert cli("lessons", "cap", "--tokens", 4).out.splitlines()[-1] == "1 lesson disabled, 1 active"
    assert cli("lessons", "show", ids[2], "--json").json["status"] == "active"
    done = cli("lessons", "cap")
    assert done.code == 1
    assert "a cap is a number of lessons or of tokens" in done.err
    assert "`seasoned lessons cap --lessons 1000`" in done.err


def test_what_cannot_be(cli, ids):
    assert cli("lessons", "duplicates", "--threshold", "2", *HASHING).code == 2
    done = cli("lessons", "duplicates", "--threshold", "0", *HASHING)
    assert (done.code, "above 0 and at most 1" in done.err) == (1, True)
    done = cli("lessons", "duplicates", "--embedder", "none")
    assert (done.code, "there is no embedder 'none'" in done.err) == (1, True)
