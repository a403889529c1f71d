"""Two stages against scoring everything, in small: a scripted model that likes what shares words with the task."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from seasoned.errors import InfrastructureError
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.erl import ERL
from seasoned.pool import ExperiencePool
from seasoned.retrieve.transcript import tokens
from seasoned.store.sql import Store
from seasoned.types import Task

SCRIPT = Path(__file__).parents[2] / "experiments" / "two_stage.py"


@pytest.fixture
def two_stage():
    spec = importlib.util.spec_from_file_location("two_stage", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("two_stage", None)


@pytest.fixture
def run(two_stage, tmp_path):
    def go(model, *more):
        files = ["--store", str(tmp_path / "a.db"), "--out", str(tmp_path / "a.json"), "--embedder", "hashing"]
        small = ["--heuristics", "120", "--tasks", "3", "--k", "5", "--recall-first", "30", "--together", "2"]
        two_stage.main([*files, *small, *more], llm=model)
        return json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))

    return go


def likes_common_words(messages):
    listed, _, task = messages[-1]["content"].partition("The new task:")
    wanted = set(re.findall(r"[a-z]{3,}", task.lower()))
    items = re.findall(r"^(\d+)\. (.*)$", listed, re.MULTILINE)
    share = {int(n): len(wanted & set(re.findall(r"[a-z]{3,}", item.lower()))) for n, item in items}
    best = sorted(share, key=lambda n: -share[n])[:5]
    return {"ranking": " ".join(f"{n}:{min(100, 5 * share[n])}" for n in best), "contradictions": []}


def test_heuristics_read_like_some_are_different_and_have_near_ones(two_stage):
    lessons, tasks = two_stage.made(1000, 10, 0)
    assert len({lesson["text"] for lesson in lessons}) == len(lessons) == 1000
    for lesson in lessons:
        assert re.fullmatch(r"When [^{}]{15,140}: [^{}]{15,220}", lesson["text"])
        assert lesson["text"] == f"When {lesson['key']}: {lesson['data']['action']}"
    assert len(tasks) == len({task.text for task in tasks}) == 10
    for task in tasks:
        kind = re.search(r"(?:looking for|find me|to buy|Show me) (.+?):", task.text)[1]
        assert 20 <= sum(kind in lesson["text"] for lesson in lessons) <= 80
        assert all(task.text.split("\n")[2] not in lesson["data"]["task"] for lesson in lessons)
    assert two_stage.made(1000, 10, 0)[0] == lessons != two_stage.made(1000, 10, 1)[0]


def test_scoring_everything_is_what_erl_does_in_one_recall(run, two_stage, tmp_path):
    found = run(ScriptedModel(likes_common_words), "--room", "600")
    with Store(tmp_path / "a.db") as store:
        pool = ExperiencePool(store, "two-stage-120-3-0")
        for row in found["tasks"]:
            model = ScriptedModel(likes_common_words)
            erl = ERL(model, about=two_stage.ABOUT, retrieve="llm", k=5, rank_room=600, reasons=False)
            chosen = erl.choose(Task(id=row["task"], text=row["text"]), pool)
            assert [int(lesson.id.rpartition("-")[2]) for lesson in chosen] == row["exhaustive"]["chosen"]
            assert len(model.requests) == row["exhaustive"]["calls"] > 10


def test_recall_is_counted_against_all_scores(run, capsys):
    model = ScriptedModel(likes_common_words)
    found = run(model, "--again", "1")
    everything, two, again, *nearest = found["figures"]
    assert (everything["what"], two["what"], again["what"]) == (
        *("exhaustive", "two-stage, 30 first"),
        "exhaustive in another order",
    )
    assert [each["what"] for each in nearest] == ["the nearest 40", "the nearest 100"]
    for row in found["tasks"]:
        best, chosen, scores = row["exhaustive"]["chosen"], row["two-stage"]["chosen"], row["scores"]
        assert len(best) == len(chosen) == 5
        assert row["two-stage"]["recall"] == len(set(best) & set(chosen)) / 5 <= row["two-stage"]["with_ties"]
        assert row["embedding"]["40"]["recall"] <= row["embedding"]["100"]["recall"]
        assert min(scores[str(place)] for place in best) == row["exhaustive"]["least"] == sorted(scores.values())[-5]
        assert row["two-stage"]["calls"] < row["exhaustive"]["calls"]
    assert two["recall"] == sum(row["two-stage"]["recall"] for row in found["tasks"]) / 3
    assert two["recall_interval"][0] < two["recall"] <= two["recall_interval"][1]
    assert again["with_ties"] == 1.0  # this model is of one mind
    assert [row["again"] is None for row in found["tasks"]] == [False, True, True]
    shown = capsys.readouterr().out
    assert "two-stage, 30 first" in shown
    assert "the nearest 100" in shown
    for request in model.requests:
        assert "reason" not in request["messages"][0]["content"] + json.dumps(request["schema"])
        prompt = sum(tokens(message["content"]) for message in request["messages"])
        assert prompt * 1.15 + request["max_tokens"] <= 4096  # a quarter of the characters is an estimate


def test_tasks_take_each_part_in_turn(run):
    model = ScriptedModel(likes_common_words)
    run(model, "--tasks", "2", "--room", "600")
    prompts = [request["messages"][-1]["content"].split("The new task")[0] for request in model.requests]
    alike = [one == other for one, other in zip(prompts[::2], prompts[1::2], strict=False)]
    assert alike[:10] == [True] * 10


def test_a_run_that_was_stopped_keeps_what_it_has_and_goes_on(run, tmp_path):
    whole = ScriptedModel(likes_common_words)
    first = run(whole)
    for file in tmp_path.iterdir():
        file.unlink()
    left = [len(whole.requests) - 3]

    def fails(messages):
        left[0] -= 1
        return likes_common_words(messages) if left[0] >= 0 else InfrastructureError("gone")

    stopped, resumed = ScriptedModel(fails), ScriptedModel(likes_common_words)
    with pytest.raises(InfrastructureError):
        run(stopped)
    kept = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert len(kept["tasks"]) == 2
    assert run(resumed) == first
    assert len(resumed.requests) == 3


def test_numbers_that_cannot_be(run):
    with pytest.raises(SystemExit):
        run(ScriptedModel([]), "--k", "120")
    with pytest.raises(SystemExit):
        run(ScriptedModel([]), "--together", "0")
