"""Conditions: what is compared with what."""

import json
import sys

import pytest

from seasoned.agents.dialogue import Dialogue
from seasoned.errors import ConfigError, SeasonedError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.acting import carrier
from seasoned.lab.run.answering import PAPER_K, dialogue
from seasoned.lab.run.conditions import ALIASES, BASES, CONDITIONS, conditions, renamed
from seasoned.lab.run.rundir import recipe_of
from seasoned.llm.scripted import ScriptedModel

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
        if len(name) > 4 and not name[-1].isdigit():
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


@pytest.mark.parametrize(
    ("begins", "retrieve", "ks"),
    [("erl-embedding-k", "embedding", 20), ("erl-thought-k", "embedding", 20), ("erl-random-k", "random", 60)],
)
def test_the_papers_numbers_for_each_retrieval(recipe, benchmark, begins, retrieve, ks):
    wanted = recipe(erl={"k": 7, "retrieve": "llm"})
    made = {name: c.method(wanted, benchmark, LLM) for name, c in CONDITIONS.items() if name.startswith(begins)}
    assert all((name, method.retrieve) == (f"{begins}{method.k}", retrieve) for name, method in made.items())
    assert [method.k for method in made.values()] == [k for k in (1, 3, 5, 10, 20, 40, 60) if k <= ks]
    assert {CONDITIONS[name].pool for name in made} == {"erl"}


def test_heuristics_beside_the_question_or_after_the_thought(recipe, benchmark):
    for name, stands, asks in (
        ("erl", "case", "task"),
        ("erl-thought", "thought", "thought"),
        ("erl-thought-k5", "thought", "thought"),
    ):
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
    with pytest.raises(ConfigError, match=r"this benchmark has no condition cot; it has act, react, .*erl, "):
        conditions(["cot", "react"], "act")
    assert [c.name for c in conditions(["react", "expel"], "act")] == ["react", "expel"]


def test_the_parts_of_expel_share_what_was_learned():
    assert {CONDITIONS[name].pool for name in ("expel", "expel-insights", "expel-retrieve", "expel-reflexion")} == {
        "expel"
    }


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("erl(k=10)", "erl(k=10)", {"k": 10}),
        (' erl( retrieve = "embedding" , k=10 ) ', "erl(k=10,retrieve=embedding)", {"k": 10, "retrieve": "embedding"}),
        ("erl(k=10,retrieve=embedding)", "erl(k=10,retrieve=embedding)", {"k": 10, "retrieve": "embedding"}),
        ("expnote(share=0.5, policy='last')", "expnote(policy=last,share=0.5)", {"policy": "last", "share": 0.5}),
        ("expel(compare=False)", "expel(compare=false)", {"compare": False}),
        ("reflexion(strategy=last+reflexion)", "reflexion(strategy=last+reflexion)", {"strategy": "last+reflexion"}),
        ("few-shot(shots=3)", "few-shot(shots=3)", {"shots": 3}),
        ("erl()", "erl", {}),
        ("erl-k10", "erl-k10", {"k": 10}),
    ],
)
def test_parameters_are_read_and_named_in_one_way(text, name, parameters):
    [found] = conditions([text])
    assert (found.name, found.parameters) == (name, parameters)
    assert [found.name] == [c.name for c in conditions([found.name])]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("erl(kk=3)", "the condition erl has no parameter 'kk': k is a whole number of at least 1$"),
        (
            "erl(zzz=3)",
            "has no parameter 'zzz': k is a whole number.*; retrieve is one of llm, embedding, .*matched is",
        ),
        (
            "erl(retrieve=embeding)",
            "retrieve of the condition erl should be one of llm, embedding, .*, but is embeding",
        ),
        ("erl(k=0)", "k of the condition erl should be a whole number of at least 1, but is 0"),
        ("erl(k=true)", "k of the condition erl should be a whole number"),
        ("erl(k=2.5)", "k of the condition erl should be a whole number"),
        ("expel(retry=1)", "retry of the condition expel should be true or false"),
        ("expnote(share=nan)", "share of the condition expnote should be a number above 0 and at most 1, but is nan"),
        ("erl(3)", "expected the parameters of erl as name=value, each once, but got '3'"),
        ("erl(k=3, k=4)", "each once"),
        ("erl(k=3,)", "as name=value"),
        ("cot(k=3)", "the condition cot has no parameters: leave k=3 out"),
        ("expnote-last(k=3)", r"takes no parameters: add them to expnote\(policy=\"last\"\)"),
        ("erll(k=3)", "did you mean erl"),
        ("erl(k=__import__('os').getpid())", "k of the condition erl should be a whole number"),
        ("erl(k=10", "did you mean erl"),
    ],
)
def test_a_wrong_parameter_is_told_with_what_it_may_be(text, says):
    with pytest.raises(ConfigError, match=says):
        conditions([text])


def test_older_names_are_conditions_with_parameters_and_say_so():
    assert {"erl-k10", "case", "expel-insights", "last"} <= set(ALIASES)
    for name, text in ALIASES.items():
        [old], [new] = conditions([name]), conditions([text])
        assert (old.name, old.parameters, old.pool, old.acts, old.retries) == (
            name, new.parameters, new.pool, new.acts, new.retries
        )  # fmt: skip
    said = renamed(["erl", "erl-k3", "case", "erl-k3"])
    assert said == 'short names of conditions: erl-k3 is erl(k=3); case is expnote(variant="case")'
    assert renamed(BASES) == ""
    with pytest.raises(ConfigError, match="every condition once"):
        conditions(["erl-k3", "erl(k=3)"])


def test_parameters_come_before_the_recipes_settings(recipe, benchmark):
    wanted = recipe(erl={"k": 7, "retrieve": "llm"}, expel={"chunk": 4, "k": 5})
    [erl, expel, few] = conditions(["erl(k=3)", "expel(chunk=2)", "few-shot(shots=2)"])
    made = erl.method(wanted, benchmark, LLM)
    assert (made.k, made.retrieve, erl.pool) == (3, "llm", "erl")
    made = expel.method(wanted, benchmark, LLM)
    assert (made.chunk, made.k, expel.pool) == (2, 5, "")  # it learns otherwise, so it learns alone
    assert len(few.agent(wanted, benchmark, LLM, benchmark.train).examples) == 2


OWN = """
import dataclasses
from seasoned.errors import DataError
from seasoned.methods.expnote import ExpNote
from seasoned.types import Guidance, Outcome, Trajectory
from seasoned.lab.run.answering import dialogue
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.conditions import CONDITIONS

def notes(recipe, benchmark, llm):
    "Notes of my own.\\n\\nMore of it."
    return ExpNote()

class Chatty:
    "Has its model where it likes, and asks it at each recall."
    def __init__(self, recipe, benchmark, llm): self.model = llm
    def learn(self, trajectories, pool): self.model.chat([{"role": "user", "content": "CHAT"}])
    def recall(self, task, pool, progress=None):
        said = self.model.chat([{"role": "user", "content": f"CHAT about {task.text}"}])
        return Guidance(text=said.text)

class Rule:
    "Has no model at all."
    def run(self, task, env, guidance, advise=None):
        env.reset(task)
        *_, info = env.step("ANSWER[h1]")
        return Trajectory(task_id=task.id, task=task.text, outcome=Outcome(success=bool(info["success"])))

def broken(recipe, benchmark, llm): return recipe.nothing
def number(recipe, benchmark, llm): return 7
def refused(recipe, benchmark, llm): raise DataError("a file of mine is missing")

mine = Condition("mine", "mine", dialogue, CONDITIONS["expnote"].method, learns=True)
again = dataclasses.replace(mine)
silent = Condition("silent", "an agent without a model", lambda *given: Rule())
stolen = dataclasses.replace(CONDITIONS["expnote"], says="mine")
slashed, training = (dataclasses.replace(mine, name=name) for name in ("a/b", "training"))
text = "no condition"
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_conditions.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "own_broken.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("own_conditions", None)


def test_a_condition_of_ones_own_is_found_by_its_path(own):
    [made, mine] = conditions(["own_conditions:notes", "own_conditions.mine"], "answer")
    assert (made.name, made.says, made.agent, made.learns, made.acts) == (
        "notes",
        "Notes of my own.",
        carrier,
        True,
        None,
    )
    assert mine.name == "mine"
    with pytest.raises(ConfigError, match="this benchmark has no condition mine"):
        conditions(["own_conditions.mine"], "act")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["mypackage.mine"], "'mypackage.mine' cannot be imported: ModuleNotFoundError"),
        (["own_conditions.nothing"], "cannot be imported: AttributeError"),
        (["own_broken:mine"], "cannot be imported: ZeroDivisionError"),
        (["own_conditions:text"], "should be a Condition, or a function of recipe, benchmark and model.*is a str"),
        (["own_conditions:stolen"], "is called 'expnote': give it a name"),
        (["own_conditions:slashed"], "is called 'a/b': give it a name"),
        (["own_conditions:training"], "is called 'training': give it a name"),
        (["own_conditions:mine", "own_conditions:again"], "every condition once"),
        (["mine"], "or the import path of one of your own"),
        (["own_conditions:"], "there is no condition"),
    ],
)
def test_what_is_no_condition_at_a_path(own, names, says):
    with pytest.raises(ConfigError, match=says):
        conditions(names)


def test_a_condition_of_ones_own_is_run_and_can_be_the_baseline(own, recipe, go, apprentice):
    names = ["own_conditions:notes", "own_conditions:mine", "expnote"]
    directory = go(recipe(conditions=names, baseline="own_conditions:notes", train=30, embedder="hashing"))
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["baseline"] == "notes"
    assert summary["run"]["conditions"] == ["notes", "mine", "expnote"]
    by_name = {block["name"]: block for block in summary["conditions"]}
    assert by_name["mine"]["successes"] == by_name["expnote"]["successes"] > by_name["notes"]["successes"]
    assert {block["lessons"] for block in by_name.values()} == {by_name["expnote"]["lessons"]}
    assert len(set(apprentice.answered)) == apprentice.calls


def test_conditions_with_parameters_are_run_under_one_name(recipe, go, apprentice):
    names = ["disabled", 'expnote(policy="last", k=2)', "expnote-last"]
    directory = go(recipe(conditions=names, embedder="hashing"))
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["run"]["conditions"] == ["disabled", "expnote(policy=last,k=2)", "expnote-last"]
    assert summary["run"]["parameters"] == {
        "expnote(policy=last,k=2)": {"policy": "last", "k": 2},
        "expnote-last": {"policy": "last"},
    }
    calls = apprentice.calls
    again = go(recipe(conditions=names, embedder="hashing"), resume=directory, redo=["expnote(policy=last,k=2)"])
    assert again == directory
    assert apprentice.calls > calls
    assert (directory / "report.html").is_file()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broken", "the condition broken cannot be made: AttributeError"),
        ("number", r"the condition number makes a 7, which has no learn\(trajectories, pool\)"),
        ("refused", "a file of mine is missing"),
    ],
)
def test_what_makes_no_agent_or_method_is_refused_before_anything_is_done(own, recipe, go, apprentice, name, says):
    with pytest.raises(SeasonedError, match=says):
        go(recipe(conditions=["disabled", f"own_conditions:{name}"], embedder="hashing"))
    assert apprentice.calls == 0


def test_wherever_a_method_has_its_model_the_calls_are_journalled_and_counted(own, recipe, go, apprentice):
    def replies(messages):
        return "so" if messages[-1]["content"].startswith("CHAT") else apprentice(messages)

    model = ScriptedModel(replies, name="apprentice")
    names = ["own_conditions:silent", "own_conditions:Chatty"]
    directory = go(recipe(conditions=names, baseline="own_conditions:silent", embedder="hashing"), llm=model)
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    silent, chatty = summary["conditions"]
    assert (silent["n"], silent["calls"]) == (5, 0)
    assert (chatty["phases"]["recall"]["calls"], chatty["learning"]["calls"]) == (5, 1)
    before = len(model.requests)
    go(recipe_of(directory), resume=directory, llm=model)
    assert len(model.requests) == before
