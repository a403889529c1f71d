"""Whole experiments with agents that act: gathering with retries, learning, evaluating, resuming."""

import json
from collections import Counter
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from run_files import by_name, lines, summary

from seasoned.errors import BudgetExceeded, ConfigError, ContextLengthError, InfrastructureError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.acting import actor, heuristics
from seasoned.lab.run.conditions import CONDITIONS
from seasoned.lab.run.gather import learning
from seasoned.lab.run.part import Part, Session
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe, load_recipe
from seasoned.lab.run.rundir import recipe_of
from seasoned.lab.run.settings import Limits
from seasoned.llm import opening
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.seeds import seed_shifted, shifted
from seasoned.text import tokens, transcript
from seasoned.types import ToolCall, Trajectory

INSIGHT = "Read the page of the second name before you answer."
PLAN = "Next time I finish with what I found."
HEURISTIC = {"analysis": "I did not look.", "trigger": "two names are known", "action": "read both pages first"}
NAMES = ["react", "retry", "reflexion", "expel", "expel-insights", "expel-retrieve", "few-shot-trajectories"]


class Reader:
    """Plays a model that finishes wrongly until it was told something: a plan, an insight, or a demonstration."""

    def __init__(self):
        data = load_benchmark("hotpotqa", {}, seed=0)
        self.answers = {task.text: task.data["answer"] for task in (*data.train, *data.test)}
        self.asked = Counter()
        self.insight = INSIGHT
        self.hints = (PLAN, INSIGHT)
        self.heuristic = HEURISTIC

    def __call__(self, messages):
        self.asked[json.dumps(messages)] += 1
        whole = "\n".join(message["content"] for message in messages)
        if whole.endswith("Plan:"):
            return PLAN
        if '"trigger", "action"' in whole:
            return json.dumps(self.heuristic)
        tasks = [message["content"] for message in messages if message["content"].startswith("New task.")]
        if not tasks:
            return f"ADD: {self.insight}"
        task = tasks[-1]
        answer = next(self.answers[text] for text in self.answers if text in task)
        shown = len(tasks) > 1
        told = shown or any(hint in whole for hint in self.hints)
        return f"Thought: so.\nAction: Finish[{answer if told else 'nobody knows'}]"


@pytest.fixture
def reader():
    return Reader()


@pytest.fixture
def played(recipe, go, reader):
    def start(model=None, learner=None, **changes):
        wanted = {
            "benchmark": {"name": "hotpotqa"},
            "conditions": NAMES,
            "baseline": "react",
            "train": 4,
            "test": 3,
            "embedder": "hashing",
            "gather": {"retries": 2},
            "agent": {"examples": 0},
            "method": {"trials": 1},
            "workers": 1,
        }
        model = model or ScriptedModel(reader, name="reader")
        return go(recipe(**{**wanted, **changes}), llm=model, learner=learner)

    return start


def blocks(directory):
    return summary(directory), by_name(directory)


def test_it_gathers_reflects_learns_and_is_judged_once(played, store, reader):
    directory = played()
    summary, found = blocks(directory)
    training = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"]
    assert [(t["meta"]["trial"], t["outcome"]["success"]) for t in training] == [(0, False), (1, True)] * 4
    assert all(PLAN in t["guidance"] for t in training if t["meta"]["trial"])
    assert {lesson.text for lesson in store.lessons(kind="insight")} == {INSIGHT}
    assert {name: block["successes"] for name, block in found.items()} == {
        "react": 0,
        "retry": 0,
        "reflexion": 3,
        "expel": 3,
        "expel-insights": 3,
        "expel-retrieve": 3,
        "few-shot-trajectories": 3,
    }
    assert [trial["solved"] for trial in found["reflexion"]["trials"]] == [0, 3]
    assert summary["training"]["n"] == 4
    assert found["expel"]["learning"] == found["expel-retrieve"]["learning"]
    assert found["expel"]["learning"]["calls"] == sum(
        n for asked, n in reader.asked.items() if "You study how an agent" in asked
    )
    assert found["react"]["learning"] is None
    assert (directory / "report.html").is_file()


@pytest.mark.parametrize(("iterate", "heuristics"), [("all", 4), ("failures", 2)])
def test_heuristics_can_be_learned_on_the_way_and_guide_what_comes_next(played, store, reader, iterate, heuristics):
    reader.hints = ("read both pages first",)
    changes = {"conditions": ["react", "erl-all"], "gather": {"iterate": iterate, "batch": 2}}
    directory = played(**changes)
    training = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"]
    assert [t["outcome"]["success"] for t in training] == [False, False, True, True]
    assert ["read both pages first" in t["guidance"] for t in training] == [False, False, True, True]
    assert all(not {t["id"]} & set(t["lesson_ids"]) for t in training)
    assert len(store.lessons(kind="heuristic")) == heuristics
    asked = sum(n for text, n in reader.asked.items() if '\\"trigger\\", \\"action\\"' in text)
    assert asked == heuristics  # nothing is learned a second time for the condition
    assert blocks(directory)[1]["erl-all"]["successes"] == 3


@pytest.mark.parametrize(("succeeded", "heuristics"), [(False, 4), (True, 0)])
def test_failures_are_what_the_model_calls_so_where_the_truth_is_hidden(played, store, reader, succeeded, heuristics):
    reader.hints = ("read both pages first",)
    reader.heuristic = {**HEURISTIC, "succeeded": succeeded}
    changes = {"erl": {"blind": True}, "gather": {"iterate": "failures", "batch": 2}}
    directory = played(conditions=["react", "erl-all"], **changes)
    assert len(store.lessons(kind="heuristic")) == heuristics
    judged = [row["judged"] for row in lines(directory, "results.jsonl") if row["split"] == "train"]
    assert judged == [succeeded] * 4
    found = blocks(directory)[0]["judgements"]  # the heuristics of the first two solved the others
    assert (found["n"], found["right"], found["claimed"], found["missed"]) == (
        (4, 0, 4, 0) if succeeded else (4, 2, 0, 2)
    )


def test_what_those_heuristics_could_not_use_stays_in_the_summary_of_a_resumed_run(played, go, reader):
    reader.heuristic = {"nothing": 1}
    directory = played(conditions=["react", "erl"], gather={"iterate": "all", "batch": 2})
    summary, _ = blocks(directory)
    assert len(summary["problems"][0]["problems"]) >= 4
    go(recipe_of(directory), resume=directory, llm=ScriptedModel(reader, name="reader"))
    assert blocks(directory)[0]["problems"] == summary["problems"]


def test_heuristics_that_guide_the_training_alone_are_kept_counted_and_made_again_with_it(played, go, store, reader):
    reader.hints = ("read both pages first",)
    directory = played(conditions=["react", "expel"], gather={"iterate": "all", "batch": 2})
    before = lines(directory, "lessons.jsonl")
    assert [one["data"]["condition"] for one in before if one["kind"] == "heuristic"] == ["training"] * 4
    assert "; gathering " in next(one for one in blocks(directory)[0]["remarks"] if "do not include learning" in one)
    go(recipe_of(directory), resume=directory, redo=["training"], llm=ScriptedModel(reader, name="reader"))
    training = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"]
    assert ["read both pages first" in t["guidance"] for t in training] == [False, False, True, True]
    after = lines(directory, "lessons.jsonl")
    assert len(after) == len(before)
    assert not {one["id"] for one in after} & {one["id"] for one in before}
    assert {source for one in after for source in one["sources"]} == {t["id"] for t in training}
    assert store.check() == []


def test_what_a_model_took_attempts_to_be_is_known_where_its_heuristics_were_dropped(played, store, reader, go):
    reader.heuristic = {**HEURISTIC, "trigger": "the attempt failed", "succeeded": False}
    directory = played(conditions=["react", "erl-all"], erl={"blind": True})
    assert store.lessons(kind="heuristic") == []
    assert blocks(directory)[0]["judgements"]["right"] == 4
    reader.heuristic = {**HEURISTIC, "succeeded": True}
    go(recipe_of(directory), resume=directory, redo=["training"], llm=ScriptedModel(reader, name="reader"))
    found = blocks(directory)[0]["judgements"]
    assert (found["n"], found["claimed"]) == (4, 4)
    assert len(store.marks(f"{directory.name}/s0f0/erl/judged")) == 4


@pytest.mark.parametrize("blind", [False, True])
def test_the_order_of_conditions_does_not_change_what_is_learned(played, store, reader, blind):
    reader.heuristic = {**HEURISTIC, "succeeded": False}
    learned = []
    for names in (["erl-matched", "erl"], ["erl", "erl-matched"]):
        directory = played(conditions=["react", *names], erl={"blind": blind})
        pool = f"{directory.name}/s0f0/erl"
        own = [lesson for lesson in store.lessons(kind="heuristic") if store.scope_of(lesson.id) == pool]
        learned.append([(lesson.text, lesson.data.get("judged"), lesson.data["task"]) for lesson in own])
    assert learned[0] == learned[1]
    assert [judged for _, judged, _ in learned[0]] == [False if blind else None] * 4  # from first attempts alone


def test_conditions_with_one_pool_learn_alike(recipe):
    changes = {"erl": {"judge": True, "blind": True}, "agent": {"think_tokens": 700}, "gather": {"iterate": "failures"}}
    wanted, data = recipe(**changes), load_benchmark("emoji", {"symbols": "codes"}, seed=0)
    learning = ("about", "example", "judge", "blind", "first", "failures", "max_tokens", "room")
    made = [c.method(wanted, data, ScriptedModel([])) for c in CONDITIONS.values() if c.pool == "erl"]
    assert len(made) > 8
    assert len({tuple(getattr(method, name) for name in learning) for method in made}) == 1
    assert {method.worked[0].task for method in made} == {made[0].worked[0].task}
    assert (made[0].example, made[0].max_tokens, made[0].failures) == (data.heuristic, 700, True)


LEARNING = ("You study how an agent", '"trigger", "action"')


def learns(request):
    return any(words in request["messages"][0]["content"] for words in LEARNING)


def test_another_model_learns_than_acts_and_reflects(played, go, reader):
    actor, teacher = ScriptedModel(reader, name="reader"), ScriptedModel(Reader(), name="teacher")
    names = ["react", "reflexion", "expel", "erl", "erl-embedding"]
    directory = played(actor, teacher, conditions=names, erl={"retrieve": "embedding"})
    assert teacher.requests
    assert all(map(learns, teacher.requests))
    assert not any(map(learns, actor.requests))
    assert any(request["messages"][-1]["content"].endswith("Plan:") for request in actor.requests)
    summary, found = blocks(directory)
    assert (summary["run"]["model"], summary["run"]["learner"]) == ("reader", "teacher")
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["model"], manifest["learner"]) == ("reader", "teacher")
    assert found["expel"]["learning"]["calls"] + found["erl"]["learning"]["calls"] == len(teacher.requests)
    asked = len(teacher.requests)
    go(load_recipe(directory / "config.toml"), resume=directory, llm=actor, learner=teacher)
    assert len(teacher.requests) == asked


def test_heuristics_learned_on_the_way_are_the_learners(played, reader):
    actor, teacher = ScriptedModel(reader, name="reader"), ScriptedModel(Reader(), name="teacher")
    played(actor, teacher, conditions=["react", "erl-all"], gather={"iterate": "all", "batch": 2})
    assert len(teacher.requests) == 4
    assert not any(map(learns, actor.requests))


def test_what_the_learner_uses_counts_against_the_limits_of_the_run(played, reader):
    actor, teacher = ScriptedModel(reader, name="reader"), ScriptedModel(Reader(), name="teacher")
    only = {"conditions": ["expel-insights"], "baseline": "expel-insights"}
    played(actor, teacher, **only)
    total = len(actor.requests) + len(teacher.requests)
    played(actor, teacher, **only, run_limits={"calls": total})
    with pytest.raises(BudgetExceeded, match=f"budget of {total - 1} calls"):
        played(actor, teacher, **only, run_limits={"calls": total - 1})


def test_the_recipe_names_the_model_that_learns(played, go, recipe, reader, monkeypatch):
    models = {name: ScriptedModel(Reader(), name=name) for name in ("local", "bigger")}
    monkeypatch.setattr(opening, "open_llm", lambda settings: nullcontext(models[settings.model]))
    wanted = {"benchmark": {"name": "hotpotqa"}, "train": 2, "test": 1, "embedder": "hashing", "baseline": "react"}
    summaries = [
        blocks(go(recipe(conditions=["react", "expel"], **wanted, **learner), llm=None))[0]
        for learner in ({}, {"learner": {"model": "bigger"}})
    ]
    assert [summary["run"]["learner"] for summary in summaries] == ["local", "bigger"]
    # A model that reasons before it answers gets the room for it, whoever acts.
    assert {request["max_tokens"] for request in models["bigger"].requests} == {2000}
    assert {request["max_tokens"] for request in models["local"].requests if learns(request)} == {400}


def test_insights_from_the_worked_examples_alone(played, store, reader):
    actor = ScriptedModel(reader, name="reader")
    changes = {"conditions": ["react", "expel-worked"], "expel": {"human": ["Somebody's own."], "successes": False}}
    directory = played(actor, **changes)
    summary, found = blocks(directory)
    worked = {example.id: example for example in load_benchmark("hotpotqa", {}, seed=0).trajectories}
    (insight,) = store.lessons(kind="insight")
    assert (insight.text, insight.origin, set(insight.sources)) == (INSIGHT, "model", set(worked))
    shown = "".join(message["content"] for r in actor.requests if learns(r) for message in r["messages"])
    assert all(example.task in shown for example in worked.values())
    assert summary["training"]["n"] == 0  # nothing was gathered for it
    block = found["expel-worked"]
    assert (found["react"]["successes"], block["successes"], block["trained_on"]) == (0, 3, 0)
    assert (block["lessons"], block["learning"]["calls"]) == (1, 3)  # JSON, once more, and then lines
    own = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["condition"] == "expel-worked"]
    assert all(t["lesson_ids"] == [insight.id] and not t["demonstration_ids"] for t in own)
    assert lines(directory, "lessons.jsonl")[0]["data"]["condition"] == "expel-worked"
    assert store.check() == []


def test_worked_examples_and_own_attempts_teach_apart(played, go, store, reader):
    directory = played(conditions=["react", "expel-insights", "expel-worked"])
    pools = {store.scope_of(lesson.id): lesson for lesson in store.lessons(kind="insight")}
    assert {scope.rsplit("/", 1)[-1] for scope in pools} == {"expel", "expel-worked"}
    worked = {example.id for example in load_benchmark("hotpotqa", {}, seed=0).trajectories}
    assert not worked & set(pools[f"{directory.name}/s0f0/expel"].sources)
    before = pools[f"{directory.name}/s0f0/expel-worked"]
    go(recipe_of(directory), resume=directory, redo=["training"], llm=ScriptedModel(reader, name="reader"))
    assert store.get_lesson(before.id) == before  # it came from no training
    go(recipe_of(directory), resume=directory, redo=["expel-worked"], llm=ScriptedModel(reader, name="reader"))
    assert store.get_lesson(before.id) is None
    assert store.lessons(f"{directory.name}/s0f0/expel-worked", kind="insight")


def test_what_learning_could_not_use_is_in_the_summary_and_the_report(played, go, reader):
    reader.insight = f"{INSIGHT}\nUPVOTE 7: Bananas are a kind of berry."
    directory = played(conditions=["react", "expel", "expel-insights", "erl"], erl={"retrieve": "all"})
    summary, found = blocks(directory)
    (pool,) = summary["problems"]
    assert (pool["conditions"], pool["seed"], pool["fold"]) == (["expel", "expel-insights"], 0, 0)
    assert any("UPVOTE 7" in problem and "so it is passed over" in problem for problem in pool["problems"])
    assert found["expel"]["learning"]["problems"] == len(pool["problems"])
    assert found["erl"]["learning"]["problems"] == 0
    assert "learned no lesson" not in " ".join(summary["remarks"])
    page = (directory / "report.html").read_text(encoding="utf-8")
    assert f"ExpeL, ExpeL-insights: {len(pool['problems'])}</summary>" in page
    go(recipe_of(directory), resume=directory, redo=["react"], llm=ScriptedModel(reader, name="reader"))
    assert blocks(directory)[0]["problems"] == summary["problems"]  # though nothing was learned again


@pytest.mark.parametrize(("train", "why"), [(2, "none of the 2 attempts succeeded"), (0, "no attempt was finished")])
def test_who_learned_nothing_is_named(played, train, why):
    directory = played(conditions=["react", "expel", "autoguide"], train=train, gather={"retries": 0})
    summary, found = blocks(directory)
    remarks = " ".join(summary["remarks"])
    assert f"ExpeL learned no lesson: {why}, so there is nothing to learn insights from." in remarks
    assert "AutoGuide learned no lesson: no task was both failed and solved" in remarks
    assert (found["expel"]["learning"]["problems"], found["autoguide"]["learning"]["problems"]) == (1, 1)


def test_what_was_learned_once_serves_all_parts_of_expel(played, store):
    directory = played()
    scopes = {store.scope_of(lesson.id) for lesson in store.lessons(kind="insight")}
    assert scopes == {f"{directory.name}/s0f0/expel"}


def test_demonstrations_and_insights_come_from_training_alone(played):
    directory = played()
    rows = lines(directory, "trajectories.jsonl")
    training = {t["id"]: t["task_id"] for t in rows if t["meta"]["split"] == "train"}
    tests = {t["task_id"] for t in rows if t["meta"]["split"] == "test"}
    assert not tests & set(training.values())
    used = {i for t in rows for i in t["demonstration_ids"]}
    worked = {example.id for example in load_benchmark("hotpotqa", {}, seed=0).trajectories}
    assert used & set(training)
    assert used <= set(training) | worked


def test_a_run_that_is_complete_asks_nothing_again(played, go, reader):
    directory = played()
    asked = sum(reader.asked.values())
    model = ScriptedModel(reader, name="reader")
    go(load_recipe(directory / "config.toml"), resume=directory, llm=model)
    assert sum(reader.asked.values()) == asked


def test_by_trials_it_ends_when_nothing_more_is_solved(played):
    directory = played(
        conditions=["react", "expel"], gather={"retries": 9, "reflect": "none", "order": "trial-first", "patience": 2}
    )
    training = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"]
    assert Counter(t["meta"]["trial"] for t in training) == {0: 4, 1: 4}


def test_test_tasks_too_are_tried_by_trials(played):
    settings = {"trials": 9, "order": "trial-first", "patience": 2}
    directory = played(conditions=["react", "retry", "reflexion"], method=settings, workers=1)
    tested = [t["meta"] for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "test"]
    made = Counter((each["condition"], each["trial"]) for each in tested)
    assert made == {("react", 0): 3, ("retry", 0): 3, ("retry", 1): 3, ("reflexion", 0): 3, ("reflexion", 1): 3}
    _, found = blocks(directory)
    assert (found["retry"]["successes"], found["reflexion"]["n"]) == (0, 3)


def test_lessons_of_a_file_are_given(played, tmp_path):
    file = tmp_path / "given.jsonl"
    file.write_text(json.dumps({"text": INSIGHT}), encoding="utf-8")
    _, found = blocks(played(conditions=["react", "given"], method={"given": str(file)}))
    assert (found["react"]["successes"], found["given"]["successes"]) == (0, 3)


def test_repeats_are_runs_of_their_own(played):
    directory = played(
        conditions=["react", "erl-embedding", "reflexion"],
        repeats=3,
        llm={"temperature": 0.7},
        curve=[],
    )
    _, found = blocks(directory)
    assert (found["react"]["n"], found["react"]["tasks"]) == (9, 3)
    figures = {one["k"]: one for one in found["reflexion"]["reliability"]["figures"]}
    assert (figures[3]["n"], figures[3]["pass@k"], figures[3]["pass^k"]) == (3, 1.0, 1.0)
    rows = lines(directory, "results.jsonl")
    made = Counter((row["condition"], row["repeat"], row["trial"]) for row in rows if row["split"] == "test")
    assert made["react", 2, 0] == 3
    assert made["reflexion", 2, 1] == 3
    # Each run reflects on its own failures.
    own = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["condition"] == "reflexion"]
    assert all(t["guidance"].count(PLAN) == t["meta"]["trial"] for t in own)


def test_repeats_at_temperature_0_would_all_be_the_same(played):
    with pytest.raises(ConfigError, match=r"llm\.temperature"):
        played(repeats=3)


def drawn(shift):
    with seed_shifted(shift):
        return shifted(0, "")


def test_repeats_send_other_seeds(played, reader):
    seeds = []

    class Seen(ScriptedModel):
        def chat(self, *arguments, **options):
            seeds.append(shifted(0, ""))
            return super().chat(*arguments, **options)

    played(conditions=["react"], baseline="react", repeats=3, llm={"temperature": 0.7}, model=Seen(reader, name="seen"))
    assert Counter(seeds) == {drawn(1): 3, drawn(2): 3, drawn(3): 3}


@pytest.mark.parametrize(("temperature", "shifts"), [(0.0, {0}), (0.7, {1, 2, 1001, 1002})])
def test_a_trial_draws_anew_where_anything_is_drawn(played, reader, temperature, shifts):
    seeds = set()

    class Seen(ScriptedModel):
        def chat(self, *arguments, **options):
            seeds.add(shifted(0, ""))
            return super().chat(*arguments, **options)

    changes = {"conditions": ["retry"], "baseline": "retry", "repeats": 2 if temperature else 1}
    played(**changes, llm={"temperature": temperature}, model=Seen(reader, name="seen"))
    assert seeds == set(map(drawn, shifts))
    seeds.clear()
    gathering = {"retries": 2, "reflect": "none"}
    played(conditions=["expel"], gather=gathering, llm={"temperature": temperature}, model=Seen(reader, name="seen"))
    assert seeds == set(map(drawn, (1, 1001, 2001) if temperature else (0,)))


@pytest.mark.parametrize(("temperature", "times"), [(0.0, 1), (0.7, 2)])
def test_trying_again_untold_asks_nothing_anew_where_nothing_is_drawn(played, reader, temperature, times):
    changes = {"conditions": ["retry"], "baseline": "retry", "train": 0, "llm": {"temperature": temperature}}
    _, found = blocks(played(**changes))
    assert [trial["attempts"] for trial in found["retry"]["trials"]] == [3, 3]
    assert set(reader.asked.values()) == {times}
    reader.asked.clear()
    changes |= {"conditions": ["expel-retrieve"], "baseline": "expel-retrieve", "train": 4}
    played(**changes, gather={"retries": 1, "reflect": "none"})
    assert max(reader.asked.values()) == times


def test_what_methods_draw_differs_from_seed_to_seed(recipe, store):
    names = ["expel-random", "erl-random", "few-shot-trajectories"]
    wanted = recipe(
        benchmark={"name": "hotpotqa"}, conditions=names, baseline="react", seeds=[3, 5], train=0, embedder="hashing"
    )
    plan = make_plan(wanted)
    session = Session(store, Path("run"), ScriptedModel([]), Limits(), {})
    parts = [Part(plan, block, session, Watch(0, quiet=True)) for block in plan.blocks]
    drawn = [[part.method(condition, session.llm).seed for condition in plan.conditions] for part in parts]
    assert drawn == [[3] * 3, [5] * 3]
    learners = [learning(part, plan.conditions[0], "pool", lambda: None) for part in parts]
    assert [learner.seed for learner in learners] == [3, 5]  # the order in which successes are looked at


def test_a_server_error_while_reflecting_loses_no_reflection(played, go, reader):
    left = [InfrastructureError("gone")]

    def failing(messages):
        return left.pop() if left and messages[-1]["content"].endswith("Plan:") else reader(messages)

    directory = played(conditions=["react", "reflexion"], model=ScriptedModel(failing, name="reader"))
    assert blocks(directory)[1]["reflexion"]["errors"] == 1
    go(load_recipe(directory / "config.toml"), resume=directory, llm=ScriptedModel(reader, name="reader"))
    _, found = blocks(directory)
    assert (found["reflexion"]["errors"], found["reflexion"]["successes"]) == (0, 3)


def test_a_judge_that_is_gone_stops_the_run_and_is_no_failure_of_a_task(played, go, store, reader):
    """What was judged before is kept, and the run goes on where it was."""
    reader.heuristic = {**HEURISTIC, "succeeded": False}
    left = [InfrastructureError("gone")]

    def failing(messages):
        asks = '"succeeded"' in messages[0]["content"]
        return left.pop() if left and asks and len(judgements()) == 2 else reader(messages)

    def judgements():
        return [asked for asked in reader.asked.elements() if '\\"succeeded\\"' in asked]

    with pytest.raises(InfrastructureError, match="gone") as stopped:
        played(
            conditions=["react", "erl"],
            erl={"blind": True, "retrieve": "all"},
            gather={"retries": 0},
            model=ScriptedModel(failing, name="reader"),
        )
    (run,) = store.runs()
    assert run.status == "stopped"
    assert any("Go on with" in note for note in stopped.value.__notes__)
    assert all(t.outcome.reason != "error" for t in store.episodes(run.run_id).values())
    directory = Path(run.path)
    go(load_recipe(directory / "config.toml"), resume=directory, llm=ScriptedModel(reader, name="reader"))
    _, found = blocks(directory)
    assert (found["erl"]["n"], found["erl"]["errors"]) == (3, 0)
    assert len(lines(directory, "lessons.jsonl")) == 4
    assert len(judgements()) == len(set(judgements())) == 4


def test_a_ranker_that_is_gone_is_an_error_of_the_server_and_made_again(played, go, reader):
    left, animals = [InfrastructureError("gone")], ["cat", "dog", "bird", "fish"]

    def failing(messages):
        if "You choose lessons" in messages[0]["content"]:
            return left.pop() if left else "[]"
        if '"trigger", "action"' in str(messages):
            return json.dumps({**HEURISTIC, "trigger": f"a {animals.pop()} is known"})
        return reader(messages)

    directory = played(
        conditions=["react", "erl"],
        erl={"retrieve": "llm", "k": 1, "reasons": True},
        gather={"retries": 0},
        model=ScriptedModel(failing, name="reader"),
    )
    erl = blocks(directory)[1]["erl"]
    assert (erl["n"], erl["errors"]) == (2, 1)
    go(load_recipe(directory / "config.toml"), resume=directory, llm=ScriptedModel(failing, name="reader"))
    assert blocks(directory)[1]["erl"]["errors"] == 0


def used(directory):
    """What the attempts of a condition that is told reflections used, and the part that reflected, by attempt."""
    rows = [row for row in lines(directory, "results.jsonl") if row["trial"]]
    return [(row["condition"], row["usage"], row["aside"]) for row in rows]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InfrastructureError("gone")])
def test_a_reflection_of_an_earlier_part_of_a_run_is_counted(played, go, reader, tmp_path, error):
    told = []

    def stopping(messages):
        whole = "\n".join(message["content"] for message in messages)
        if PLAN in whole and not whole.endswith("Plan:"):
            told.append(whole)
            if len(told) in (1, 6):  # at a training task, and at a test task
                raise error
        return reader(messages)

    names = ["react", "reflexion", "expel", "expel-reflexion"]
    changes = {"conditions": names, "baseline": "react", "expel": {"k": 0}}
    whole = used(first := played(**changes))
    model = ScriptedModel(stopping, name="reader")
    with suppress(KeyboardInterrupt):
        played(model, **changes)
    (directory,) = (path for path in (tmp_path / "runs").iterdir() if path != first)
    for _ in range(2):
        with suppress(KeyboardInterrupt):
            go(recipe_of(directory), resume=directory, llm=model)
    again = used(directory)
    assert [name for name, *_ in again] == [name for name, *_ in whole]
    for (_, *before), (_, *after) in zip(whole, again, strict=True):
        for a, b in zip(before, after, strict=True):
            assert a["prompt_tokens"] + a["completion_tokens"] == b["prompt_tokens"] + b["completion_tokens"]
            assert a["calls"] + a["replayed"] == b["calls"] + b["replayed"]
    known = sum(usage["replayed"] for _, usage, _ in again) - sum(usage["replayed"] for _, usage, _ in whole)
    assert known >= 2


def test_the_limit_of_an_episode_stops_neither_the_run_nor_its_learning(played):
    limited = {"episode_limits": {"calls": 1}, "gather": {"retries": 0}}
    _, found = blocks(played(conditions=["react", "reflexion", "erl-embedding"], **limited))
    # The reflection is the one call that the second attempt may make.
    assert found["reflexion"]["reasons"] == {"budget": 3}
    assert found["erl-embedding"]["learning"]["calls"] == 4
    assert found["erl-embedding"]["lessons"] == 4


def test_insights_and_reflections_together(played, reader):
    reader.insight = "Name one thing."
    directory = played(conditions=["expel", "expel-reflexion"], baseline="expel", expel={"k": 0})
    _, found = blocks(directory)
    assert (found["expel"]["successes"], found["expel-reflexion"]["successes"]) == (0, 3)
    own = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["condition"] == "expel-reflexion"]
    assert Counter(t["meta"]["trial"] for t in own) == {0: 3, 1: 3}
    assert all(reader.insight in t["guidance"] for t in own)
    assert all((PLAN in t["guidance"]) == bool(t["meta"]["trial"]) for t in own)


def test_heuristics_of_as_many_tokens_as_the_trajectories(played):
    directory = played(conditions=["few-shot-trajectories", "erl-matched"], baseline="few-shot-trajectories")
    rows = lines(directory, "trajectories.jsonl")
    known = {t["id"]: t for t in rows}
    told = {(t["meta"]["condition"], t["task_id"]): t for t in rows if t["meta"]["split"] == "test"}
    for (condition, task), attempt in told.items():
        if condition == "erl-matched":
            assert attempt["lesson_ids"]
            shown = [known[i] for i in told["few-shot-trajectories", task]["demonstration_ids"]]
            room = sum(
                tokens(transcript(Trajectory(**{key: t[key] for key in ("task_id", "task", "steps")}))) for t in shown
            )
            assert 0 < tokens(attempt["guidance"]) <= room


@pytest.mark.parametrize(
    ("expel", "asks"),
    [
        ({}, False),
        ({"rerank": "length"}, False),
        ({"rerank": "thought"}, True),
        ({"rerank": "thought", "retrieve_by": "none"}, False),
        ({"retrieve_by": "step"}, True),
    ],
)
def test_who_chooses_by_steps_asks_at_each_turn(recipe, expel, asks):
    data = load_benchmark("hotpotqa", {}, seed=0)
    agent = {"max_actions": 5, "same_observation": False, "guidance": "system"}
    wanted = recipe(benchmark={"name": "hotpotqa"}, expel=expel, agent=agent)
    made = actor(wanted, data, ScriptedModel([]), ())
    assert (made.asks, made.max_actions, made.same_observation, made.system) == (asks, 5, False, True)


def test_a_curve_shows_successes_at_its_own_tasks_alone(played, store):
    directory = played(conditions=["react", "expel"], curve=[2], expel={"k": 12})
    summary, _ = blocks(directory)
    assert [(point["trained_on"], point["n"]) for point in summary["curve"]] == [(0, 3), (2, 3), (4, 3)]
    made = lines(directory, "trajectories.jsonl")
    order = list(dict.fromkeys(t["task_id"] for t in made if t["meta"]["split"] == "train"))
    texts = {t["task_id"]: t["task"] for t in made}
    early = [t for t in made if t["meta"]["condition"] == "expel" and t["meta"]["trained_on"] == 2]
    shown = ["\n".join(message["content"] for message in t["messages"]) for t in early]
    assert all(any(texts[task] in prompt for task in order[:2]) for prompt in shown)
    assert not any(texts[task] in prompt for task in order[2:] for prompt in shown)


@pytest.mark.parametrize("limited", [True, False])
def test_a_prompt_that_is_too_long_is_a_failure_of_the_task_and_stops_no_run(played, reader, limited):
    """Too long for the recipe's limit, or for the model, which says so."""
    changes = {"agent": {"examples": 0, "prompt_tokens": 50}} if limited else {}
    asked = []

    def short(messages):
        asked.append(messages)
        acts = messages[-1]["content"].startswith("New task.")
        return ContextLengthError("it does not fit") if acts and not limited else reader(messages)

    directory = played(ScriptedModel(short, name="reader"), conditions=["act", "react", "reflexion"], **changes)
    rows = [row for row in lines(directory, "results.jsonl") if row["split"] == "test"]
    assert {(row["success"], row["reason"]) for row in rows} == {(False, "context")}
    assert {name: (block["n"], block["errors"]) for name, block in blocks(directory)[1].items()} == {
        "act": (3, 0),
        "react": (3, 0),
        "reflexion": (3, 0),
    }
    # Each attempt was tried once: a refusal is no server error, and is not asked again.
    assert sum(messages[-1]["content"].startswith("New task.") for messages in asked) == (0 if limited else len(rows))


@pytest.mark.parametrize(
    ("settings", "reasons"),
    [
        ({}, False),
        ({"llm": {"model": "smol"}}, False),
        ({"llm": {"base_url": "http://127.0.0.1:1/v1"}}, True),
        ({"llm": {"model": "gpt-5-mini"}}, True),
        ({"erl": {"reasons": True}}, True),
        ({"llm": {"model": "gpt-5-mini"}, "erl": {"reasons": False}}, False),
    ],
)
def test_a_bundled_model_marks_heuristics_one_by_one(settings, reasons):
    recipe = Recipe.model_validate({"name": "x", "conditions": ["erl"], "benchmark": {"name": "hotpotqa"}, **settings})
    benchmark = load_benchmark("hotpotqa", {}, seed=0)
    assert heuristics(recipe, benchmark, ScriptedModel([])).reasons is reasons


class Caller(Reader):
    """Plays the same model where it has tools: it calls one that is not there, then finishes."""

    def __call__(self, messages):
        said = super().__call__(messages)
        if "call of the tool" not in messages[0]["content"]:
            return said
        if messages[-1]["role"] != "tool":
            return ToolCall(name="find", arguments={"title": "x"}, id="c1")
        return ToolCall(name="finish", arguments={"answer": said.partition("[")[2].removesuffix("]")}, id="c2")


def test_an_agent_that_calls_tools_gathers_is_advised_shown_and_resumed(played, go, store):
    caller = Caller()
    names = ["react", "tools", "expel", "erl"]
    model = ScriptedModel(caller, name="caller")
    directory = played(model, conditions=names, baseline="tools", agent={"policy": "tools", "examples": 0})
    by = {attempt.meta["condition"]: attempt for attempt in store.trajectories()}
    assert {by[name].agent for name in ("training", "tools", "expel", "erl")} == {"tools"}
    unknown, finished = by["tools"].steps
    assert unknown.call == ToolCall(name="find", arguments={"title": "x"}, id="c1")
    assert "There is no tool 'find'" in unknown.observation
    assert finished.action == 'finish({"answer": "nobody knows"})'
    assert (by["tools"].meta["calls"], by["tools"].meta["invalid"]) == ({"unknown tool": 1}, 1)
    assert by["expel"].outcome.success is True
    page = (directory / "report.html").read_text(encoding="utf-8")
    assert "calls a tool" in page
    assert "find({&#34;title&#34;: &#34;x&#34;})" in page
    asked = caller.asked.total()
    go(load_recipe(directory / "config.toml"), resume=directory, llm=model)
    assert caller.asked.total() == asked
