"""Every recipe in experiments/ runs from end to end, in small, with a model that is no help at all."""

import json
import os
from pathlib import Path

import pytest

from seasoned.benchmarks.install import interpreter
from seasoned.errors import ConfigError
from seasoned.llm.scripted import ScriptedModel
from seasoned.runner.conditions import CONDITIONS
from seasoned.runner.recipe import load_recipe

ROOT = Path(__file__).parents[2]
RECIPES = sorted(path.stem for path in (ROOT / "experiments").glob("*.toml"))
SMALL = ("limit=2", "workers=1", "curve=[]", "embedder=hashing")
ACTS = ("hotpotqa", "fever", "webshop")
HEURISTIC = {"analysis": "I did not look.", "trigger": "a name is unknown", "action": "look it up first"}


def parrot(messages):
    """Says what is asked for in form, and nothing of use."""
    asked = messages[0]["content"]
    if "You choose lessons" in asked:
        return "7"
    if '"trigger", "action"' in asked:
        return json.dumps(HEURISTIC)
    return "Thought: hm.\nAction: look[around]"


@pytest.mark.parametrize("name", [name for name in RECIPES if "alfworld" not in name and name != "mets"])
def test_a_recipe_runs(name, go):
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml", SMALL)
    check(recipe, go(recipe, llm=ScriptedModel(parrot, name="parrot")))


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """Settings that name a few new games and the Python that has the engine."""
    python = os.environ.get("SEASONED_ALFWORLD_PYTHON", "")
    try:
        python = python or str(interpreter("alfworld"))
    except ConfigError as error:
        pytest.skip(f"{error}, or name its Python in SEASONED_ALFWORLD_PYTHON")
    from seasoned.benchmarks.alfworld.games import generate

    folder = tmp_path_factory.mktemp("games")
    generate(3, 11, folder, python=python)
    return [f"benchmark.data={folder}", f"benchmark.python={python}", "benchmark.max_steps=3", "gather.retries=1"]


@pytest.mark.engine
@pytest.mark.parametrize("name", [name for name in RECIPES if "alfworld" in name])
def test_a_recipe_of_alfworld_runs(name, go, games):
    fewer = ["repeats=2"] if load_recipe(ROOT / "experiments" / f"{name}.toml").repeats > 1 else []
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml", [*SMALL, *games, *fewer])
    check(recipe, go(recipe, llm=ScriptedModel(parrot, name="parrot")))


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("erl_")])
def test_the_headline_of_a_recipe_of_erl_is_about_erl(name):
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml")
    assert next(c for c in recipe.conditions if c != recipe.baseline and CONDITIONS[c].learns) == "erl"


def test_expel_on_webshop_keeps_eight_insights():
    assert load_recipe(ROOT / "experiments" / "expel_webshop.toml").expel.max_insights == 8


def check(recipe, directory):
    """The run judged every condition as often as the recipe wants, and what was learned was recalled."""
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert [block["name"] for block in summary["conditions"]] == [
        recipe.baseline,
        *(condition for condition in recipe.conditions if condition != recipe.baseline),
    ]
    assert all(block["n"] and not block["errors"] for block in summary["conditions"])
    for block in summary["conditions"]:
        figures = {one["k"]: one for one in block["reliability"]["figures"]}
        assert set(figures) == set(range(1, recipe.repeats + 1))
        assert 0 <= figures[recipe.repeats]["pass^k"] <= figures[recipe.repeats]["pass@k"] <= 1
    if recipe.benchmark.name in ACTS and any(condition.startswith("erl") for condition in recipe.conditions):
        recalled = [json.loads(line) for line in (directory / "results.jsonl").read_text(encoding="utf-8").splitlines()]
        assert all(row["lesson_ids"] for row in recalled if row["condition"] in ("erl", "erl-embedding"))
