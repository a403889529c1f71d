"""What is asked of a finished run: a certificate and an audit; the run itself stays as it is."""

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.run.extend import audit, certify
from seasoned.lab.run.rundir import prompts_digest, read_summary
from seasoned.lab.run.settings import GateSettings
from seasoned.proof.certificate import check, read_certificate

NAMES = ["disabled", "expnote"]


def test_a_finished_run_is_certified_with_tasks_it_did_not_use(recipe, go, store, model):
    directory = go(recipe(conditions=NAMES, train=20, test=6))
    before = (directory / "summary.json").read_bytes()
    made = certify(directory, store, gate=GateSettings(tasks=20), llm=model, quiet=True)
    assert made.deployed == "expnote+gate"
    assert made == read_certificate(directory / "certificate.json")
    assert check(made, store, prompts=prompts_digest()) == []
    assert (directory / "summary.json").read_bytes() == before
    used = {attempt.task_id for key, attempt in store.episodes(directory.name).items() if ":" not in key.split("/")[1]}
    gate = {attempt.task_id for key, attempt in store.episodes(directory.name).items() if ":" in key.split("/")[1]}
    assert len(gate) >= 10
    assert not gate & used
    calls = len(model.requests)
    assert certify(directory, store, gate=GateSettings(tasks=20), llm=model, quiet=True).claims == made.claims
    assert len(model.requests) == calls


def test_where_no_tasks_are_left_the_training_tasks_are_crossed(recipe, go, store, model):
    directory = go(recipe(conditions=NAMES, train=24, test=6))
    with pytest.raises(ConfigError, match=r"the gate needs 900 training tasks.*gate\.crossfit=4"):
        certify(directory, store, gate=GateSettings(tasks=900), llm=model, quiet=True)
    (claim,) = certify(directory, store, gate=GateSettings(crossfit=3), llm=model, quiet=True).claims
    assert claim.crossfit
    assert claim.planned == 24


def test_another_set_of_candidates_would_add_to_the_risk(recipe, go, store, model):
    directory = go(recipe(conditions=["disabled", "expnote", "expnote(k=2)"], train=10, test=3))
    gate = GateSettings(tasks=12)
    first = certify(directory, store, conditions=["expnote"], gate=gate, llm=model, quiet=True)
    for names in (["expnote(k=2)"], []):
        with pytest.raises(ConfigError, match=r"the gate of expnote\+gate was decided before, as one of 1"):
            certify(directory, store, conditions=names, gate=gate, llm=model, quiet=True)
    assert certify(directory, store, conditions=["expnote"], gate=gate, llm=model, quiet=True).claims == first.claims


def test_an_audit_leaves_the_run_and_writes_beside_it(recipe, go, store, model):
    directory = go(recipe(conditions=NAMES, train=24, test=10))
    before = (directory / "summary.json").read_bytes()
    summary = audit(directory, store, llm=model, quiet=True)
    names = [one.name for one in summary.conditions]
    assert names == [*NAMES, *(f"expnote+{how}" for how in ("blank", "shuffled", "foreign", "corrupted"))]
    assert summary.condition("expnote").accuracy > summary.condition("expnote+blank").accuracy
    assert (directory / "audit" / "report.html").is_file()
    assert (directory / "summary.json").read_bytes() == before
    assert read_summary(directory / "audit") == summary


def test_conditions_that_learned_nothing_or_are_not_there(recipe, go, store, model):
    directory = go(recipe(conditions=["disabled"], train=4, test=3))
    with pytest.raises(ConfigError, match="should have conditions that learned lessons: none did"):
        audit(directory, store, llm=model, quiet=True)
    directory = go(recipe(conditions=NAMES, train=4, test=3))
    with pytest.raises(ConfigError, match="it has no 'erl'; it learned with expnote"):
        certify(directory, store, conditions=["erl"], llm=model, quiet=True)
