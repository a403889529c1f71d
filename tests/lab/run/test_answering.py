"""The agents of benchmarks that are answered at once, and the worked case that a method of learning is shown."""

import json
from dataclasses import replace

import pytest

from seasoned.agents.coder import Coder
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.answering import worked_attempt, worked_rule
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.recipe import make_recipe
from seasoned.lab.run.rundir import read_rows, read_summary
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.expel.extraction import corrected, worked_pair
from seasoned.methods.facts import Facts


@pytest.mark.parametrize("name", ["emoji", "lets", "clutrr"])
def test_the_worked_case_was_answered_wrongly_and_told_the_right_answer(name):
    data = load_benchmark(name, {}, seed=0)
    (attempt,), trigger, action = worked_rule(data)
    case = next(example for example in data.examples if example.wrong)
    assert case.question in attempt.task
    assert all(choice in attempt.task for choice in case.choices)
    assert attempt.outcome.success is False
    assert corrected(attempt).steps[-1].action == f"ANSWER[{case.answer}]"
    assert (trigger, action) == data.heuristic
    assert attempt.task not in {task.text for task in (*data.train, *data.test)}


def test_the_worked_case_has_the_symbols_of_the_run():
    (attempt,), _, action = worked_rule(load_benchmark("emoji", {"symbols": "emoji"}, seed=0))
    assert "q5" not in attempt.task
    assert action.removeprefix("answer ") in attempt.task

    attempt, analysis = worked_attempt(load_benchmark("emoji", {"symbols": "codes"}, seed=0))
    assert (attempt.steps[-1].action, analysis) == ("ANSWER[g8]", "Wrong. The right answer is q5.")


@pytest.mark.parametrize("name", ["hotpotqa", "fever", "webshop"])
def test_where_an_agent_acts_it_is_the_first_attempt_with_a_reflection(name):
    data = load_benchmark(name, {}, seed=0)
    attempt, analysis = worked_attempt(data)
    assert (attempt.outcome.success, attempt) == (False, data.reflections[0][0])
    assert data.reflections[0][1].startswith(analysis)
    assert 20 < len(analysis) <= 200


@pytest.mark.parametrize("name", ["hotpotqa", "fever", "webshop"])
def test_where_an_agent_acts_its_task_was_won_afterwards(name):
    data = load_benchmark(name, {}, seed=0)
    (failed, won), trigger, action = worked_rule(data)
    assert failed == data.reflections[0][0]
    assert (won.outcome.success, won.task) == (True, failed.task)
    assert worked_pair((failed, won)).attempts == (failed, won)
    assert (trigger, action) == data.heuristic
    assert failed.task not in {task.text for task in (*data.train, *data.test)}


def test_without_a_success_or_a_rule_there_is_nothing_to_compare():
    data = load_benchmark("fever", {}, seed=0)
    assert worked_rule(replace(data, retried=None)) is None
    assert worked_rule(replace(data, heuristic=None)) is None
    assert worked_attempt(replace(data, retried=None)) == worked_attempt(data)


@pytest.mark.parametrize(
    ("reflection", "analysis"),
    [
        ("I took the pen.", "I took the pen."),
        ("I took the pen. Next time I look.", "I took the pen. Next time I look."),
        (f"I took the pen. {'I look and look, ' * 20}and look.", "I took the pen."),
    ],
)
def test_an_analysis_is_whole_sentences(reflection, analysis):
    data = load_benchmark("fever", {}, seed=0)
    ((attempt, _), *_) = data.reflections
    assert worked_attempt(replace(data, reflections=((attempt, reflection),)))[1] == analysis
    endless = "look " * 100
    assert len(worked_attempt(replace(data, reflections=((attempt, endless),)))[1]) <= 200


HINT = "Next time I take the other code."


def test_an_answer_is_tried_again_after_a_reflection(go, recipe):
    data = load_benchmark("emoji", {"symbols": "codes"}, seed=0)
    gold = {task.text.split("\n")[0]: task.data["answer"] for task in data.test}

    def reader(messages):
        last = messages[-1]["content"]
        if last.endswith("Plan:"):
            return HINT
        if last.endswith("THINK"):
            return "hm"
        whole = "\n".join(m["content"] for m in messages)
        right = next(code for text, code in gold.items() if text in whole)
        offered = last.split("\n")[0].split()
        return right if HINT in whole else next(code for code in offered if code != right)

    directory = go(
        recipe(conditions=["disabled", "reflexion", "retry"], train=0, method={"trials": 1}),
        llm=ScriptedModel(reader, name="reader"),
    )
    found = {condition.name: condition for condition in read_summary(directory).conditions}
    assert [found[name].successes for name in ("disabled", "reflexion", "retry")] == [0, 5, 0]
    assert [trial.solved for trial in found["reflexion"].trials] == [0, 5]
    again = [row for row in read_rows(directory) if row.condition == "reflexion" and row.trial == 1]
    assert len(again) == 5


def test_notes_of_a_run_stand_in_the_system_prompt_where_its_recipe_says_so(go, recipe):
    wanted = recipe(conditions=["disabled", "expnote"], agent={"guidance": "system"}, method={"on": "question"})
    rows = (go(wanted) / "trajectories.jsonl").read_text(encoding="utf-8").split("\n")
    made = [row for row in map(json.loads, filter(None, rows)) if row["guidance"]]
    assert made
    for row in made:
        system, *others = row["messages"]
        assert system["content"].endswith(row["guidance"])
        assert row["guidance"] not in str(others)


RECIPE = make_recipe({"name": "x", "benchmark": {"name": "library"}, "conditions": ["coder", "expnote", "facts"]})


def test_every_condition_of_such_a_benchmark_has_the_coder():
    library = load_benchmark("library", {"tasks": 20}, 1)
    names = ["coder", "nearest", "expnote", "facts(each=2)", "few-shot-trajectories", "retry", "erl", "expel+facts"]
    for condition in conditions(names, "code"):
        agent = condition.agent(RECIPE, library, ScriptedModel([]), ())
        assert isinstance(agent, Coder)
        assert agent.notes  # as ExpNote is among the recipe's conditions
        assert agent.program_tokens == 220
    made = conditions(["facts(each=2)"])[0].method(RECIPE, library, ScriptedModel([]))
    assert isinstance(made, Facts)
    assert (made.each, made.library) == (2, library.libraries)


def test_the_recipe_says_whether_it_calls_tools():
    library = load_benchmark("library", {"tasks": 20}, 1)
    assert not conditions(["coder"])[0].agent(RECIPE, library, ScriptedModel([]), ()).native
    recipe = RECIPE.model_copy(update={"agent": RECIPE.agent.model_copy(update={"policy": "tools"})})
    assert conditions(["facts"])[0].agent(recipe, library, ScriptedModel([]), ()).native


def test_facts_beside_another_method_learn_into_one_pool_of_their_own():
    both, alone = conditions(["nearest+facts", "retry+facts"], "code")
    assert (both.name, both.own_pool, both.learns, alone.retries) == ("nearest+facts", True, True, "none")
    library = load_benchmark("library", {"tasks": 20}, 1)
    assert len(both.method(RECIPE, library, ScriptedModel([])).methods) == 2
    assert len(alone.method(RECIPE, library, ScriptedModel([])).methods) == 1


def test_the_coder_needs_tasks_that_take_a_program():
    emoji = load_benchmark("webshop", {"products": 40}, 1)
    with pytest.raises(ConfigError, match="webshop asks for none"):
        conditions(["coder"])[0].agent(RECIPE, emoji, ScriptedModel([]), ())
    with pytest.raises(ConfigError, match="has no condition expnote"):
        conditions(["expnote"], "act")
