"""Conditions: what is compared with what."""

import pytest

from seasoned.agents.dialogue import Dialogue
from seasoned.benchmarks import load_benchmark
from seasoned.errors import ConfigError
from seasoned.llm.scripted import ScriptedModel
from seasoned.runner.conditions import CONDITIONS, PAPER_K, conditions, dialogue

LLM = ScriptedModel([])


@pytest.fixture
def benchmark():
    return load_benchmark("emoji", {"symbols": "codes"}, seed=0)


def test_names_are_found_in_order():
    assert [c.name for c in conditions(["expnote", "cot"])] == ["expnote", "cot"]
    assert all(condition.name == name and condition.says for name, condition in CONDITIONS.items())


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["zero_shot"], "did you mean zero-shot"),
        (["???"], "there are zero-shot, "),
        (["cot"] * 2, "every condition once"),
    ],
)
def test_wrong_names(names, says):
    with pytest.raises(ConfigError, match=says):
        conditions(names)


def test_a_typo_of_every_name_is_understood():
    for name in CONDITIONS:
        if len(name) > 4:
            with pytest.raises(ConfigError, match=f"did you mean {name}"):
                conditions([name[:-1] + name[-1] * 2])


def test_variants_of_expnote_answer_under_the_same_words_and_limits(recipe, benchmark):
    model = ScriptedModel([])
    made = [
        condition.agent(recipe(), benchmark, model, benchmark.train)
        for condition in CONDITIONS.values()
        if condition.agent is dialogue
    ]
    assert len(made) > 5
    assert all(agent == made[0] for agent in made)
    assert isinstance(made[0], Dialogue)


def test_few_shot_shows_training_cases_with_their_answers(recipe, benchmark):
    wanted = recipe(agent={"shots": 3})
    agent = CONDITIONS["few-shot"].agent(wanted, benchmark, ScriptedModel([]), benchmark.train[:9])
    assert [e.question for e in agent.examples] == [task.text for task in benchmark.train[:3]]
    assert [e.answer for e in agent.examples] == [task.data["answer"] for task in benchmark.train[:3]]


def test_settings_come_before_the_benchmarks_own(recipe, benchmark):
    make = CONDITIONS["expnote"].method
    assert make(recipe(), benchmark, LLM).k == benchmark.retrieval.k
    assert make(recipe(method={"k": 9}), benchmark, LLM).k == 9
    assert make(recipe(method={"policy": "last"}), benchmark, LLM).policy == "last"
    assert CONDITIONS["expnote-merge"].method(recipe(method={"policy": "last"}), benchmark, LLM).policy == "merge"
    asked = CONDITIONS["expnote-question"].method(recipe(), benchmark, LLM)
    assert (asked.on, asked.k >= PAPER_K) == ("question", True)
    for variant in ("case", "positive", "negative", "disabled"):
        assert CONDITIONS[variant].method(recipe(), benchmark, LLM).variant == variant


def test_heuristics_beside_the_question_or_after_the_thought(recipe, benchmark):
    for name, stands, asks in (("erl", "case", "task"), ("erl-thought", "thought", "thought")):
        assert CONDITIONS[name].agent(recipe(), benchmark, LLM, ()).notes == stands
        assert CONDITIONS[name].method(recipe(), benchmark, LLM).on == asks
    assert CONDITIONS["erl-thought"].pool == CONDITIONS["erl"].pool
    with pytest.raises(ConfigError, match="no condition erl-thought"):
        conditions(["erl-thought"], "act")


def test_teachme_needs_its_facts(recipe, benchmark):
    with pytest.raises(ConfigError, match=r"-c method\.facts=FILE"):
        CONDITIONS["teachme"].method(recipe(), benchmark, LLM)


def test_a_benchmark_takes_the_conditions_of_its_manner():
    with pytest.raises(ConfigError, match="this benchmark has no condition react; it has zero-shot, "):
        conditions(["cot", "react"], "answer")
    with pytest.raises(ConfigError, match=r"this benchmark has no condition cot; it has erl, .*act, react"):
        conditions(["cot", "react"], "act")
    assert [c.name for c in conditions(["react", "expel"], "act")] == ["react", "expel"]


def test_the_parts_of_expel_share_what_was_learned():
    assert {CONDITIONS[name].pool for name in ("expel", "expel-insights", "expel-retrieve", "expel-reflexion")} == {
        "expel"
    }
