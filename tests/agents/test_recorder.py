"""How an attempt ended, as its environment says it."""

import pytest

from seasoned.agents.recorder import Recorder
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
