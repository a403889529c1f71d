"""What a resumed run forgets; whole runs that are redone are in test_experiment.py."""

import pytest

from seasoned.errors import ConfigError
from seasoned.runner.plan import make_plan
from seasoned.runner.redo import finished, forget, shared_key
from seasoned.types import Outcome, Reply, Trajectory

RUN = "r"


@pytest.fixture
def plan(recipe):
    return make_plan(recipe(conditions=["disabled", "zero-shot", "expnote"]))


def put(store, key, reason="answered"):
    store.save_episode(
        RUN, key, "s", Trajectory(task_id=key.split("/", 2)[2], task="t", outcome=Outcome(reason=reason))
    )
    store.journal_put(f"{RUN}/{key}", "k", Reply(text="own"))


@pytest.fixture
def begun(store):
    store.add_run(RUN, "n", "p", {})
    for key in ("s0f0/training/a", "s0f0/disabled/b", "s0f0/expnote/b/c", "s0f0/expnote@3/b", "s0f0/zero-shot/d"):
        put(store, key)
    store.journal_put(f"{RUN}/{shared_key('s0f0', 'b/c')}", "k", Reply(text="shared"))
    return store


def test_errors_are_not_finished(begun):
    put(begun, "s0f0/disabled/e", "error")
    assert "s0f0/disabled/e" in begun.episodes(RUN)
    assert "s0f0/disabled/e" not in finished(begun, RUN)


def test_a_condition_goes_with_its_curve_and_its_journals(begun, plan):
    forget(begun, plan, RUN, ["expnote"])
    assert set(begun.episodes(RUN)) == {"s0f0/training/a", "s0f0/disabled/b", "s0f0/zero-shot/d"}
    assert begun.journal_get(f"{RUN}/s0f0/expnote/b/c", "k") is None
    assert begun.journal_get(f"{RUN}/s0f0/b/c", "k") is None
    assert begun.journal_get(f"{RUN}/s0f0/disabled/b", "k").text == "own"


def test_what_was_asked_to_recall_and_to_reflect_goes_too(begun, plan):
    gone = ["s0f0/b/c/reflect1", "s0f0/b/c/reflect3", "s0f0/b/c#2", "s0f0/expnote/b/c/recall"]
    gone += ["s0f0/expnote/b/c#1", "s0f0/expnote/b/c/reflect2"]
    kept = ["s0f0/disabled/b/recall", "s0f0/disabled/b/reflect1", "s0f0/d/reflect1"]
    for key in (*gone, *kept):
        begun.journal_put(f"{RUN}/{key}", "k", Reply(text="x"))
    forget(begun, plan, RUN, ["expnote"])
    assert [key for key in gone if begun.journal_get(f"{RUN}/{key}", "k")] == []
    assert [key for key in kept if begun.journal_get(f"{RUN}/{key}", "k")] == kept


def test_of_a_later_trial_the_calls_of_the_whole_task_go(begun, plan):
    put(begun, "s0f0/zero-shot/d#1")
    begun.journal_put(f"{RUN}/s0f0/d/reflect1", "k", Reply(text="x"))
    forget(begun, plan, RUN, ["zero-shot"])
    assert begun.journal_get(f"{RUN}/s0f0/zero-shot/d#1", "k") is None
    assert begun.journal_get(f"{RUN}/s0f0/d/reflect1", "k") is None


def test_with_the_training_goes_what_was_learned_from_it(begun, plan):
    forget(begun, plan, RUN, ["training"])
    assert set(begun.episodes(RUN)) == {"s0f0/disabled/b", "s0f0/zero-shot/d"}


def test_nothing_is_forgotten_where_nothing_is_named_or_a_name_is_wrong(begun, plan):
    forget(begun, plan, RUN, [])
    with pytest.raises(ConfigError, match="did you mean training"):
        forget(begun, plan, RUN, ["expnote", "trainin"])
    with pytest.raises(ConfigError, match="nothing to redo"):
        forget(begun, plan, "another", ["expnote"])
    assert len(begun.episodes(RUN)) == 5
