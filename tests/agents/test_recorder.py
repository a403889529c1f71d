"""How an attempt ended, as its environment says it."""

import pytest

from seasoned.agents.recorder import Recorder, attempt
from seasoned.errors import ConfigError, DataError
from seasoned.types import Guidance, Outcome, Task


@pytest.mark.parametrize(
    ("info", "over", "outcome"),
    [
        ({"success": True, "answer": "7"}, True, Outcome(success=True, reward=1.0, reason="answered", answer="7")),
        ({"success": False}, True, Outcome(success=False, reward=0.0, reason="answered")),
        ({"success": None, "answer": "7"}, True, Outcome(reason="answered", answer="7")),
        ({"success": None}, True, Outcome(reason="halted")),
        ({"success": None}, False, Outcome(success=False, reward=0.0, reason="step_limit")),
        ({}, True, Outcome(success=False, reward=0.0, reason="step_limit")),
    ],
)
def test_an_outcome_that_nobody_knows_is_no_failure(info, over, outcome):
    task = Task(id="t", text="t")
    assert Recorder("a", task, None, Guidance(), info=info, over=over).outcome() == outcome


class Raising:
    """An environment that raises at its reset or at its step."""

    def __init__(self, error, at):
        self.error, self.at = error, at

    def reset(self, task, *, seed=None):
        if self.at == "reset":
            raise self.error
        return "begin", {}

    def step(self, action):
        raise self.error


@pytest.mark.parametrize("at", ["reset", "step"])
@pytest.mark.parametrize("error", [KeyError("no such thing"), DataError("a game is broken")])
def test_an_environment_that_raises_ends_its_attempt_alone(error, at):
    made = attempt("a", Task(id="t7", text="t"), Raising(error, at), Guidance(), lambda r, o, i: r.act("go") and None)
    assert (made.outcome.success, made.outcome.reason) == (None, "error")
    assert made.outcome.detail.startswith("the environment failed at the task t7: ")
    assert str(error) in made.outcome.detail


def test_what_the_user_has_to_mend_is_not_taken_for_the_environments_fault():
    with pytest.raises(ConfigError, match="install it"):
        attempt(
            "a", Task(id="t", text="t"), Raising(ConfigError("install it"), "reset"), Guidance(), lambda r, o, i: None
        )
