"""Gates in a run: what proves itself is deployed, what does not is not, and the certificate can be checked."""

import dataclasses
import json
import random

import pytest

from seasoned.errors import ConfigError, InfrastructureError, LeakError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run import plan as plan_module
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.keys import GATE, gate_scope
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.rundir import prompts_digest, read_rows, read_summary, recipe_of
from seasoned.llm.scripted import ScriptedModel
from seasoned.proof.certificate import check, read_certificate
from seasoned.text import split_words
from seasoned.types import TEXT_REPEATS

GATED = ["disabled", "expnote", "expnote+gate"]


def accuracy(summary, name):
    return summary.condition(name).accuracy


def test_lessons_that_help_are_promoted_and_deployed(recipe, go, store, apprentice):
    directory = go(recipe(conditions=GATED, train=30, test=10, gate={"tasks": 20}))
    summary = read_summary(directory)
    (gate,) = summary.gates
    assert (gate.condition, gate.of, gate.block, gate.planned, gate.promoted) == (
        "expnote+gate",
        "expnote",
        "s0f0",
        20,
        True,
    )
    assert gate.looks[0].won > gate.looks[0].lost == 0
    assert accuracy(summary, "expnote+gate") == accuracy(summary, "expnote") > accuracy(summary, "disabled")
    assert {row.split for row in read_rows(directory)} == {"train", "test"}
    certificate = read_certificate(directory / "certificate.json")
    text = (directory / "certificate.json").read_text(encoding="utf-8")
    assert set(json.loads(text)) == {"schema_version", "run", "version", "created", "claims"}
    assert str(directory.parent) not in text  # it names no place and no prompt
    assert certificate.deployed == "expnote+gate"
    assert check(certificate, store, model="apprentice", prompts=prompts_digest()) == []
    assert "Gates" in (directory / "report.html").read_text(encoding="utf-8")
    calls = apprentice.calls
    go(recipe_of(directory), resume=directory)
    assert apprentice.calls == calls
    assert read_certificate(directory / "certificate.json").claims == certificate.claims


def test_lessons_without_effect_are_not_deployed(recipe, go, store):
    model = ScriptedModel(lambda messages: "ANSWER[a]", name="stubborn")
    directory = go(recipe(conditions=GATED, train=6, test=4, gate={"tasks": 12}), llm=model)
    summary = read_summary(directory)
    (gate,) = summary.gates
    assert not gate.promoted
    assert [one.verdict for one in gate.looks] == ["stop"]
    attempts = store.episodes(directory.name)
    gated = [attempt for key, attempt in attempts.items() if "/expnote+gate/" in key]
    assert len(gated) == 4
    assert all(attempt.lesson_ids == () and attempt.guidance == "" for attempt in gated)
    assert len([key for key in attempts if "/expnote+gate:" in key]) == 2 * 6  # it stopped after half of the tasks
    assert read_certificate(directory / "certificate.json").deployed == ""


def test_facts_that_harm_are_not_told(recipe, go, store, tmp_path):
    def answers(messages):
        symbol = "a" if "has to do with" in str(messages) else "b"
        return f"ANSWER[{symbol}]"

    facts, tasks = tmp_path / "facts.csv", load_benchmark("emoji", {"symbols": "codes"}, seed=0)
    words = sorted({word for task in (*tasks.train, *tasks.test) for word in split_words(task.text)})
    lines = [f"/a/1\t/r/RelatedTo\t/c/en/{word}\t/c/en/thing\n" for word in words]
    facts.write_text("".join(lines), encoding="utf-8")
    names = ["disabled", "teachme", "teachme+gate"]
    settings = {"conditions": names, "train": 0, "test": 4, "gate": {"tasks": 12}, "method": {"facts": str(facts)}}
    directory = go(recipe(**settings), llm=ScriptedModel(answers, name="stubborn"))
    (gate,) = read_summary(directory).gates
    assert (gate.of, gate.promoted) == ("teachme", False)
    attempts = store.episodes(directory.name).items()
    told = {name: {one.guidance != "" for key, one in attempts if f"/{name}/" in key} for name in names[1:]}
    assert told == {"teachme": {True}, "teachme+gate": {False}}


def test_prompts_that_lessons_did_not_change_are_ties_at_any_temperature(recipe, go, tmp_path):
    dice, facts = random.Random(0), tmp_path / "facts.csv"
    facts.write_text("/a/1\t/r/IsA\t/c/en/xylophone\t/c/en/thing\n", encoding="utf-8")
    model = ScriptedModel(lambda messages: f"ANSWER[{dice.choice('abcdefg')}]", name="moody")
    settings = {"conditions": ["disabled", "teachme+gate"], "train": 0, "test": 2, "gate": {"tasks": 12}, "workers": 1}
    warm = recipe(**settings, method={"facts": str(facts)}, llm={"temperature": 0.7}, repeats=2)
    directory = go(warm, llm=model)
    (claim,) = read_certificate(directory / "certificate.json").claims
    assert {one.difference for one in claim.trials} == {0.0}
    assert len(model.requests) == 3 * (
        6 * 2 + 2 * 2 * 2
    )  # three turns for each repeat of a gate task and each test attempt


def test_the_levels_are_divided_by_the_candidates(recipe, go):
    names = ["disabled", "expnote+gate", "case+gate"]
    directory = go(recipe(conditions=names, train=10, test=3, gate={"tasks": 16}))
    assert {gate.candidates for gate in read_summary(directory).gates} == {2}
    levels = {look.level for gate in read_summary(directory).gates for look in gate.looks}
    assert levels <= {0.01, 0.015}


def test_gate_tasks_are_neither_learned_from_nor_judged(recipe):
    plan = make_plan(recipe(conditions=GATED, train=30, test=10, gate={"tasks": 20}))
    (block,) = plan.blocks
    ids = [{task.id for task in tasks} for tasks in (block.train, block.gate, block.test)]
    assert [len(one) for one in ids] == [30, 20, 10]
    assert len(set.union(*ids)) == 60
    folded = make_plan(recipe(conditions=GATED, train=30, test=30, folds=2, gate={"tasks": 10}))
    assert [(len(b.train), len(b.gate), len(b.test)) for b in folded.blocks] == [(20, 10, 30)] * 2
    assert plan.episodes == 30 + 2 * 20 + 3 * 10


@pytest.mark.parametrize(("condition", "what"), [("expnote+gate", "gate"), ("expnote+probed", "probe")])
@pytest.mark.parametrize("same", ["id", "text"])
def test_a_gate_task_that_is_judged_as_well_is_refused(recipe, monkeypatch, condition, what, same):
    real = plan_module.load_benchmark

    def overlapping(name, options, seed):
        benchmark = real(name, options, seed=seed)
        train = list(benchmark.train)
        train[8] = train[8].model_copy(update={same: getattr(benchmark.test[2], same)})
        return dataclasses.replace(benchmark, train=tuple(train))

    monkeypatch.setattr(plan_module, "load_benchmark", overlapping)
    wanted = recipe(conditions=["disabled", "expnote", condition], gate={"tasks": 12}, probe={"tasks": 12})
    with pytest.raises(LeakError, match=f"the {what} task .* is a test task as well"):
        make_plan(wanted)


def test_a_gate_task_may_share_its_text_where_the_environment_says_so(recipe, monkeypatch):
    real = plan_module.load_benchmark

    def repeating(name, options, seed):
        benchmark = real(name, options, seed=seed)
        train = list(benchmark.train)
        train[8] = train[8].model_copy(update={"text": benchmark.test[2].text, "data": {TEXT_REPEATS: True}})
        return dataclasses.replace(benchmark, train=tuple(train))

    monkeypatch.setattr(plan_module, "load_benchmark", repeating)
    (block,) = make_plan(recipe(conditions=GATED, gate={"tasks": 12})).blocks
    assert len(block.gate) == 12


def test_a_gate_task_at_which_the_server_fails_counts_in_neither_arm(recipe, go, apprentice):
    settings = recipe(conditions=GATED, train=30, test=4, gate={"tasks": 20})
    broken = make_plan(settings).blocks[0].gate[3].text.partition("\n")[0]

    def failing(messages):
        if any(broken in message["content"] for message in messages):
            raise InfrastructureError("gone")
        return apprentice(messages)

    directory = go(settings, llm=ScriptedModel(failing, name="apprentice"))
    (gate,), (claim,) = read_summary(directory).gates, read_certificate(directory / "certificate.json").claims
    assert gate.excluded == claim.excluded == 1
    assert [one.difference for one in claim.trials if one.excluded] == [0.0]
    assert claim.promoted


def test_what_a_gate_cannot_do_is_said_before_anything_is_paid_for(recipe):
    with pytest.raises(ConfigError, match=r"gate of 4 tasks can promote nothing.*Set gate\.tasks to 6 or more"):
        make_plan(recipe(conditions=GATED, gate={"tasks": 4}))
    with pytest.raises(ConfigError, match=r"the gate needs 300 training tasks beside the 6.*gate\.crossfit=4"):
        make_plan(recipe(conditions=GATED, gate={"tasks": 300}))
    with pytest.raises(ConfigError, match=r"gate\.crossfit cuts the training tasks into parts"):
        make_plan(recipe(conditions=GATED, train=10, gate={"crossfit": 1}))
    with pytest.raises(ConfigError, match=r"disabled learns no lessons of its own, so there is nothing for \+gate"):
        conditions(["disabled+gate"])
    with pytest.raises(ConfigError, match="give expnote one ending"):
        conditions(["expnote+gate+blank"])
    assert conditions(["erl(k=3)+gate"])[0].name == "erl(k=3)+gate"


def test_what_is_redone_is_decided_again(recipe, go, store, apprentice):
    directory = go(recipe(conditions=GATED, train=20, test=4, gate={"tasks": 12}))
    before = read_certificate(directory / "certificate.json")
    go(recipe_of(directory), resume=directory, redo=["training"])
    after = read_certificate(directory / "certificate.json")
    assert after.claims[0].trials != before.claims[0].trials
    assert check(after, store) == []
    assert "holds none of the gate's attempts" in check(before, store)[0]


def test_lessons_that_a_person_changes_meanwhile_are_neither_tried_nor_deployed(recipe, go, store):
    directory = go(recipe(conditions=GATED, train=20, test=4, gate={"tasks": 12}))
    run, (claim,) = directory.name, read_certificate(directory / "certificate.json").claims
    assert claim.promoted
    lesson = store.get_lesson(next(iter(claim.lessons)))
    store.update_lesson(lesson.model_copy(update={"text": "z9"}), who="person", why="")
    store.drop_episodes(run, [key for key in store.episodes(run) if "/expnote+gate/" in key])
    go(recipe_of(directory), resume=directory)
    assert all(not made.guidance for key, made in store.episodes(run).items() if "/expnote+gate/" in key)
    store.unmark(gate_scope(run, "s0f0", "expnote+gate"), GATE)  # as if it had been stopped after the first look
    with pytest.raises(ConfigError, match="were changed while the gate tried them"):
        go(recipe_of(directory), resume=directory)


def test_lessons_are_tried_on_parts_they_were_not_learned_from_where_tasks_are_scarce(recipe, go, store):
    directory = go(recipe(conditions=GATED, train=24, test=6, gate={"crossfit": 3}))
    (gate,) = read_summary(directory).gates
    assert (gate.crossfit, gate.planned) == (True, 24)
    (claim,) = read_certificate(directory / "certificate.json").claims
    task_of = {attempt.id: attempt.task_id for attempt in store.episodes(directory.name).values()}
    lessons = {lesson.id: lesson for scope in store.scopes() for lesson in store.lessons(scope)}
    for trial in claim.trials:
        (made,) = store.get_trajectories(list(trial.lessons))
        sources = {task_of[source] for one in made.lesson_ids for source in lessons[one].sources}
        assert made.task_id not in sources


def test_an_audit_changes_the_words_of_lessons_alone(recipe, go, store):
    names = ["disabled", "expnote", "expnote+blank", "expnote+shuffled", "expnote+corrupted", "expnote+foreign"]
    summary = read_summary(go(recipe(conditions=names, train=30, test=20)))
    assert accuracy(summary, "expnote") > accuracy(summary, "disabled")
    for name in names[2:]:
        assert accuracy(summary, name) < accuracy(summary, "expnote")
    assert any("Audit of ExpNote" in one and "the content matters" in one for one in summary.remarks)
