import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.agents.halting import ends_early, make_halt, reflexion_halt
from seasoned.errors import ConfigError
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


@pytest.mark.parametrize(
    ("done", "limits", "why"),
    [
        ([], {}, None),
        (["look:a"], {}, None),
        (["look:a", "look:a"], {}, "loop"),  # the paper: two or more identical actions with the same observation
        (["look:a", "look:b"], {}, None),
        (["look:a", "look:b"], {"with_observation": False}, "loop"),
        (["look", "look"], {"omega": 2}, None),
        (["look", "look", "look"], {"omega": 2}, "loop"),
        (["a", "b", "a", "b"], {}, None),
        (["a", "b", "a", "b"], {"cycle": 2}, "loop"),
        (["b", "a", "b", "a", "c"], {"cycle": 2}, None),
        (["a", "b", "c", "a", "b", "c"], {"cycle": 3}, "loop"),
        ([str(n) for n in range(30)], {}, None),
        ([str(n) for n in range(31)], {}, "step_limit"),  # more than 30 actions
    ],
)
def test_h_as_reflexion_prints_it(done, limits, why):
    assert reflexion_halt(steps(*done), **limits) == why


@given(st.lists(st.sampled_from("ab"), max_size=8), st.integers(0, 3), st.integers(1, 4))
def test_a_longer_cycle_only_ends_more(done, omega, cycle):
    told = [reflexion_halt(steps(*done), omega=omega, cycle=size) for size in (cycle, cycle + 1)]
    assert told[0] is None or told[1] == told[0]


def never(done):
    return None


def test_a_rule_of_ones_own_by_its_path():
    assert make_halt("") is None
    assert make_halt("reflexion", omega=1)(steps("a", "a")) == "loop"
    assert make_halt("json.dumps") is not None
    with pytest.raises(ConfigError, match="known is reflexion"):
        make_halt("reflexive")
    with pytest.raises(ConfigError, match="should be a function"):
        make_halt("math.pi")
