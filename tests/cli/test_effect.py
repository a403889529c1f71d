"""`seasoned effect` and `seasoned outcome`."""

import pytest

from seasoned.memory import Memory
from seasoned.store.sql import Store
from seasoned.types import Outcome, Trajectory

pytestmark = pytest.mark.usefixtures("fixed_coins")


@pytest.fixture
def made():
    """Attempts of a memory in seasoned.db, half of them held out; the last without an outcome."""
    with Memory("seasoned.db", method="expnote", embedder=None, holdout=0.5, withhold=0.5) as memory:
        memory.add(["Look the order up.", "Promise a date."])
        ended = []
        for number in range(41):
            with memory.attempt("refund an order", category="ab"[number % 2]) as attempt:
                if number < 40:
                    ended.append(attempt.finish(success=bool(attempt.guidance.text)))
        return ended


def test_the_effect_is_told_with_its_interval(cli, made):
    said = cli("effect").out
    assert said.startswith("It helps: +")
    assert " points (+" in said
    assert "1 attempt has no outcome yet" in said
    assert "By category\n  a: +" in said
    assert "Lessons, by evidence of harm" in said
    assert "Look the order up." in said


def test_the_effect_for_programs(cli, made):
    told = cli("effect", "--namespace", "default", "--json").json
    assert (told["verdict"], told["waiting"], told["off"]) == ("helps", 1, "")
    assert set(told["overall"]) == {"value", "low", "high", "shown", "withheld"}
    assert {"lesson_id", "uses", "effect", "harm", "limit"} < set(told["lessons"][0])


def test_without_a_holdout_it_says_how_to_begin(cli, made):
    done = cli("effect", "--namespace", "ann")
    assert done.code == 1
    assert "nothing was held back in the namespace 'ann' yet" in done.err
    assert "holdout=0.1" in done.err
    assert cli("effect", "--store", "none.db").code == 1


def test_guidance_that_is_off_is_told_and_resumed(cli, made):
    with Store("seasoned.db") as store:
        store.mark("holdout/memory/default", "off", "guidance was switched off: evidence of harm 30")
    said = cli("effect").out
    assert "Guidance is OFF: guidance was switched off: evidence of harm 30." in said
    assert 'seasoned effect --namespace default --resume "WHY"' in said
    done = cli("effect", "--resume", "mended")
    assert "switched on again" in done.err
    assert "OFF" not in done.out
    assert "not switched off" in cli("effect", "--resume", "again").err


def test_a_late_outcome_keeps_both_verdicts(cli, made):
    wanted = made[0].id
    done = cli("outcome", wanted, "--failure", "--why", "customer came back", "--store", "seasoned.db")
    assert done.out == f"{wanted} is a failure now; its record has 2 verdicts\n"
    told = cli("outcome", wanted[:12], "--success", "--reward", "0.5", "--json").json
    assert told["outcome"]["reward"] == 0.5
    assert [each["why"] for each in told["meta"]["verdicts"]] == ["", "customer came back", ""]
    assert "verdict  failure, by person" in cli("replay", wanted).out


def test_an_outcome_that_waits_counts_when_it_arrives(cli, made):
    waiting = next(each for each in cli("attempts", "--limit", "100", "--json").json if each["success"] is None)
    cli("outcome", waiting["id"], "--success")
    assert cli("effect", "--json").json["waiting"] == 0


def test_mistakes_are_sentences(cli, made):
    with Store("seasoned.db") as store:
        store.add_trajectories("run/a", [Trajectory(id="of-a-run", task_id="t", task="t", outcome=Outcome())])
    assert "--success or --failure" in cli("outcome", made[0].id).err
    assert "no attempt begins with 'none'" in cli("outcome", "none", "--success").err
    assert "several attempts begin with 'tra-'" in cli("outcome", "tra-", "--success").err
    assert "an attempt of a run" in cli("outcome", "of-a-run", "--success").err
