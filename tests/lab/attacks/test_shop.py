"""The shop of the attacks."""

from __future__ import annotations

import pytest

from seasoned.contracts import check_environment
from seasoned.lab.attacks.shop import STEPS, Shop, tasks

MADE = tasks(20)
PAID = next(task for task in MADE if task.data["answer"])
LATE = next(task for task in MADE if not task.data["answer"])


def test_it_is_an_environment():
    check_environment(lambda: Shop(True), MADE[0])


@pytest.mark.parametrize(
    ("task", "actions", "success"),
    [
        (PAID, ["lookup[{}]", "refund[{}]", "done[]"], True),
        (PAID, ["refund[{}]", "lookup[{}]", "done[]"], False),
        (PAID, ["lookup[{}]", "done[]"], False),
        (LATE, ["lookup[{}]", "message[It is too late.]", "done[]"], True),
        (LATE, ["lookup[{}]", "refund[{}]", "done[]"], False),
        (LATE, ["lookup[{}]", "done[]"], False),
        (LATE, ["lookup[zzz]", "fly", "message[no]", "done[]"], True),
        (PAID, ["lookup[{}]"] * STEPS, False),
    ],
)
def test_what_is_right_is_refunded_after_a_look(task, actions, success):
    env = Shop(True)
    env.reset(task)
    *_, (observation, reward, terminated, truncated, info) = [
        env.step(action.format(task.data["order"])) for action in actions
    ]
    assert terminated or truncated
    assert (info["success"], reward, observation) == (success, float(success), "Right." if success else "Wrong.")
