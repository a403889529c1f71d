"""Every recipe in experiments/paper/ loads, and runs in small with a model whose replies are as long as the papers'."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from seasoned.lab.benchmarks import NAMES
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.recipe import load_recipe
from seasoned.llm.scripted import ScriptedModel

PAPER = Path(__file__).parents[3] / "experiments" / "paper"
RECIPES = sorted(path.stem for path in PAPER.glob("*.toml"))
SMALL = ["limit=3", "workers=1", "embedder=hashing", "curve=[]", "seeds=[0]", "llm.window=128000"]
WORDS = "because the page that was read first names the place that is asked for, "
HEURISTIC = {
    "analysis": WORDS * 8,
    "trigger": "a question names two things of one kind",
    "action": "search both, one after the other, and compare what their pages say; " * 6,
    "rationale": WORDS * 4,
}


def benchmark_of(name):
    return load_recipe(PAPER / f"{name}.toml").benchmark.name


def runs_here(name):
    return benchmark_of(name) in NAMES and benchmark_of(name) not in ("alfworld", "gaia2", "tau2")


def author(messages):
    """Replies of the papers' lengths, in form, and of little use."""
    asked = messages[0]["content"]
    if '"rationale"' in asked:
        return json.dumps({**HEURISTIC, **({"succeeded": False} if '"succeeded"' in asked else {})})
    if "JSON array of operations" in asked:
        return json.dumps(
            [{"operation": "ADD", "number": 0, "text": f"Read {len(messages[-1]['content'])} pages; {WORDS}"}]
        )
    if asked.startswith("You see one attempt") or "It failed; what would have been right" in asked:
        return "I searched the wrong page. Next time I will " + WORDS * 5 + "and answer."
    if "THINK[..]" in asked:
        turn = sum(message["role"] == "assistant" for message in messages)
        return f"THINK[{WORDS}]" if turn % 2 == 0 else "ANSWER[uncle]"
    return f"Thought: {WORDS * 3}\nAction: Search[Milan {len(messages)}]"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_of_the_papers_loads(name):
    recipe = load_recipe(PAPER / f"{name}.toml")
    assert recipe.profile == "paper"
    assert conditions([*recipe.conditions])
    assert recipe.baseline in recipe.conditions
    assert recipe.name == name.replace("_", "-")


COMMENTED = re.compile(r"""-c (?:'([^']+)'|([^\s'"]+[\w\]]))""")


@pytest.mark.parametrize("name", RECIPES)
def test_the_settings_that_a_recipe_of_the_papers_speaks_of_exist(name):
    file = PAPER / f"{name}.toml"
    comments = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    for found in COMMENTED.finditer("\n".join(comments)):
        setting = next(filter(None, found.groups()))
        if "=" not in setting:  # "-c KEY", said of a key alone
            continue
        recipe = load_recipe(file, [setting])
        if setting.startswith("benchmark."):
            known = {"name", *import_module(f"seasoned.lab.benchmarks.{recipe.benchmark.name}").OPTIONS}
            assert setting.removeprefix("benchmark.").partition("=")[0] in known


@pytest.mark.parametrize("name", [name for name in RECIPES if runs_here(name)])
def test_a_recipe_of_the_papers_runs(name, go, tmp_path):
    facts, given = tmp_path / "facts.csv", tmp_path / "given.jsonl"
    facts.write_text('/a/[]\t/r/IsA\t/c/en/cat\t/c/en/animal\t{"weight": 1.0}\n', encoding="utf-8")
    given.write_text('{"text": "Look into closed places too."}\n', encoding="utf-8")
    own = load_recipe(PAPER / f"{name}.toml")
    fewer = ["gather.retries=1", "method.trials=1", f"method.facts={facts}", f"method.given={given}"]
    fewer += ["repeats=2"] if own.repeats > 1 else []
    model = ScriptedModel(author, name="author", window=128_000)
    directory = go(load_recipe(PAPER / f"{name}.toml", [*SMALL, *fewer]), llm=model)
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert {block["name"] for block in summary["conditions"]} == set(own.conditions)
    assert any("The profile is paper" in remark for remark in summary["remarks"])
    assert not any("Scaffold" in remark for remark in summary["remarks"])
    assert not [problem for pool in summary["problems"] for problem in pool["problems"] if "no room" in problem]


ENGINES = {
    "erl_figure2": "are_python",
    "erl_table5": "are_python",
    "erl_appendix_c2": "are_python",
    "erl_table1": "tau2_python",
}
"""Recipes and their engines; the other recipes of Gaia2 differ only in models and in the number of heuristics."""


def caller(messages):
    """As `author`; the agents end each attempt with a call, and a ranking has the first heuristics."""
    asked = messages[0]["content"]
    if asked.startswith("You choose lessons"):
        return {"ranking": [{"number": 1, "reason": WORDS, "score": 90}], "contradictions": []}
    if "act for a user in the apps" in asked:
        call = {"name": "AgentUserInterface__send_message_to_user", "arguments": {"content": "No."}}
    elif "work on a ticket" in asked:
        call = {"name": "done", "arguments": {}}
    else:
        return author(messages)
    return json.dumps({"thought": WORDS, **call})


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINES)
def test_a_recipe_of_the_papers_runs_on_its_engine(name, go, request):
    python = request.getfixturevalue(ENGINES[name])
    fewer = ["gather.retries=1", "repeats=1", "limit=1", "benchmark.max_steps=3", f"benchmark.python={python}"]
    recipe = load_recipe(PAPER / f"{name}.toml", [*SMALL, *fewer])
    directory = go(recipe, llm=ScriptedModel(caller, name="caller", window=128_000))
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    found = {block["name"]: (block["n"], block["errors"]) for block in summary["conditions"]}
    assert found == dict.fromkeys(recipe.conditions, (len(recipe.seeds), 0))
    steps = {one["condition"]: (one["actions"], one["invalid"]) for one in summary["steps"]}
    assert steps == dict.fromkeys(recipe.conditions, (1.0, 0.0))
    assert any("The profile is paper" in remark for remark in summary["remarks"])


@pytest.mark.engine
@pytest.mark.parametrize("name", ["expel_table2", "reflexion_figure2"])
def test_a_recipe_of_the_papers_runs_on_alfworld(name, go, games, engine_python):
    """The conditions of the other recipes of ALFWorld run in test_recipes.py."""
    settings = [f"benchmark.data={games}", f"benchmark.python={engine_python}", "benchmark.max_steps=2"]
    settings += ["gather.retries=0", "method.trials=1", "limit=1"]
    recipe = load_recipe(PAPER / f"{name}.toml", [*SMALL, *settings])
    directory = go(recipe, llm=ScriptedModel(author, name="author", window=128_000))
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert {block["name"]: block["errors"] for block in summary["conditions"]} == dict.fromkeys(recipe.conditions, 0)
    assert any("The profile is paper" in remark for remark in summary["remarks"])


def test_every_attempt_again_is_compared_with_as_many_tries_alone():
    for name in RECIPES:
        recipe = load_recipe(PAPER / f"{name}.toml")
        tried = [one for one in conditions(recipe.conditions) if one.retries]
        if name in ("expel_table2", "reflexion_figure2", "reflexion_figure3", "reflexion_figure6"):
            assert recipe.baseline == "retry"
            assert recipe.method.coupled
            assert recipe.method.retry_temperature
            assert len(tried) == len(recipe.conditions)


def test_alfworld_is_counted_without_its_games(monkeypatch):
    monkeypatch.delenv("SEASONED_DATA", raising=False)
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    plan = make_plan(load_recipe(PAPER / "expel_table2.toml"), dry=True)
    assert plan.source.startswith("missing, so the recipe's own numbers are counted")
    assert sum(len(block.test) for block in plan.blocks) == 2 * 134


def test_the_base_run_is_as_long_as_reflexions(go, tmp_path):
    """Reflexion ends after a trial that gains nothing; the base run makes as many, though it gains nothing sooner."""

    def says(messages):
        if "It failed; what would have been right" in messages[0]["content"]:
            return "I will answer otherwise, and look at both pages before that."
        return "Thought: hm.\nAction: Finish[nothing]"

    settings = ["limit=2", "workers=1", "method.trials=3", "method.patience=2"]
    directory = go(load_recipe(PAPER / "reflexion_figure3.toml", settings), llm=ScriptedModel(says, name="loser"))
    rows = [json.loads(line) for line in (directory / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    most = {name: max(row["trial"] for row in rows if row["condition"] == name) for name in ("retry", "reflexion")}
    assert most == {"retry": 1, "reflexion": 1}
