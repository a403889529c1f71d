from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.lab.report.rows import Row
from seasoned.lab.report.trials import by_trial, endings


def _of(rows, condition):
    return [row for row in rows if row.condition == condition]


def test_solved_tasks_stay_solved_and_the_others_are_tried_again(retried):
    trials = by_trial(_of(retried, "reflexion"))
    assert [trial["trial"] for trial in trials] == [0, 1, 2, 3]
    assert [trial["solved"] for trial in trials] == [4, 6, 7, 7]
    assert [trial["n"] for trial in trials] == [12] * 4
    assert [trial["attempts"] for trial in trials] == [12, 8, 6, 5]
    assert trials[2]["accuracy"] == pytest.approx(7 / 12)
    assert trials[2]["interval"][0] < 7 / 12 < trials[2]["interval"][1]
    assert trials[3]["points"] == pytest.approx(25.0)


def test_each_trial_is_paired_with_the_first_attempt(retried):
    trials = by_trial(_of(retried, "reflexion"))
    # Nothing is ever lost, so the exact p of g gained tasks is 2 / 2**g, and 1 for none and one.
    assert [trial["p"] for trial in trials] == [None, 0.5, 0.25, 0.25]
    assert trials[0]["points"] is None


def test_a_task_under_two_seeds_is_one_case(retried):
    once = by_trial(_of(retried, "reflexion"))
    again = [row.model_copy(update={"seed": 1}) for row in _of(retried, "reflexion")]
    twice = by_trial([*_of(retried, "reflexion"), *again])
    assert [(trial["n"], trial["p"]) for trial in twice] == [(24, trial["p"]) for trial in once]
    assert [trial["interval"] for trial in twice] == [trial["interval"] for trial in once]


def test_reasons_are_those_of_the_tasks_that_stay_unsolved(retried):
    trials = by_trial(_of(retried, "reflexion"))
    assert trials[0]["reasons"] == {"answered": 4, "loop": 2, "step_limit": 2}
    assert trials[3]["reasons"] == {"loop": 2, "step_limit": 2, "answered": 1}
    for trial in trials:
        assert sum(trial["reasons"].values()) == trial["n"] - trial["solved"]


def test_one_attempt_a_task_has_no_trials(retried):
    assert by_trial(_of(retried, "react")) == []
    assert by_trial([]) == []


def test_an_error_is_left_out_from_its_trial_on_until_it_is_tried_again(make_row):
    rows = [make_row(success=False), make_row(success=None, reason="error", trial=1), make_row(success=True, trial=2)]
    rows += [make_row(task_id="t1", success=False, trial=trial) for trial in range(3)]
    trials = by_trial(rows)
    assert [(trial["solved"], trial["n"], trial["errors"]) for trial in trials] == [(0, 2, 0), (0, 1, 1), (1, 2, 0)]
    assert trials[1]["p"] == 1.0


def test_only_errors_are_no_rate(make_row):
    rows = [make_row(success=None, reason="error", trial=trial) for trial in (0, 1)]
    assert [(trial["accuracy"], trial["p"], trial["errors"]) for trial in by_trial(rows)] == [(None, None, 1)] * 2


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("answered", "failed"),
        ("won", "failed"),
        ("loop", "halted"),
        ("step_limit", "halted"),
        ("budget", "halted"),
        ("context", "halted"),
        ("halted", "halted"),
        ("made up", "halted"),
    ],
)
def test_what_came_to_an_end_failed_and_what_was_stopped_halted(make_row, reason, ending):
    rows = [make_row(success=False, reason=reason), make_row(task_id="t1", success=True)]
    assert endings(rows) == {"failed": 0, "halted": 0, **{ending: 1}, "success": 1}


def test_errors_and_unknown_outcomes_are_no_ending(make_row):
    assert endings([make_row(success=None), make_row(reason="error")]) == {"success": 0, "failed": 0, "halted": 0}


_ROWS = st.lists(
    st.builds(
        Row,
        run_id=st.just("r"),
        benchmark=st.just("b"),
        condition=st.just("reflexion"),
        seed=st.integers(0, 1),
        split=st.just("test"),
        task_id=st.sampled_from("abcd"),
        task=st.just("t"),
        success=st.none() | st.booleans(),
        reason=st.sampled_from(["answered", "loop", "step_limit", "budget", "error"]),
        trial=st.integers(0, 4),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(_ROWS)
def test_any_attempts_add_up(rows):
    before: dict[str, int] = {}
    for trial in by_trial(rows):
        assert trial["solved"] + sum(trial["reasons"].values()) == trial["n"]
        assert trial["solved"] >= before.get("solved", 0)
        assert trial["n"] + trial["errors"] <= 8
        before = trial
    assert sum(endings(rows).values()) == sum(row.counted for row in rows)
