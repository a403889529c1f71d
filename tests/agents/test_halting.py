import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.agents.halting import ends_early
from seasoned.types import Step


def steps(*done):
    """`go:seen` is the action `go` that met the observation `seen`."""
    return [Step(action=one.partition(":")[0], observation=one.partition(":")[2]) for one in done]


@pytest.mark.parametrize(
    ("done", "omega", "same", "why"),
    [
        ([], 2, True, None),
        (["look"], 2, True, None),
        (["look", "look"], 2, True, "loop"),
        (["look", "  look "], 2, True, "loop"),
        (["look", "look"], 3, True, None),
        (["go", "look", "look", "look"], 3, True, "loop"),
        (["look", "look", "go"], 2, True, None),
        (["look", "go", "look"], 2, True, None),
        (["open:closed", "open:open"], 2, True, None),
        (["open:closed", "open:open"], 2, False, "loop"),
        (["N/A", "N/A"], 2, True, "loop"),
        (["look", "look", "look"], None, True, None),
        (["look", "look", "look"], 0, True, None),
        (["look"], 1, True, None),
    ],
)
def test_a_loop_is_the_same_action_so_many_times_in_a_row(done, omega, same, why):
    assert ends_early(steps(*done), omega=omega, with_observation=same) == why


def test_observations_count_unless_told_otherwise():
    assert ends_early(steps("open:closed", "open:open"), omega=2) is None


@pytest.mark.parametrize(("n", "why"), [(0, None), (29, None), (30, "step_limit"), (31, "step_limit")])
def test_the_steps_run_out(n, why):
    assert ends_early(steps(*(f"go {i}" for i in range(n))), omega=2, epsilon=30) == why


def test_a_loop_at_the_last_step_is_called_a_loop():
    assert ends_early(steps("go", "look", "look"), omega=2, epsilon=3) == "loop"


def test_no_limit_ends_nothing():
    assert ends_early(steps(*["look"] * 50)) is None
    assert ends_early(steps(*["look"] * 50), epsilon=0) is None


@given(st.lists(st.sampled_from(["a:1", "a:2", "b:1"]), max_size=12), st.integers(2, 5))
def test_a_loop_stays_one_when_observations_stop_counting(done, omega):
    made = steps(*done)
    if ends_early(made, omega=omega) == "loop":
        assert ends_early(made, omega=omega, with_observation=False) == "loop"
        assert ends_early([*made, *steps("c:1")], omega=omega) is None
