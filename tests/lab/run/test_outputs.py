"""The files of a run, and reading them back."""

import html
import json
import re
from dataclasses import replace

import pytest
from run_files import lines as rows

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.acting import make_actor
from seasoned.lab.run.outputs import row_of
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.rundir import read_rows, read_summary, recipe_of
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Task, Trajectory, Usage


@pytest.fixture
def directory(go, recipe):
    return go(recipe(seeds=[1, 0], conditions=["expnote", "disabled"]))


def test_files_say_what_the_store_says_in_the_order_of_the_plan(directory, store):
    kept = rows(directory, "trajectories.jsonl")
    stored = {t.id: t for t in store.episodes(directory.name).values()}
    assert {t["id"] for t in kept} == set(stored)
    for t in kept:
        assert t.pop("schema_version") == 1
        assert t == stored[t["id"]].model_dump(mode="json")
    order = list(dict.fromkeys((t["meta"]["seed"], t["meta"]["condition"]) for t in kept))
    names = ("training", "expnote", "disabled")
    assert order == [(seed, name) for seed in (1, 0) for name in names]


def test_every_result_names_its_trajectory_and_its_lessons(directory):
    kept = {t["id"]: t for t in rows(directory, "trajectories.jsonl")}
    lessons = {lesson["id"]: lesson for lesson in rows(directory, "lessons.jsonl")}
    used = set()
    for row in rows(directory, "results.jsonl"):
        assert kept[row["trajectory_id"]]["task_id"] == row["task_id"]
        used |= set(row["lesson_ids"])
    assert used
    assert used <= set(lessons)
    assert {lesson["data"]["seed"] for lesson in lessons.values()} == {0, 1}


def test_test_tasks_whose_goal_was_a_training_tasks_too_are_known(go, recipe):
    plan = make_plan(recipe())
    (block,) = plan.blocks
    told = {block.train[0].text: "a", **{task.text: "ab"[i % 2] for i, task in enumerate(block.test)}}
    benchmark = replace(block.benchmark, goal=lambda text: told.get(text, "c"))
    directory = go(replace(plan, blocks=(replace(block, benchmark=benchmark),)))
    assert {row["familiar"] for row in rows(directory, "results.jsonl") if row["split"] == "train"} == {None}
    tested = {row["task"]: row["familiar"] for row in rows(directory, "results.jsonl") if row["split"] == "test"}
    assert tested == {task.text: i % 2 == 0 for i, task in enumerate(block.test)}
    for condition in read_summary(directory).conditions:
        assert (condition.familiar["yes"].n, condition.familiar["no"].n) == (3, 2)


def test_where_goals_are_not_told_from_tasks_none_is_familiar(directory):
    assert {row["familiar"] for row in rows(directory, "results.jsonl")} == {None}
    assert all(condition.familiar == {} for condition in read_summary(directory).conditions)


def test_reading_back(directory):
    assert len(read_rows(directory)) == 2 * (6 + 10)
    assert read_summary(directory).run.id == directory.name
    text = (directory / "results.jsonl").read_text(encoding="utf-8")
    (directory / "results.jsonl").write_text(text.replace(read_rows(directory)[0].task, "a\u2028b"), encoding="utf-8")
    assert len(read_rows(directory)) == 2 * (6 + 10)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "expected a JSON object"),
        ("{}", "with a headline"),
        (None, "is not complete: go on"),
    ],
)
def test_a_summary_that_is_none(tmp_path, content, says):
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    with pytest.raises(ConfigError, match=says):
        read_summary(tmp_path)


@pytest.mark.parametrize("content", [None, "{}\n", "\x00\n", "[1]\n"])
def test_rows_that_are_none(tmp_path, content):
    if content is not None:
        (tmp_path / "results.jsonl").write_text(content)
    says = r"results\.jsonl cannot be read" if content is None else r"results\.jsonl, line 1, is no row of results"
    with pytest.raises(ConfigError, match=says):
        read_rows(tmp_path)


class Student:
    """Looks something up, then answers: rightly once it has been told anything. What it is asked beside, it answers."""

    def __init__(self):
        data = load_benchmark("hotpotqa", {}, seed=0)
        self.answers = {task.text: task.data["answer"] for task in (*data.train, *data.test)}

    def __call__(self, messages):
        first, last = messages[0]["content"], messages[-1]["content"]
        if last.endswith("Plan:"):
            return "Next time I finish with what I found."
        if '"trigger", "action"' in first:
            return {"analysis": "No.", "trigger": f"{len(last)} letters are seen", "action": f"count {last[-60:]}"}
        if '"context", "guideline"' in first:
            return {"context": "a page was read", "guideline": "read the other one too, instead of answering"}
        if "Mark the lesson" in first:
            return "7"
        if '"situation"' in first:
            return {"situation": "so", "numbers": [1]}
        tasks = [place for place, m in enumerate(messages) if m["content"].startswith("New task.")]
        if not tasks:
            return "ADD: Read both pages first."
        if len(messages) == tasks[-1] + 1:
            return "Thought: look.\nAction: Search[The first name]"
        whole = messages[tasks[-1]]["content"]
        right = "what I found" in whole or "count" in whole or "Read both pages" in whole
        answer = next(self.answers[text] for text in self.answers if text in whole)
        return f"Thought: so.\nAction: Finish[{answer if right else 'nobody knows'}]"


@pytest.fixture
def studied(go, recipe):
    def start(model, **changes):
        wanted = {
            "benchmark": {"name": "hotpotqa"},
            "conditions": ["react", "reflexion", "expel", "erl", "autoguide"],
            "baseline": "react",
            "train": 3,
            "test": 2,
            "embedder": "hashing",
            "gather": {"retries": 1},
            "method": {"trials": 1},
            "erl": {"k": 1},
            "expel": {"structured": False},
        }
        return go(recipe(**{**wanted, **changes}), llm=model)

    return start


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_every_prompt_of_a_run_can_be_read(studied, temperature):
    model = ScriptedModel(Student(), name="student")
    names = ["react", "reflexion", "expel", "expel-reasoning", "erl", "autoguide"]
    directory = studied(model, llm={"temperature": temperature}, folds=2, conditions=names)
    calls, told = rows(directory, "calls.jsonl"), rows(directory, "trajectories.jsonl")
    beside = {json.dumps(call["messages"]) for call in calls}
    turns = {json.dumps(t["messages"][:n]) for t in told for n in range(1, len(t["messages"]))}
    exchanged = [t for t in told if "demonstrations" in t["meta"]]
    assert {t["meta"]["condition"] for t in exchanged} == {"expel-reasoning"}
    turns |= {json.dumps(messages) for t in exchanged for messages in before_exchanges(t, told, directory)}
    asked = {json.dumps(request["messages"]) for request in model.requests}
    assert asked <= beside | turns
    assert beside <= asked - turns
    text = html.unescape((directory / "report.html").read_text(encoding="utf-8"))
    openings = re.findall(r'<div class="text" dir="auto">(.*?)</div>', text, re.DOTALL)
    for call in calls:
        assert call["reply"] in text
        assert all(message["content"] in openings for message in call["messages"])
    for t in exchanged:
        begun = text.index("Demonstrations before the task", text.rindex(f"seasoned replay <bdi>{t['id']}</bdi>"))
        words = text[begun : text.index("</p>", begun)]
        assert all(f"from step {part['from'] + 1}: " in words for part in t["meta"]["demonstrations"])
        shown = {one_id for part in t["meta"]["demonstrations"] for one_id in part["ids"]}
        assert all(one_id in words for one_id in shown)
        linked = shown & {one["id"] for one in told if one["meta"]["split"] == "train"}
        assert linked
        assert shown - linked <= {one.id for one in load_benchmark("hotpotqa", {}, seed=0).trajectories}
        for one_id in linked:
            anchor = re.search(rf'<a href="#([\w-]+)">{one_id}</a>', words)[1]
            assert f'<div id="{anchor}">\n<p class="soft">Answer' in text
            assert f"seasoned replay <bdi>{one_id}</bdi>" in text[text.index(f'<div id="{anchor}">') :][:400]


def before_exchanges(t, told, directory):
    """The conversations of an attempt as its model saw them, with each set of demonstrations in front of the task."""
    recipe = recipe_of(directory)
    benchmark = load_benchmark("hotpotqa", {}, seed=0)
    agent = make_actor(recipe, benchmark, None, "react", asks=True)
    made = [Trajectory.model_validate({k: v for k, v in one.items() if k != "schema_version"}) for one in told]
    known = {one.id: one for one in (*made, *benchmark.trajectories)}
    fronts = [agent.preamble([known[i] for i in shown["ids"]]) for shown in t["meta"]["demonstrations"]]
    after = t["messages"][len(fronts[-1]) :]
    assert t["messages"] == [*fronts[-1], *after]
    return [[*front, *after[:n]] for front in fronts for n in range(1, len(after))]


def test_calls_are_told_apart_by_what_they_were_for(studied):
    directory = studied(ScriptedModel(Student(), name="student"), llm={"temperature": 0.7})
    calls = rows(directory, "calls.jsonl")
    assert {call["schema_version"] for call in calls} == {1}
    found = {(call["purpose"], call["condition"], call["trial"], bool(call["task"])) for call in calls}
    assert found == {
        ("learning", "expel", 0, False),
        ("learning", "erl", 0, False),
        ("learning", "autoguide", 0, False),
        ("reflecting", "training", 1, True),
        ("reflecting", "reflexion", 1, True),
        ("recalling", "", 0, True),
    }
    order = list(dict.fromkeys(call["purpose"] for call in calls))
    assert order == ["learning", "reflecting", "recalling"]
    tasks = {t["task_id"]: t["task"] for t in rows(directory, "trajectories.jsonl")}
    assert all(tasks[call["task_id"]] == call["task"] for call in calls if call["task_id"])


def test_what_recall_used_is_kept_apart_from_the_turns(studied):
    directory = studied(ScriptedModel(Student(), name="student"), llm={"temperature": 0.7})
    asides = {row.trajectory_id: row.aside for row in read_rows(directory)}
    calls = [call for call in rows(directory, "calls.jsonl") if call["purpose"] == "recalling"]
    found = {condition.name: condition for condition in read_summary(directory).conditions}
    for t in rows(directory, "trajectories.jsonl"):
        assert asides[t["id"]] == Usage.model_validate(t["meta"].get("aside", {}))
    for name, words in (("erl", "Mark the lesson"), ("autoguide", '"situation"')):
        asked = [call for call in calls if words in call["messages"][0]["content"]]
        parts = found[name].phases
        assert parts.recall.calls == len(asked) > 0
        assert parts.learning.to_json() | {"problems": 0} == found[name].learning.to_json()
        assert parts.rollout.calls == found[name].calls - len(asked)
    assert found["reflexion"].phases.recall.calls > 0
    assert found["react"].phases.rollout == found["react"].phases.total
    assert "Tokens and cost by part (ERL, table 4)" in (directory / "report.html").read_text(encoding="utf-8")


def test_an_older_total_of_what_was_aside_is_read_past():
    meta = {"condition": "erl", "seed": 0, "fold": 0, "split": "test", "trained_on": 4, "aside": 812}
    made = Trajectory(task_id="t", task="t", meta=meta, usage=Usage(prompt_tokens=900))
    row = row_of(made, "r", Task(id="t", text="t"))
    assert (row.usage.prompt_tokens, row.aside) == (900, Usage())


def test_calls_that_conditions_share_are_there_once(studied, go):
    model = ScriptedModel(Student(), name="student")
    directory = studied(model, conditions=["react", "retry", "reflexion", "autoguide"])
    calls = rows(directory, "calls.jsonl")
    shared = [call for call in calls if call["purpose"] == "recalling"]
    assert shared
    assert {call["condition"] for call in shared} == {""}
    assert len({(call["task_id"], json.dumps(call["messages"])) for call in calls}) == len(calls)
    before = (directory / "calls.jsonl").read_text(encoding="utf-8")
    go(recipe_of(directory), resume=directory, llm=ScriptedModel([], name="student"))
    assert (directory / "calls.jsonl").read_text(encoding="utf-8") == before
