"""The probe of a run: lessons that harm are left out, those that help are kept, and nothing is judged on its tasks."""

import json
import re

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.rundir import read_rows, read_summary, recipe_of
from seasoned.llm.scripted import ScriptedModel

PROBED = ["disabled", "expnote", "expnote+probed"]


def test_the_lessons_that_help_are_kept(recipe, go, store, apprentice):
    directory = go(recipe(conditions=[*PROBED, "expnote+probed+gate"], train=30, test=10, gate={"tasks": 12}))
    summary = read_summary(directory)
    assert {one.condition for one in summary.probes} == {"expnote+probed"}
    kept = {one.lesson_id for one in summary.probes if one.kept}
    assert kept
    assert summary.condition("expnote+probed").accuracy > summary.condition("disabled").accuracy
    attempts = store.episodes(directory.name)
    coins = [attempt.meta["coins"] for key, attempt in attempts.items() if "/expnote+probed:coins/" in key]
    assert len(coins) == 40
    tossed = [on for one in coins for on in one.values()]
    assert 0.3 < sum(tossed) / len(tossed) < 0.7
    for key, attempt in attempts.items():
        if ":coins/" in key:
            assert set(attempt.lesson_ids) == {name for name, on in attempt.meta["coins"].items() if on}
    assert {row.split for row in read_rows(directory)} == {"train", "test"}
    assert "What single lessons seem to do" in (directory / "report.html").read_text(encoding="utf-8")
    (gate,) = summary.gates
    assert (gate.condition, gate.of) == ("expnote+probed+gate", "expnote+probed")
    calls = apprentice.calls
    go(recipe_of(directory), resume=directory)
    assert apprentice.calls == calls


def test_lessons_that_harm_are_left_out(recipe, go, apprentice):
    """A model that answers right, until a note stands before the question: then it answers what is wrong."""
    benchmark = load_benchmark("emoji", {"symbols": "codes"}, seed=0)
    tasks = (*benchmark.train, *benchmark.test)
    codes = {apprentice.feelings[task.text.splitlines()[0]]: task.data["answer"] for task in tasks}

    def model(messages):
        last = messages[-1]["content"]
        if last.endswith(("THINK", "NOTE")):
            return apprentice.say(messages)
        asked = [m["content"].splitlines()[0] for m in messages if m["content"].endswith("\nTHINK")]
        right = codes.get(apprentice.feelings.get(asked[-1], ""), "")
        choices = next(line for line in last.splitlines() if re.fullmatch(r"\S\S(  \S\S){3}", line)).split()
        noted = re.search(r"^- (\S+): (.+)$", last, re.MULTILINE)
        return json.dumps(next(code for code in choices if (code == right) != bool(noted)))

    scripted = ScriptedModel(model, name="confused")
    directory = go(recipe(conditions=PROBED, train=6, test=6, probe={"tasks": 20}), llm=scripted)
    summary = read_summary(directory)
    assert summary.condition("expnote").accuracy < summary.condition("disabled").accuracy
    assert summary.probes
    assert not any(one.kept for one in summary.probes)
    assert summary.condition("expnote+probed").accuracy == summary.condition("disabled").accuracy


def test_probe_tasks_have_one_purpose(recipe):
    plan = make_plan(recipe(conditions=[*PROBED, "expnote+probed+gate"], train=30, test=10, gate={"tasks": 20}))
    (block,) = plan.blocks
    parts = [{task.id for task in tasks} for tasks in (block.train, block.gate, block.probe, block.test)]
    assert [len(one) for one in parts] == [30, 20, 40, 10]
    assert len(set.union(*parts)) == 100
    assert plan.episodes == 30 + 2 * 20 + 2 * 40 + 4 * 10


def test_what_a_probe_cannot_do_is_said_before_anything_is_paid_for(recipe):
    with pytest.raises(ConfigError, match=r"the probe needs 4000 training tasks beside the 6.*lower train"):
        make_plan(recipe(conditions=PROBED, probe={"tasks": 4000}))
    with pytest.raises(ConfigError, match=r"gate\.crossfit learns anew for each part"):
        make_plan(recipe(conditions=[*PROBED, "expnote+gate"], train=24, gate={"crossfit": 3}))
    with pytest.raises(ConfigError, match="disabled learns no lessons of its own"):
        conditions(["disabled+probed"])
    with pytest.raises(ConfigError, match=r"one ending, or \+probed\+gate"):
        conditions(["expnote+gate+probed"])
