"""`seasoned lessons snapshot|diff|rollback`: states of a pool by hand."""

import pytest

from seasoned.store.sql import Store
from seasoned.types import Lesson


@pytest.fixture
def ids():
    lessons = [Lesson(kind="note", key="sky", text="blue"), Lesson(kind="insight", text="Look\ntwice.")]
    with Store("seasoned.db") as store:
        store.add_lessons("memory/default", lessons, who="model")
    return [lesson.id for lesson in lessons]


def test_there_and_back(cli, ids):
    done = cli("lessons", "snapshot", "monday", "--why", "it works, password=hunter22")
    assert "monday is the state of memory/default at" in done.out
    assert "hunter22" not in cli("lessons", "snapshots").out
    assert "2 lessons" in done.out
    cli("lessons", "edit", ids[0], "--text", "grey")
    cli("lessons", "rm", ids[1])
    shown = cli("lessons", "diff", "monday").out.splitlines()
    assert shown == [
        f"- {ids[1]}  Look twice.  (1)",
        f"< {ids[0]}  sky: blue  (1)",
        f"> {ids[0]}  sky: grey  (1, pinned)",
        "0 added, 1 removed, 1 changed",
    ]
    dry = cli("lessons", "rollback", "monday", "--dry-run").out
    assert "1 added, 0 removed, 1 changed" in dry
    assert cli("lessons", "diff", "monday", "now", "--json").json["changed"][0]["after"]["text"] == "grey"
    assert cli("lessons", "rollback", "monday", "--why", "it was better").out == dry
    assert cli("lessons", "diff", "monday").out == "0 added, 0 removed, 0 changed\n"
    history = cli("lessons", "show", ids[0], "--json").json["history"]
    assert [(c["who"], c["text"]) for c in history] == [("model", "blue"), ("person", "grey"), ("person", "blue")]
    assert history[-1]["why"] == "it was better"


def test_snapshots_are_listed(cli, ids):
    assert cli("lessons", "snapshots").out == "no snapshots\n"
    cli("lessons", "snapshot", "monday", "--why", "it works")
    assert "monday  memory/default  2" in cli("lessons", "snapshots").out
    [found] = cli("lessons", "snapshots", "--json").json
    assert (found["name"], found["who"], found["why"]) == ("monday", "person", "it works")
    with Store("seasoned.db") as store:
        store.add_lessons("other", [Lesson(kind="note", key="k", text="t")], who="model")
    assert cli("lessons", "snapshots", "--scope", "other", "--json").json == []
    assert len(cli("lessons", "snapshots", "--scope", "memory/default", "--json").json) == 1


def test_mistakes_are_sentences(cli, ids):
    for words, said in (
        (["diff", "monday"], "neither a snapshot of 'memory/default'"),
        (["rollback", "monday"], "neither a snapshot of 'memory/default'"),
        (["snapshot", "now"], "a snapshot's name should be a few words"),
        (["snapshot", "x", "--store", "none.db"], "there is no store at none.db"),
        (["snapshots", "--scope", "memory/defualt"], "there is no pool 'memory/defualt' in"),
        (["snapshots", "--scope", ""], "--scope is empty"),
    ):
        done = cli("lessons", *words)
        assert (done.code, done.out) == (1, "")
        assert said in done.err


def test_a_pool_is_named_where_there_are_several(cli, ids):
    with Store("seasoned.db") as store:
        store.add_lessons("other", [Lesson(kind="note", text="x")], who="model")
    done = cli("lessons", "snapshot", "monday")
    assert done.code == 1
    assert "name a pool with --namespace or --scope: the store has 2 with lessons (memory/default, other)" in done.err
    assert cli("lessons", "snapshot", "monday", "--scope", "other").code == 0
    Store("empty.db").close()
    assert "the store has 0 with lessons (none)" in cli("lessons", "snapshot", "x", "--store", "empty.db").err
