"""Every recipe in experiments/ runs from end to end, in small, with a model that is no help at all."""

import json
from pathlib import Path

import pytest

from seasoned.llm.scripted import ScriptedModel
from seasoned.runner.recipe import load_recipe

ROOT = Path(__file__).parents[2]
WITHOUT_ENGINE = sorted(p.stem for p in (ROOT / "experiments").glob("*.toml") if "alfworld" not in p.stem)
SMALL = ("limit=2", "workers=1", "curve=[]", "embedder=hashing")
ACTS = ("hotpotqa", "fever", "webshop")
HEURISTIC = {"analysis": "I did not look.", "trigger": "a name is unknown", "action": "look it up first"}


def parrot(messages):
    """Says what is asked for in form, and nothing of use."""
    asked = messages[0]["content"]
    if "You choose lessons" in asked:
        return json.dumps({"ranking": [{"number": 1, "reason": "it fits", "score": 80}], "contradictions": []})
    if '"trigger", "action"' in asked:
        return json.dumps(HEURISTIC)
    return "Thought: hm.\nAction: look[around]"


@pytest.mark.parametrize("name", [name for name in WITHOUT_ENGINE if name != "mets"])
def test_a_recipe_runs(name, go):
    recipe = load_recipe(ROOT / "experiments" / f"{name}.toml", SMALL)
    directory = go(recipe, llm=ScriptedModel(parrot, name="parrot"))
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
