"""Changes that worked."""

from seasoned.methods.facts.mends import mends_of
from seasoned.types import Outcome, Step, Trajectory


def attempt(*programs, success=True):
    steps = tuple(Step(action=program) for program in programs)
    return Trajectory(id="tra-1", task_id="1", task="", steps=steps, outcome=Outcome(success=success))


def test_a_changed_line_is_told_where_it_worked():
    before, after = "def solve(x):\n    return tarn(x)", "def solve(x):\n    return tarn(str(x))"
    assert mends_of(attempt(before, ">>> tarn('3')", after)) == [
        ("tarn", "return tarn(x)", "return tarn(str(x))", "tra-1")
    ]
    assert mends_of(attempt(before, after, success=False)) == mends_of(attempt(after)) == []
