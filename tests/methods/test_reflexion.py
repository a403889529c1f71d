import json
import logging
from contextlib import closing

import pytest

from seasoned.agents.react import React
from seasoned.errors import BudgetExceeded, ContextLengthError, InfrastructureError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.reflexion import ATTEMPT, Reflexion
from seasoned.replies.reflections import read_reflection
from seasoned.text import transcript
from seasoned.types import Lesson, Outcome, Reply, Step, Task, Trajectory

GOLD = "Zanzibar"
PLAN = "I looked in the drawer only; next time I will open the fridge first."


def attempt(name="tra-1", task="t1", *, success=False, reason="answered", steps=None, trial=0, **fields):
    done = steps or [
        Step(thought="I know it.", action="Search[islands]", observation="Spices grow on islands."),
        Step(action="Finish[Madagascar]", observation=f"Wrong. It is {GOLD}."),
    ]
    return Trajectory(
        id=name,
        task_id=task,
        task="Which island is meant?",
        category="bridge",
        steps=tuple(done),
        outcome=Outcome(success=success, reason=reason, answer="Madagascar", detail=f"the right answer is {GOLD}"),
        messages=({"role": "user", "content": f"Wrong. It is {GOLD}."},),
        guidance=f"told before: {GOLD}",
        meta={"trial": trial, "gold": GOLD},
        **fields,
    )


def task(name="t1"):
    return Task(id=name, text="Which island is meant?", data={"answer": GOLD})


def texts(pool, key="t1"):
    return [lesson.text for lesson in pool.lessons("reflection", key=key)]


def test_a_failure_gives_one_reflection_and_once(pool):
    model = ScriptedModel([PLAN])
    Reflexion(model).learn([attempt(trial=2), attempt(trial=2)], pool)
    (lesson,) = pool.lessons("reflection")
    assert (lesson.text, lesson.key, lesson.category) == (PLAN, "t1", "bridge")
    assert (lesson.sources, lesson.method, lesson.data) == (("tra-1",), "reflexion", {"trial": 2})
    Reflexion(model).learn([attempt()], pool)
    assert len(model.requests) == len(pool.lessons("reflection")) == 1


def test_what_a_person_removed_is_not_written_again(pool):
    model = ScriptedModel([PLAN])
    Reflexion(model).learn([attempt()], pool)
    pool.remove(pool.lessons("reflection")[0].id, who="person")
    Reflexion(model).learn([attempt()], pool)
    assert len(model.requests) == 1
    assert Reflexion(model).recall(task(), pool).text == ""


@pytest.mark.parametrize(
    ("success", "reason"), [(True, "answered"), (None, "error"), (None, "unfinished"), (True, "won")]
)
def test_only_failures_are_reflected_on(pool, success, reason):
    Reflexion(ScriptedModel([])).learn([attempt(success=success, reason=reason)], pool)
    assert pool.lessons() == []


@pytest.mark.parametrize("strategy", ["none", "last"])
def test_strategies_without_reflections_ask_no_model(pool, strategy):
    Reflexion(ScriptedModel([]), strategy=strategy).learn([attempt()], pool)
    assert pool.lessons() == []


def test_the_prompt_is_constant_first_and_the_attempt_last(pool):
    model = ScriptedModel([PLAN, "I will open the cabinet, as the fridge was empty."])
    examples = ((attempt("ex-1", "e1"), "I should have looked up Beta."), (attempt("ex-2", "e2"), "I gave up early."))
    method = Reflexion(model, examples=examples, about="You find things in a house.")
    method.learn([attempt("tra-1"), attempt("tra-2", trial=1)], pool)
    first, second = (request["messages"] for request in model.requests)
    assert first[:5] == second[:5]
    assert [message["role"] for message in first] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert first[0]["content"].startswith("You find things in a house.\n\n")
    assert first[2]["content"] == "I should have looked up Beta."
    assert PLAN not in first[5]["content"]
    assert second[5]["content"].index(PLAN) < second[5]["content"].index("Action: Finish[Madagascar]")
    assert second[5]["content"].endswith("The attempt failed.\nPlan:")
    assert [request["max_tokens"] for request in model.requests] == [160, 160]


def test_the_right_answer_is_in_no_prompt(pool):
    model = ScriptedModel(lambda messages: PLAN)
    dialogue = [
        Step(action="THINK[an island]", observation="OK."),
        Step(action="ANSWER[Madagascar]", observation=f"Wrong. The right answer is {GOLD}."),
        Step(action=f"NOTE[spices]: {GOLD}", observation="OK."),
        Step(action=f"ANSWER[{GOLD}]", observation="You have answered already."),
    ]
    bought = [Step(action="click[Buy Now]", observation=f"You wanted {GOLD}.")]
    spelled = [Step(action="**Action 2: finish(Madagascar)**", observation=GOLD), Step(action="look", observation="x")]
    failures = [
        attempt("tra-1"),
        attempt("tra-2", steps=dialogue, reason="budget"),
        attempt("tra-3", steps=bought, reason="halted"),
        attempt("tra-4", steps=spelled, reason="step_limit"),
    ]
    for one in failures:
        pool.record(one)
        for strategy in ("reflexion", "last", "last+reflexion"):
            method = Reflexion(model, strategy=strategy, examples=((attempt("ex"), "I should have searched."),))
            method.learn([one], pool)
            assert GOLD not in method.recall(task(), pool).text
    assert len(model.requests) == 4
    assert "ANSWER[Madagascar]" in json.dumps(model.requests)
    assert GOLD not in json.dumps(model.requests)


@pytest.mark.parametrize(
    ("strategy", "plans", "last"),
    [("none", False, False), ("last", False, True), ("reflexion", True, False), ("last+reflexion", True, True)],
)
def test_what_the_next_attempt_is_told(pool, strategy, plans, last):
    failed = pool.record(attempt())
    pool.record(attempt("tra-0", "t2", steps=[Step(action="Search[other task]")]))
    Reflexion(ScriptedModel([PLAN])).learn([failed], pool)
    guidance = Reflexion(ScriptedModel([]), strategy=strategy).recall(task(), pool)
    assert (f"- {PLAN}" in guidance.text) is plans
    assert ("Action: Finish[Madagascar]" in guidance.text) is last
    assert "other task" not in guidance.text
    assert len(guidance.lessons) == plans
    assert guidance.demonstrations == ()
    assert bool(guidance.text) is (plans or last)


@pytest.mark.parametrize("strategy", ["none", "last", "reflexion", "last+reflexion"])
def test_a_first_attempt_is_told_nothing_and_neither_is_one_on_its_way(pool, strategy):
    pool.record(attempt("tra-9", "t9"))
    pool.add(Lesson(kind="reflection", key="t9", text="of another task"))
    pool.add(Lesson(kind="insight", key="t1", text="an insight"))
    method = Reflexion(ScriptedModel([]), strategy=strategy)
    assert method.recall(task(), pool).text == ""
    assert method.recall(task("t9"), pool, attempt("tra-10", "t9")).text == ""


def test_of_several_failures_the_last_one_is_shown_and_a_success_never(pool):
    pool.record(attempt("tra-0", steps=[Step(action="Search[earlier]")]))
    pool.record(attempt("tra-1", steps=[Step(action="Search[failed]")]))
    pool.record(attempt("tra-2", success=True, steps=[Step(action="Search[solved]")]))
    text = Reflexion(ScriptedModel([]), strategy="last").recall(task(), pool).text
    assert "failed" in text
    assert "earlier" not in text
    assert "solved" not in text


@pytest.mark.parametrize(("memory", "shown"), [(3, "bcd"), (1, "d"), (0, ""), (9, "abcd")])
def test_the_newest_reflections_are_remembered_oldest_first(pool, memory, shown):
    for letter in "abcd":
        pool.add(Lesson(kind="reflection", key="t1", text=f"plan {letter}", sources=(f"tra-{letter}",)))
    guidance = Reflexion(ScriptedModel([]), memory=memory).recall(task(), pool)
    assert [lesson.text[-1] for lesson in guidance.lessons] == list(shown)
    assert [line[-1] for line in guidance.text.splitlines() if line.startswith("- ")] == list(shown)


def test_a_plan_that_came_twice_is_shown_once_where_it_came_last(pool):
    for text in ("again", "b", "c", "again"):
        pool.add(Lesson(kind="reflection", key="t1", text=text))
    assert [lesson.text for lesson in Reflexion(ScriptedModel([])).recall(task(), pool).lessons] == ["b", "c", "again"]


def test_what_a_person_edits_is_what_is_shown(pool):
    Reflexion(ScriptedModel([PLAN])).learn([attempt()], pool)
    lesson = pool.lessons("reflection")[0]
    pool.update(lesson.model_copy(update={"text": "Look on the shelf.\n{{ 7 * 7 }}"}), who="person")
    assert "- Look on the shelf. {{ 7 * 7 }}" in Reflexion(ScriptedModel([])).recall(task(), pool).text


@pytest.mark.parametrize("reply", ["", "...", "{}", "OK.", "go to go to go to", "<think>I should", "```\n```", "Plan:"])
def test_a_reply_without_a_plan_gives_no_lesson_and_is_logged(pool, reply, caplog):
    with caplog.at_level(logging.WARNING, logger="seasoned.methods.reflexion"):
        Reflexion(ScriptedModel([reply])).learn([attempt()], pool)
    assert pool.lessons() == []
    assert "tra-1" in caplog.text


def test_a_prompt_that_is_too_long_is_halved_until_it_fits(pool):
    steps = [Step(action=f"go to shelf {i}", observation=f"{i} " * 250) for i in range(60)]

    def short_of_sight(messages):
        return ContextLengthError("too long") if len(messages[-1]["content"]) > 1500 else PLAN

    model = ScriptedModel(short_of_sight)
    Reflexion(model, attempt_chars=4000).learn([attempt(steps=steps, reason="step_limit")], pool)
    assert texts(pool) == [PLAN]
    lengths = [len(request["messages"][-1]["content"]) for request in model.requests]
    assert lengths == sorted(lengths, reverse=True)
    assert len(lengths) == 3
    assert "Action: go to shelf 0\n" in model.requests[-1]["messages"][-1]["content"]


def test_a_reply_that_ran_out_of_tokens_ends_with_a_sentence(pool):
    class Cut:
        name = "cut"

        def chat(self, messages, **options):
            return Reply(text="I opened the wrong drawer. Next I will go to the", finish_reason="length")

    Reflexion(Cut()).learn([attempt()], pool)
    assert texts(pool) == ["I opened the wrong drawer."]


def test_the_last_attempt_is_told_shortened_and_without_its_task(pool):
    steps = [Step(action=f"go to shelf {n}", observation="x " * 100) for n in range(20)]
    pool.record(attempt(steps=steps, reason="step_limit"))
    text = Reflexion(ScriptedModel([]), strategy="last", attempt_chars=600).recall(task(), pool).text
    assert 300 < len(text) < 900
    assert task().text not in text


def test_a_context_too_short_for_anything_gives_no_lesson(pool, caplog):
    model = ScriptedModel(lambda messages: ContextLengthError("too long"))
    with caplog.at_level(logging.WARNING):
        Reflexion(model).learn([attempt()], pool)
    assert pool.lessons() == []
    assert "whatever is cut" in caplog.text
    assert len(model.requests) == 4


@pytest.mark.parametrize("error", [InfrastructureError("gone"), BudgetExceeded("spent", "run")])
def test_errors_that_are_no_failures_pass_and_what_was_written_stays(pool, error):
    with pytest.raises(type(error)):
        Reflexion(ScriptedModel([PLAN, error])).learn([attempt("tra-1"), attempt("tra-2", "t2")], pool)
    assert texts(pool) == [PLAN]


def test_reflecting_needs_no_pool():
    model = ScriptedModel([PLAN])
    assert Reflexion(model, about="Questions.").reflect(attempt(), ["I will search for spices."]) == PLAN
    assert "- I will search for spices." in model.requests[0]["messages"][-1]["content"]


def test_on_a_real_benchmark_the_second_attempt_knows_of_the_first(pool):
    benchmark = load_benchmark("hotpotqa", {}, seed=0)
    tried = benchmark.train[0]
    gold = tried.data["answer"]

    def say(messages):
        asked = messages[-1]["content"]
        if asked.endswith("Plan:"):
            return "I guessed. Next I will search for the title first."
        return f"Action: Finish[{gold if 'I will search for the title first' in asked else 'nobody'}]"

    model = ScriptedModel(say)
    agent = React(model, benchmark.instruction, benchmark.trajectories)
    method = Reflexion(model, examples=benchmark.reflections, about=benchmark.about)
    trials = []
    while not trials or not trials[-1].outcome.success:
        with closing(benchmark.make_env(True)) as env:
            trials.append(pool.record(agent.run(tried, env, method.recall(tried, pool))))
        method.learn(trials[-1:], pool)
    assert [trial.outcome.success for trial in trials] == [False, True]
    assert trials[1].lesson_ids == (pool.lessons("reflection")[0].id,)
    reflecting = [request for request in model.requests if request["messages"][-1]["content"].endswith("Plan:")]
    assert len(reflecting) == 1
    assert gold not in json.dumps(reflecting)


@pytest.mark.parametrize("name", ["hotpotqa", "fever"])
def test_the_examples_of_the_benchmarks_fit_whole_and_read_as_plans(name):
    examples = load_benchmark(name, {}, seed=0).reflections
    assert len(examples) == 2
    for failed, ideal in examples:
        assert failed.outcome.success is False
        assert len(transcript(failed)) <= ATTEMPT
        assert read_reflection(ideal) == ideal
