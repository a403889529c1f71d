"""`seasoned demo` with the apprentice in the place of the local model, and fewer cases."""

import shutil

import pytest

from seasoned.cli import model as model_commands
from seasoned.lab.run import recipe as recipes


@pytest.fixture(autouse=True)
def small(monkeypatch, model, folder):
    real = recipes.load_recipe
    pulled = []

    def fewer(path, settings=()):
        made = real(path, settings)
        return made.model_copy(update={"train": 6, "test": 4}) if str(path).endswith("demo.toml") else made

    monkeypatch.setattr(recipes, "load_recipe", fewer)
    monkeypatch.setattr(model_commands, "pull_with_progress", lambda name: pulled.append(name) or folder)
    return pulled


def test_the_demo_is_run_once_and_then_shown_again(cli, apprentice, small):
    first = cli("demo", "--json")
    assert (first.code, small) == (0, ["qwen"])
    assert {block["name"] for block in first.json["conditions"]} == {"disabled", "few-shot", "expnote"}
    calls = apprentice.calls
    again = cli("demo", "--json")
    assert (again.code, again.json, apprentice.calls) == (0, first.json, calls)
    assert "has been run" in again.err


def test_a_demo_that_was_stopped_goes_on(cli, apprentice):
    def stop(call):
        if call == 20:
            raise KeyboardInterrupt

    apprentice.stop = stop
    assert cli("demo").code == 130
    done = cli("demo", "--json")
    assert done.code == 0
    assert len(set(apprentice.answered)) == len(apprentice.answered)
    assert len(cli("runs", "list", "--json").json) == 1


def test_a_demo_whose_store_is_gone_says_how_to_begin_anew(cli, apprentice, folder):
    def stop(call):
        if call == 20:
            raise KeyboardInterrupt

    apprentice.stop = stop
    assert cli("demo").code == 130
    (folder / "seasoned.db").unlink()
    done = cli("demo")
    assert (done.code, done.out) == (1, "")
    (place,) = (folder / "runs").iterdir()
    assert f"or delete the folder runs/{place.name} to begin anew" in done.err
    assert not (folder / "seasoned.db").exists()
    shutil.rmtree(place)
    assert cli("demo", "--json").code == 0
