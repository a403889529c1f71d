"""What lessons were measured to do, of a run with a gate, beside what the record says of them."""

from loading import program

from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store

record = program("experiments/record.py")


def test_effects_are_measured_at_test_and_gate_tasks(apprentice, tmp_path, capsys):
    recipe = make_recipe(
        {
            "name": "small",
            "benchmark": {"name": "emoji", "symbols": "codes"},
            "conditions": ["disabled", "expnote", "expnote+gate"],
            "train": 30,
            "test": 30,
            "gate": {"tasks": 40},
        }
    )
    address = tmp_path / "seasoned.db"
    with Store(address) as store:
        model = ScriptedModel(apprentice, name="apprentice")
        directory = run(recipe, store=store, runs_dir=tmp_path / "runs", quiet=True, llm=model)
        scope = f"{directory.name}/s0f0/expnote"
        both = record.effects(store, scope, "expnote", "disabled")
        gate = record.effects(store, scope, "expnote", "nothing")
        uses = len([t for t in store.trajectories(f"{scope}+gate:lessons/test") if t.lesson_ids])
    assert uses >= 4
    assert gate
    assert set(gate) <= set(both)
    assert gate != {name: both[name] for name in gate}
    record.main(str(address), "expnote", "disabled", "words")
    assert f"n {len(both)}" in capsys.readouterr().out
