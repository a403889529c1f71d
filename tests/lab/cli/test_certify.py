"""`seasoned certify` and `seasoned audit` as a person calls them."""

import json
from pathlib import Path

from seasoned.memory import Memory


def test_a_run_is_certified_checked_and_audited(cli, model, folder):
    run = cli("run", "small.toml", "-c", "train=20", "-q", "--json").json
    done = cli("certify", "last", "--tasks", "12", "-q", "--json").json
    assert done["deployed"] == "expnote+gate"
    assert done["valid"]
    assert done["claims"][0]["looks"][-1]["verdict"] == "promote"
    file = done["path"]
    assert cli("certify", "--check", file, "--json").json["valid"]
    text = cli("certify", "--check", file).out
    assert "promoted" in text
    assert "holds. Deployed: expnote+gate." in text
    assert "expnote+blank" in cli("audit", run["path"], "-q").out.lower().replace(" ", "")
    assert len(cli("audit", "last", "-q", "--json").json["conditions"]) == 6

    lesson = next(iter(json.loads(Path(file).read_text(encoding="utf-8"))["claims"][0]["lessons"]))
    assert cli("lessons", "edit", lesson, "--text", "z9").code == 0
    changed = cli("certify", "--check", file)
    assert (changed.code, "was changed since the gate" in changed.out) == (1, True)
    again = cli("certify", "last", "--tasks", "12", "-q", "--json")  # the gate is decided, and its lessons are others
    assert (again.code, again.json["valid"]) == (1, False)


def test_a_memorys_certificate_is_checked_too(cli, folder):
    with Memory("m.db", method="expnote", embedder=None) as memory:
        memory.add("Look up the order first.")
        made = memory.certify(
            [f"refund order {n}" for n in range(20)], lambda task, guidance: bool(guidance), agent="a"
        )
    Path("c.json").write_text(made.model_dump_json(), encoding="utf-8")
    assert cli("certify", "--check", "c.json", "--store", "m.db", "--json").json["valid"]
    other = cli("certify", "--check", "c.json", "--store", "m.db", "--model", "b")
    assert other.code == 1
    assert "the gate used the model a, and now it is b" in other.out


def test_mistakes_are_sentences(cli, model, folder):
    assert "expected a run, or --check FILE" in cli("certify").err
    assert "cannot be read" in cli("certify", "--check", "none.json").err
    cli("run", "small.toml", "-q", "--json")
    assert "can promote nothing" in cli("certify", "last", "--tasks", "3", "-q").err
