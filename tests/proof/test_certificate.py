"""Certificates: what holds is silent, and each change since the gate is named."""

import pytest

from seasoned.errors import ConfigError
from seasoned.proof.certificate import (
    Certificate,
    Claim,
    check,
    keep_claim,
    lesson_hash,
    lesson_hashes,
    read_certificate,
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
    assert "with the model m, and now it is n" in check(certificate, store, model="n")[0]
    assert "prompts have changed" in check(certificate, store, prompts="q")[0]
    with Store(tmp_path / "other.db") as other:
        assert "holds none of the gate's attempts" in check(certificate, other)[0]


def test_a_forged_decision_and_forged_outcomes(store, certificate):
    claim = certificate.claims[0]
    flat = claim.model_copy(update={"trials": tuple(t.model_copy(update={"difference": 1.0}) for t in claim.trials)})
    problems = check(Certificate(claims=(flat,)), store)
    assert any("do not follow" in one for one in problems)
    assert any("ended otherwise" in one for one in problems)
    fewer = claim.model_copy(update={"planned": 200})
    assert "do not follow" in check(Certificate(claims=(fewer,)), store)[0]


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


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"claims": 3}', '{"claims": [{"condition": 1}]}'])
def test_a_file_that_is_none(tmp_path, text):
    file = tmp_path / "c.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a certificate"):
        read_certificate(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_certificate(tmp_path / "none.json")
