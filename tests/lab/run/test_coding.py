"""Conditions of benchmarks whose tasks take a program."""

import pytest

from seasoned import ScriptedModel
from seasoned.agents.coder import Coder
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.recipe import make_recipe
from seasoned.methods.facts import Facts

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
