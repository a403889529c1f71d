"""Certificates: what holds is silent, and each change since the gate is named."""

import json

import pytest

from seasoned.errors import ConfigError
from seasoned.memory import Memory
from seasoned.proof.certificate import (
    Certificate,
    Claim,
    Trial,
    check,
    keep_claim,
    lesson_hash,
    lesson_hashes,
    read_certificate,
    standing,
    trial,
)
from seasoned.proof.gate import looks
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Trajectory

SCOPE = "r/s0f0/expnote"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "a.db") as opened:
        opened.add_lessons(SCOPE, [Lesson(id="les-1", kind="note", key="sad", text="k9")], who="model", why="learned")
        yield opened


def attempt(store, n, arm, success):
    reason = "error" if success is None else "answered"
    made = Trajectory(
        id=f"tra-{arm}{n}", task_id=f"t{n}", task=f"Task {n}", outcome=Outcome(success=success, reason=reason)
    )
    store.add_trajectories(f"r/s0f0/gate-{arm}", [made])
    return made


@pytest.fixture
def certificate(store):
    trials = [trial([attempt(store, n, "a", n % 4 == 0)], [attempt(store, n, "b", True)]) for n in range(20)]
    claim = Claim(
        condition="expnote",
        block="s0f0",
        scope=SCOPE,
        lessons=lesson_hashes(store.lessons(SCOPE)),
        model="m",
        prompts="p",
        planned=20,
        candidates=1,
        trials=tuple(trials),
        looks=tuple(looks([one.difference for one in trials], planned=20)),
    )
    keep_claim(store, claim)
    return Certificate(run="r", claims=(claim,))


def test_what_holds_is_silent(store, certificate, tmp_path):
    assert certificate.deployed == "expnote"
    assert check(certificate, store, model="m", prompts="p") == []
    file = tmp_path / "certificate.json"
    file.write_text(certificate.model_dump_json(), encoding="utf-8")
    assert read_certificate(file) == certificate


def change(store):
    lesson = store.get_lesson("les-1")
    store.update_lesson(lesson.model_copy(update={"text": "z0"}), who="person", why="")


def remove(store):
    store.remove_lesson("les-1", who="person", why="")


def add(store):
    store.add_lessons(SCOPE, [Lesson(kind="note", text="new")], who="model", why="")


@pytest.mark.parametrize(
    ("edit", "says"), [(change, "was changed"), (remove, "is gone or disabled"), (add, "was added")]
)
def test_a_lesson_that_changed_makes_it_invalid(store, certificate, edit, says):
    edit(store)
    (problem,) = check(certificate, store)
    assert says in problem


def test_another_model_other_prompts_and_another_store(store, certificate, tmp_path):
    assert "the gate used the model m, and now it is n" in check(certificate, store, model="n")[0]
    assert "prompts have changed" in check(certificate, store, prompts="q")[0]
    with Store(tmp_path / "other.db") as other:
        assert "holds none of the gate's attempts" in check(certificate, other)[0]


def test_a_forged_decision_and_forged_outcomes(store, certificate):
    claim = certificate.claims[0]
    flat = claim.model_copy(update={"trials": tuple(t.model_copy(update={"difference": 1.0}) for t in claim.trials)})
    fewer = claim.model_copy(update={"planned": 200})
    keep_claim(store, flat)  # in the store too: then the attempts give it away
    problems = check(Certificate(claims=(flat,)), store)
    assert any("do not follow" in one for one in problems)
    assert any("outcome differs" in one for one in problems)
    keep_claim(store, fewer)
    assert "do not follow" in check(Certificate(claims=(fewer,)), store)[0]


@pytest.mark.parametrize("changes", [{"model": "n"}, {"candidates": 2}, {"crossfit": True}, {"tokens": 1}])
def test_a_file_that_says_otherwise_than_the_store(store, certificate, changes):
    forged = certificate.claims[0].model_copy(update=changes)
    (problem,) = check(Certificate(claims=(forged,)), store)
    assert "the file was changed, or the gate was run again" in problem


def test_a_gate_that_was_run_again_ends_the_earlier_certificate(store, certificate):
    keep_claim(store, certificate.claims[0].model_copy(update={"trials": (), "looks": ()}))
    assert "the gate was run again" in check(certificate, store)[0]


def test_a_gate_that_the_store_never_had(store, certificate):
    task = certificate.claims[0].trials[0].model_copy(update={"difference": 1.0})
    forged = certificate.claims[0].model_copy(update={"condition": "erl", "trials": (task,) * 20})
    assert "has no record of such a gate" in check(Certificate(claims=(forged,)), store)[0]


def test_a_pin_that_decides_how_a_note_is_told_makes_it_invalid(store, certificate):
    store.update_lesson(store.get_lesson("les-1").model_copy(update={"pinned": True}), who="person", why="")
    assert "was changed" in check(certificate, store)[0]


def test_prompts_that_a_claim_does_not_name_are_not_compared(store, certificate):
    claim = certificate.claims[0].model_copy(update={"prompts": ""})
    keep_claim(store, claim)
    assert check(Certificate(claims=(claim,)), store, prompts="q") == []


def test_a_prompt_that_is_refused_only_with_lessons_failed(store):
    alone, refused = attempt(store, 60, "a", True), attempt(store, 60, "b", None)
    refused = refused.model_copy(update={"meta": {"refused": True}})
    assert (trial([alone], [refused]).side, trial([alone], [refused]).excluded) == (-1, False)
    assert trial([refused], [refused]).excluded
    assert trial([refused], [alone]).excluded


def test_many_small_wins_do_not_outweigh_a_few_large_losses():
    """Repeats: the mean effect is 0, three of four tasks are won by a third, and the others are lost whole."""
    ends = [
        Trial(task=str(n), without=("a",), lessons=("b",), difference=-1.0 if n % 4 == 0 else 1 / 3)
        for n in range(8000)
    ]
    sides = [one.side for one in ends]
    assert all(side == -1 for side, one in zip(sides, ends, strict=True) if one.difference == -1)
    assert abs(sides.count(1) - sides.count(-1)) < 4 * len(sides) ** 0.5
    assert sides == [one.side for one in ends]


def test_a_lesson_from_the_gate_itself(store, certificate):
    lesson = Lesson(id="les-1", kind="note", key="sad", text="k9", sources=("tra-b3",))
    store.update_lesson(store.get_lesson("les-1").model_copy(update={"sources": lesson.sources}), who="model", why="")
    assert lesson_hash(lesson) == certificate.claims[0].lessons["les-1"]
    assert "from an attempt of the gate" in check(certificate, store)[0]


def test_a_task_with_a_servers_error_is_a_tie(store):
    one = trial([attempt(store, 50, "a", None)], [attempt(store, 50, "b", True)])
    assert (one.difference, one.excluded) == (0.0, True)
    one = trial([attempt(store, 51, "a", False)], [attempt(store, 51, "b", True)])
    assert (one.difference, one.excluded) == (1.0, False)


@pytest.mark.parametrize("candidates", [0, -1, 10**400])
def test_no_number_of_candidates_raises(tmp_path, certificate, candidates):
    raw = json.loads(certificate.model_dump_json())
    raw["claims"][0]["candidates"] = candidates
    file = tmp_path / "c.json"
    file.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"is not a certificate: claims\.0\.candidates"):
        read_certificate(file)


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"claims": []}', "[" * 100_000, '{"claims": 3}', '{"claims": [{"condition": 1}]}']
)
def test_a_file_that_is_none(tmp_path, text):
    file = tmp_path / "c.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a certificate"):
        read_certificate(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_certificate(tmp_path / "none.json")


@pytest.fixture
def certified(tmp_path):
    """A memory whose lesson helps every time, certified on 12 tasks."""
    with Memory(tmp_path / "notes.db", method="nearest", embedder="hashing") as memory:
        memory.add("Close the drawer first.")
        memory.certify([f"open drawer {n}" for n in range(12)], lambda task, told: bool(told), agent="robot")
    return str(tmp_path / "notes.db")


def test_a_certificate_holds_until_a_lesson_changes(certified, cli):
    said = cli("lessons", "list", "--store", certified).out
    assert "memory/default: certified (6 tasks won, 0 lost, p = 0.016)" in said
    line = json.loads(cli("export", "--format", "jsonl", "--store", certified).out.splitlines()[0])
    assert line["data"]["certificate"].startswith("certified (6 tasks won")
    lesson = line["id"]
    cli("lessons", "edit", lesson, "--text", "Never close a drawer.", "--why", "a trial", "--store", certified)
    assert f"the lesson {lesson} was changed since the gate" in cli("lessons", "list", "--store", certified).out
    assert "proof    its certificate is broken" in cli("lessons", "show", lesson, "--store", certified).out
    markdown = cli("export", "--format", "markdown", "--store", certified).out
    assert "Its certificate is broken" in markdown


def test_lessons_that_were_not_promoted_have_no_certificate(tmp_path):
    with Memory(tmp_path / "notes.db", method="nearest", embedder="hashing") as memory:
        memory.add("Close the drawer first.")
        memory.certify([f"open drawer {n}" for n in range(12)], lambda task, told: not told)
        assert standing(memory.pool.store, memory.pool.scope) is None


def test_a_mark_of_another_version_is_no_certificate(tmp_path):
    with Memory(tmp_path / "notes.db", method="nearest", embedder="hashing") as memory:
        for value in ([{"odd": 1}], 7, "text"):
            memory.pool.store.mark(memory.pool.scope, "claims", value)
            assert standing(memory.pool.store, memory.pool.scope) is None
