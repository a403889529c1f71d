"""Which tools an agent is offered."""

from types import SimpleNamespace

import pytest

from seasoned.embed import embedder
from seasoned.lab.run.offer import Offering, needed, relevant
from seasoned.types import Outcome, Step, Task, ToolCall, Trajectory

TOOLS = [
    {"name": "reset_apn_settings", "description": "Resets the settings of the access point."},
    {"name": "make_payment", "description": "Pays a bill that is overdue."},
    {"name": "run_speed_test", "description": "Measures the speed of mobile data."},
    {"name": "done", "description": "Ends the work."},
]
TASK = Task(id="t", text="The speed of mobile data is bad.", category="slow")


def attempt(success, *names, category="slow"):
    steps = tuple(Step(action=f"{name}()", call=ToolCall(name=name)) for name in names)
    return Trajectory(task_id="a", task="a", category=category, steps=steps, outcome=Outcome(success=success))


def names(tools):
    return [tool["name"] for tool in tools]


def test_what_successes_of_a_family_called_is_needed():
    found = needed([attempt(True, "done", "run"), attempt(False, "pay"), attempt(True, "pay", category="bill")])
    assert found == {"slow": {"done", "run"}, "bill": {"pay"}}


@pytest.mark.parametrize(
    ("family", "k", "offered"),
    [
        ({"done"}, 1, ["run_speed_test", "done"]),
        ({"done", "make_payment"}, 0, ["make_payment", "done"]),
        ((), 9, names(TOOLS)),
    ],
)
def test_the_familys_and_the_nearest_in_the_order_of_the_environment(family, k, offered):
    assert names(relevant(family, embedder("hashing"), k)(TASK, TOOLS)) == offered


def test_an_environment_offers_what_is_chosen_and_does_as_ever():
    closed = []
    env = SimpleNamespace(
        reset=lambda task, seed=None: ("begin", {"tools": TOOLS}),
        step=lambda action: (action, 1.0, True, False, {"success": True}),
        close=lambda: closed.append(True),
    )
    offering = Offering(env, lambda task, tools: [tools[-1]] if task is TASK else [])
    assert offering.reset(TASK) == ("begin", {"tools": [TOOLS[-1]]})
    assert offering.step("x") == ("x", 1.0, True, False, {"success": True})
    offering.close()
    assert closed == [True]
