"""Two stages against scoring everything, in small: a scripted model that likes what shares words with the task."""

import json
import re

import pytest
from loading import program

from seasoned.errors import InfrastructureError
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.erl import ERL
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.text import tokens
from seasoned.types import Task

two_stage = program("experiments/two_stage.py")


@pytest.fixture
def run(tmp_path):
    def go(model, *more):
        files = ["--store", str(tmp_path / "a.db"), "--out", str(tmp_path / "a.json"), "--embedder", "hashing"]
        small = ["--heuristics", "120", "--tasks", "3", "--k", "5", "--recall-first", "30", "--slots", "1"]
        two_stage.main([*files, *small, *more], llm=model)
        return json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))

    return go


def likes_common_words(messages):
    task, _, lesson = messages[-1]["content"].partition("The lesson:")
    wanted, said = (set(re.findall(r"[a-z]{3,}", text.lower())) for text in (task, lesson))
    return str(min(9, len(wanted & said)))


def test_heuristics_read_like_some_are_different_and_have_near_ones():
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


def test_marking_everything_is_what_erl_does_in_one_recall(run, tmp_path):
    found = run(ScriptedModel(likes_common_words))
    with Store(tmp_path / "a.db") as store:
        pool = ExperiencePool(store, "two-stage-120-3-0")
        for row in found["tasks"]:
            model = ScriptedModel(likes_common_words)
            erl = ERL(model, about=two_stage.ABOUT, retrieve="llm", k=5, reasons=False)
            chosen = erl.choose(Task(id=row["task"], text=row["text"]), pool)
            assert [int(lesson.id.rpartition("-")[2]) for lesson in chosen] == row["exhaustive"]["chosen"]
            assert len(model.requests) == row["exhaustive"]["calls"] == 120


def test_recall_is_counted_against_all_marks(run, capsys):
    model = ScriptedModel(likes_common_words)
    found = run(model)
    everything, two, *nearest = found["figures"]
    assert (everything["what"], two["what"]) == ("exhaustive", "two-stage, 30 first")
    assert [each["what"] for each in nearest] == ["the nearest 5", "the nearest 40", "the nearest 100"]
    assert len(model.requests) == 3 * 120  # what the first stage leaves was marked before
    for row in found["tasks"]:
        best, chosen, scores = row["exhaustive"]["chosen"], row["two-stage"]["chosen"], row["scores"]
        assert len(best) == len(chosen) == 5
        assert row["two-stage"]["recall"] == len(set(best) & set(chosen)) / 5
        assert row["embedding"]["40"]["recall"] <= row["embedding"]["100"]["recall"]
        assert min(scores[str(place)] for place in best) == sorted(scores.values())[-5]
        assert (row["two-stage"]["calls"], row["exhaustive"]["calls"]) == (30, 120)
        assert 0 <= row["exhaustive"]["about"] <= 1
    assert two["recall"] == sum(row["two-stage"]["recall"] for row in found["tasks"]) / 3
    assert two["recall_interval"][0] < two["recall"] <= two["recall_interval"][1]
    shown = capsys.readouterr().out
    assert "two-stage, 30 first" in shown
    assert "the nearest 100" in shown
    for request in model.requests:
        prompt = sum(tokens(message["content"]) for message in request["messages"])
        assert prompt * 1.15 + request["max_tokens"] <= 2048  # a quarter of the characters is an estimate


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
        run(ScriptedModel([]), "--slots", "0")
