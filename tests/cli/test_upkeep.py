"""`seasoned lessons snapshot|diff|rollback|duplicates|cap|contradicted`: upkeep by hand."""

import json

import pytest
from tests.proof.test_record import BAD, GOOD, RECORD

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


@pytest.fixture
def saved():
    lessons = [Lesson(kind="note", key="sky", text="blue"), Lesson(kind="insight", text="Look\ntwice.")]
    with Store("seasoned.db") as store:
        store.add_lessons("memory/default", lessons, who="model")
    return [lesson.id for lesson in lessons]


def test_there_and_back(cli, saved):
    done = cli("lessons", "snapshot", "monday", "--why", "it works, password=hunter22")
    assert "monday is the state of memory/default at" in done.out
    assert "hunter22" not in cli("lessons", "snapshots").out
    assert "2 lessons" in done.out
    cli("lessons", "edit", saved[0], "--text", "grey")
    cli("lessons", "rm", saved[1])
    shown = cli("lessons", "diff", "monday").out.splitlines()
    assert shown == [
        f"- {saved[1]}  Look twice.  (1)",
        f"< {saved[0]}  sky: blue  (1)",
        f"> {saved[0]}  sky: grey  (1, pinned)",
        "0 added, 1 removed, 1 changed",
    ]
    dry = cli("lessons", "rollback", "monday", "--dry-run").out
    assert "1 added, 0 removed, 1 changed" in dry
    assert cli("lessons", "diff", "monday", "now", "--json").json["changed"][0]["after"]["text"] == "grey"
    assert cli("lessons", "rollback", "monday", "--why", "it was better").out == dry
    assert cli("lessons", "diff", "monday").out == "0 added, 0 removed, 0 changed\n"
    history = cli("lessons", "show", saved[0], "--json").json["history"]
    assert [(c["who"], c["text"]) for c in history] == [("model", "blue"), ("person", "grey"), ("person", "blue")]
    assert history[-1]["why"] == "it was better"


def test_snapshots_are_listed(cli, saved):
    assert cli("lessons", "snapshots").out == "no snapshots\n"
    cli("lessons", "snapshot", "monday", "--why", "it works")
    assert "monday  memory/default  2" in cli("lessons", "snapshots").out
    [found] = cli("lessons", "snapshots", "--json").json
    assert (found["name"], found["who"], found["why"]) == ("monday", "person", "it works")
    with Store("seasoned.db") as store:
        store.add_lessons("other", [Lesson(kind="note", key="k", text="t")], who="model")
    assert cli("lessons", "snapshots", "--scope", "other", "--json").json == []
    assert len(cli("lessons", "snapshots", "--scope", "memory/default", "--json").json) == 1


def test_wrong_states_are_sentences(cli, saved):
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


def test_a_pool_is_named_where_there_are_several(cli, saved):
    with Store("seasoned.db") as store:
        store.add_lessons("other", [Lesson(kind="note", text="x")], who="model")
    done = cli("lessons", "snapshot", "monday")
    assert done.code == 1
    assert "name a pool with --namespace or --scope: the store has 2 with lessons (memory/default, other)" in done.err
    assert cli("lessons", "snapshot", "monday", "--scope", "other").code == 0
    Store("empty.db").close()
    assert "the store has 0 with lessons (none)" in cli("lessons", "snapshot", "x", "--store", "empty.db").err


@pytest.fixture
def record(tmp_path):
    with Store(tmp_path / "notes.db") as store:
        store.add_trajectories("memory/default", RECORD)
        store.add_lessons("memory/default", [GOOD, BAD], who="model", why="learned")
    return str(tmp_path / "notes.db")


def test_what_the_record_contradicts_is_listed_first(cli, record):
    result = cli("lessons", "contradicted", "--store", record, "--json")
    found = json.loads(result.out)
    assert (found["by"], found["attempts"]) == ("words", 12)
    assert [one["lesson"] for one in found["lessons"]] == [BAD.id, GOOD.id]
    text = cli("lessons", "contradicted", "--namespace", "default", "--store", record).out
    assert "12 attempts with a known outcome contradict 1 of 2 lessons" in text


def test_lessons_of_a_run_are_compared_with_its_training_attempts(cli, tmp_path):
    with Store(tmp_path / "run.db") as store:
        store.add_trajectories("r/s0f0/training", RECORD)
        lessons = [BAD.model_copy(update={"sources": (RECORD[0].id,)})]
        store.add_lessons("r/s0f0/expel", lessons, who="model", why="learned")
    found = json.loads(cli("lessons", "contradicted", "--store", str(tmp_path / "run.db"), "--json").out)
    assert found["attempts"] == 12
