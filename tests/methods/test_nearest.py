"""The most similar earlier cases: with what was said of their answers, or with how they went."""

import pytest

from seasoned.methods.nearest import NearestCases
from seasoned.types import Outcome, Step, Task, Trajectory


def case(number, text, success, answer="", **step):
    outcome = Outcome(success=success, answer=answer)
    return Trajectory(task_id=f"t{number}", task=text, steps=(Step(**step),), outcome=outcome)


def test_answers_come_with_what_was_said_of_them(pool):
    pool.record(case(1, "my dog died", False, "joy", action="ANSWER[joy]", observation="Wrong. It is sadness."))
    pool.record(case(2, "a bill of the bank", True, "anger", action="ANSWER[anger]", observation="Right."))
    found = NearestCases(k=1).recall(Task(id="new", text="the dog of my aunt died"), pool)
    assert found.text == "Earlier cases like this one:\n- my dog died You answered joy. Wrong. It is sadness."
    assert [t.task_id for t in found.demonstrations] == ["t1"]


@pytest.mark.parametrize(
    ("success", "words"), [(True, "this went well"), (False, "this failed"), (None, "how it ended is not known")]
)
def test_work_without_an_answer_comes_with_its_steps_and_its_end(pool, success, words):
    pool.record(case(1, "refund order 17", success, action="lookup(17)", observation="shipped"))
    found = NearestCases(same_task=True).recall(Task(id="t1", text="refund order 17"), pool)
    assert found.text.endswith(f"- refund order 17 Action: lookup(17); Observation: shipped ({words})")
    assert NearestCases().recall(Task(id="t1", text="refund order 17"), pool).text == ""


@pytest.mark.parametrize(
    ("success", "words"), [(True, "this went well"), (False, "this failed"), (None, "how it ended is not known")]
)
def test_an_answer_of_which_nothing_was_said_comes_with_its_end(pool, success, words):
    pool.record(case(1, "refund order 17", success, "refused", action="lookup(17)", observation="shipped"))
    found = NearestCases().recall(Task(id="new", text="refund order 18"), pool)
    assert found.text.endswith(f"- refund order 17 You answered refused. ({words})")
