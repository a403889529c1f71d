"""Attempts as a log tells of them, as trajectories."""

from seasoned.traces.react_attempts import Attempt, finished
from seasoned.traces.source import Problem
from seasoned.types import Outcome


def attempt(line=1, **fields):
    steps = [(["t"], ["Finish[x]"], [""])]
    return Attempt(**{"line": line, "task": ["q?"], "steps": steps, **fields})


def ends(**fields):
    return finished([attempt(**fields)], [], {}, repeats=False).trajectories[0].outcome


def test_what_tells_of_success_in_this_order():
    seen = [(["t"], ["go"], ["Answer is CORRECT"])]
    assert ends(status=False, section="correct", score=1.0).success is False
    assert ends(section="incorrect", steps=seen).success is False
    assert ends(steps=seen, score=0.0).success is True
    assert ends(score=1.0) == Outcome(success=True, reward=1.0, reason="answered", answer="x")
    assert ends(score=7.0) == Outcome(reward=7.0, reason="answered", answer="x")
    assert ends(section="halted", steps=[([], ["go"], [])]) == Outcome(success=False, reward=0.0, reason="step_limit")
    assert ends(steps=[([], ["go"], ["Episode finished, reward = 0"])]).success is False
    assert ends().success is None


def test_the_verdict_on_an_answer_counts_before_the_section():
    wrong = [([], ["Finish[x]"], ["Answer is INCORRECT"])]
    assert ends(section="correct", steps=wrong).success is False
    assert ends(section="correct", steps=wrong, status=True).success is True


def test_an_answer_that_the_log_says_was_none():
    assert ends(score=0.0, unanswered=True) == Outcome(success=False, reward=0.0, reason="halted")


def test_repeats_are_left_out_only_where_the_log_prints_them():
    twice = [attempt(status=True), attempt(5, status=True), attempt(9, status=False), attempt(13, status=False)]
    told = finished(twice, [], {}, repeats=True)
    assert ([t.meta["place"] for t in told.trajectories], told.repeated) == (["line 1", "line 9", "line 13"], 1)
    assert len(finished(twice, [], {}, repeats=False).trajectories) == 4


def test_a_reflection_that_is_shown_goes_to_the_attempt_before():
    given = ["- First.", "- Second,", "in two lines."]
    first, second = finished([attempt(status=False), attempt(5, before=given)], [], {}, repeats=False).trajectories
    assert first.meta["reflection"] == "Second,\nin two lines."
    assert second.guidance == "\n".join(given)
    assert "reflection" not in second.meta
    (alone,) = finished([attempt(before=given)], [], {}, repeats=False).trajectories
    assert (alone.guidance, "reflection" in alone.meta) == ("\n".join(given), False)


def test_problems_come_in_the_order_of_lines():
    found = finished([], [Problem("line 9", "a"), Problem("line 10", "b"), Problem("line 2", "c")], {}, repeats=False)
    assert [p.where for p in found.problems] == ["line 2", "line 9", "line 10"]


def test_an_attempt_without_a_task_takes_what_name_there_is():
    names = [finished([attempt(task=[], environment=n)], [], {"file": f}, repeats=False).trajectories[0].task
             for n, f in ((3, "a.log"), (-1, "a.log"), (-1, ""))]  # fmt: skip
    assert names == ["Environment #3", "a.log", "unnamed"]
