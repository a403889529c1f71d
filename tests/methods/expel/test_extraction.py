"""Which calls an extraction makes, and what each of them asks."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, ContextLengthError, InfrastructureError
from seasoned.lab.methods.autoguide import AutoGuide
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.attempts import TOO_LONG
from seasoned.methods.erl import ERL
from seasoned.methods.expel import ExpeL
from seasoned.methods.expel.extraction import Call, Extractor, corrected, near_equal, plan_calls, worked_pair
from seasoned.replies.operations import Item, Operation
from seasoned.types import Outcome, Step, Trajectory


def attempt(task, trial=0, success=True, reason="answered"):
    steps = (Step(thought="Think.", action=f"do {task} {trial}", observation="seen " * 60),)
    outcome = Outcome(success=success, reason=reason)
    return Trajectory(id=f"{task}-{trial}", task_id=task, task=f"Task {task}.", steps=steps, outcome=outcome)


def names(calls):
    return [[t.id for t in call.attempts] for call in calls]


def test_failures_in_order_beside_the_first_success_then_first_successes():
    tried = [
        *(attempt("a", n, success=n == 2) for n in range(3)),
        *(attempt("b", n, success=False) for n in range(4)),
        attempt("c"),
        *(attempt("d", n, success=n > 0) for n in range(3)),
    ]
    calls = plan_calls(tried, chunk=8, seed=0)
    assert names(calls[:3]) == [["a-0", "a-2"], ["a-1", "a-2"], ["d-0", "d-1"]]
    assert [call.pair for call in calls] == [True, True, True, False]
    assert sorted(names(calls)[3]) == ["a-2", "c-0", "d-1"]
    assert names(plan_calls(tried, chunk=8, seed=0)) == names(calls)
    assert names(plan_calls(tried, chunk=8, seed=0, successes=False)) == names(calls[:3])
    assert names(plan_calls(tried, chunk=8, seed=0, compare=False)) == names(calls[3:])


def test_a_new_attempt_is_compared_with_earlier_ones_at_its_task():
    failed, won, again, lost = attempt("a", 0, False), attempt("a", 1), attempt("a", 2), attempt("a", 3, False)
    other = attempt("b", 0, False)
    assert names(plan_calls([won, other], earlier=[failed], chunk=8, seed=0)) == [["a-0", "a-1"], ["a-1"]]
    assert names(plan_calls([again, lost], earlier=[failed, won, again], chunk=8, seed=0)) == [["a-3", "a-1"]]
    assert names(plan_calls([other], earlier=[failed, won], chunk=8, seed=0)) == []


def test_the_seed_shuffles_the_successes():
    tried = [attempt(f"t{n}") for n in range(12)]
    orders = {tuple(names(plan_calls(tried, chunk=99, seed=seed))[0]) for seed in range(4)}
    assert len(orders) == 4


def test_errors_and_unknown_outcomes_are_no_failures():
    broken = [attempt("a", 0, None, "error"), attempt("a", 1, None, "unfinished"), attempt("a", 2)]
    assert names(plan_calls(broken, chunk=8, seed=0)) == [["a-2"]]


def answered(task, right="", said="p9"):
    steps = [
        Step(thought="angry", action="THINK[angry]", observation="OK."),
        Step(action=f"ANSWER[{said}]", observation=f"Wrong. The right answer is {right}." if right else "Wrong."),
        Step(action="NOTE[h3]: angry", observation="OK."),
    ]
    outcome = Outcome(success=False, reward=0.0, reason="answered", answer=said)
    return Trajectory(id=f"{task}-0", task_id=task, task=f"Task {task}.", steps=tuple(steps), outcome=outcome)


def test_a_wrong_answer_stands_beside_the_right_one_that_was_told():
    told, silent, solved = answered("a", "h3"), answered("b"), answered("c", "j7")
    first, second = plan_calls([told, silent, solved, attempt("c", 1)], chunk=8, seed=0)[:2]
    wrong, right = first.attempts
    assert first.pair
    assert first.sources == ("a-0",)
    assert [step.action for step in wrong.steps] == ["THINK[angry]", "ANSWER[p9]"]
    assert [step.action for step in right.steps] == ["THINK[angry]", "ANSWER[h3]"]
    assert (right.steps[-1].observation, right.outcome.answer, right.outcome.success) == ("Right.", "h3", True)
    assert names([second]) == [["c-0", "c-1"]]  # an own success comes before what was told
    assert plan_calls([told], chunk=8, seed=0, compare=False) == []  # it is no success of its own


@given(st.lists(st.text(max_size=30), max_size=5), st.text(max_size=30))
def test_correcting_never_raises(actions, said):
    steps = tuple(Step(action=action, observation=said) for action in actions)
    failed = Trajectory(task_id="a", task="", steps=steps, outcome=Outcome(success=False, reason="answered"))
    assert corrected(failed) is None or corrected(failed).outcome.success


def test_no_attempts_no_success_one_task():
    assert plan_calls([], chunk=8, seed=0) == []
    assert plan_calls([attempt("a", success=False)], chunk=8, seed=0) == []
    assert names(plan_calls([attempt("a")], chunk=1, seed=0)) == [["a-0"]]


def test_reflections_are_those_on_the_tasks_that_are_shown():
    asked = []

    def told(ids):
        asked.append(sorted(ids))
        return ["I was slow."]

    tried = [attempt("a", 0, False), attempt("a", 1), attempt("b")]
    calls = plan_calls(tried, chunk=1, seed=0, reflections=told)
    assert {call.reflections for call in calls} == {("I was slow.",)}
    assert sorted(set(map(tuple, asked[1:]))) == [("a-0", "a-1"), ("b-0",)]


@given(st.integers(0, 60), st.integers(1, 12))
def test_parts_are_nearly_equal_and_few(count, most):
    parts = near_equal(list(range(count)), most)
    assert [item for part in parts for item in part] == list(range(count))
    assert len(parts) == -(-count // most)
    sizes = Counter(map(len, parts))
    assert not sizes or max(sizes) <= most
    assert not sizes or max(sizes) - min(sizes) <= 1


LIST = (Item("Look first."), Item("Ask twice."))
PAIR = Call((attempt("a", 0, False), attempt("a", 1)), pair=True)


def test_a_structured_reply():
    model = ScriptedModel([[{"operation": "UPVOTE", "number": 2, "text": "Ask twice."}]])
    parsed = Extractor(ExpeL(model, "Errands.")).ask(PAIR, LIST, crowded=False)
    assert parsed.operations == (Operation("UPVOTE", 2),)
    request = model.requests[0]
    assert request["schema"]["items"]["properties"]["number"]["maximum"] == 2
    assert request["max_tokens"] == 400
    system, user = (message["content"] for message in request["messages"])
    assert "Errands." in system
    assert "JSON" in system
    assert user.index("1. Look first.") < user.index("2. Ask twice.") < user.index("do a 0") < user.index("do a 1")
    assert user.count("Task: Task a.") == 1
    assert "too long" not in user


def test_what_is_constant_comes_first():
    model = ScriptedModel([[{"operation": "ADD", "number": 0, "text": "Rest."}], []])
    extractor = Extractor(ExpeL(model, "Errands."))
    extractor.ask(PAIR, (), crowded=False)
    extractor.ask(Call((attempt("b"), attempt("c"))), LIST, crowded=True)
    one, other = (request["messages"] for request in model.requests)
    assert one[0] == other[0]
    assert "The list of insights is empty." in one[1]["content"]
    assert "First DOWNVOTE" in other[1]["content"]
    assert "Task: Task b." in other[1]["content"]
    assert "Task: Task c." in other[1]["content"]


@pytest.mark.parametrize("structured", [True, False])
def test_a_worked_case_is_an_exchange_before(structured):
    steps = (Step(action="ANSWER[g8]", observation="Wrong. The right answer is q5."),)
    failed = Trajectory(task_id="w", task="A ring.", steps=steps, outcome=Outcome(success=False, reason="answered"))
    model = ScriptedModel([[{"operation": "ADD", "number": 0, "text": "Rest."}] if structured else "ADD: Rest."])
    extractor = Extractor(ExpeL(model, structured=structured, worked=((failed,), "glad", "answer q5")))
    assert extractor.ask(PAIR, LIST, crowded=False).operations
    system, asked, replied, case = (message["content"] for message in model.requests[0]["messages"])
    assert "Mr Hale" not in system
    assert "ANSWER[q5]" in asked
    assert "The list of insights is empty." in asked
    added = {"operation": "ADD", "number": 0, "text": "When glad, answer q5."}
    assert replied == (json.dumps([added]) if structured else "ADD: When glad, answer q5.")
    assert "1. Look first." in case


def test_worked_attempts_are_a_failure_and_a_success_at_one_task():
    tried = (attempt("a", 0, False), attempt("a", 1))
    assert worked_pair(tried).attempts == tried


@pytest.mark.parametrize("tried", [[("a", 0, False)], [("a", 1)], [("a", 0, False), ("b", 1)], []])
def test_worked_attempts_that_cannot_be_compared_are_none(tried):
    attempts = [attempt(*each) for each in tried]
    named = ", ".join(each.id for each in attempts) or "nothing"
    with pytest.raises(ConfigError, match=rf"told the right answer, .* not {named}"):
        worked_pair(attempts)
    for method in (AutoGuide, ExpeL):
        with pytest.raises(ConfigError, match=f"not {named}"):
            method(None, worked=(attempts, "glad", "answer q5"))


def test_a_worked_attempt_of_erl_needs_what_it_teaches():
    with pytest.raises(ConfigError, match="needs example"):
        ERL(None, worked=(attempt("a", 0, False), "It was wrong."))


def test_lines_are_asked_for_where_json_does_not_come():
    model = ScriptedModel(["sorry", "no", "ADD: Rest.\nUPVOTE 1"])
    parsed = Extractor(ExpeL(model)).ask(PAIR, LIST, crowded=False)
    assert parsed.operations == (Operation("ADD", None, "Rest."), Operation("UPVOTE", 1))
    assert parsed.problems[0].startswith("asked for lines instead of JSON")
    assert model.requests[-1]["schema"] is None
    assert "ADD: the new insight" in model.requests[-1]["messages"][0]["content"]


def test_lines_at_once():
    model = ScriptedModel(["ADD: Rest."])
    assert Extractor(ExpeL(model, structured=False)).ask(PAIR, LIST, crowded=False).operations
    assert model.requests[0]["schema"] is None


def test_what_is_too_long_is_halved_and_stays_so():
    too_long = ContextLengthError("the prompt has 9000 tokens")
    model = ScriptedModel([too_long, too_long, "ADD: Rest.", "ADD: Rest."])
    extractor = Extractor(ExpeL(model, structured=False, room=160))
    parsed = extractor.ask(PAIR, LIST, crowded=False)
    assert parsed.operations
    assert extractor.room == 40
    sizes = [len(request["messages"][1]["content"]) for request in model.requests]
    assert sizes[0] > sizes[1] > sizes[2]
    extractor.ask(PAIR, LIST, crowded=False)
    assert len(model.requests[3]["messages"][1]["content"]) == sizes[2]


def test_four_tries_and_the_call_is_passed_over():
    model = ScriptedModel([ContextLengthError("the prompt has 9000 tokens")] * 4)
    extractor = Extractor(ExpeL(model, structured=False))
    parsed = extractor.ask(PAIR, LIST, crowded=False)
    assert parsed.operations == ()
    assert parsed.problems == (f"{TOO_LONG}: the prompt has 9000 tokens",)
    assert extractor.room == 2400


def test_a_failing_server_is_not_passed_over():
    with pytest.raises(InfrastructureError):
        Extractor(ExpeL(ScriptedModel([InfrastructureError("down")]))).ask(PAIR, LIST, crowded=False)


def test_shown_reflections_and_text_that_looks_like_more():
    model = ScriptedModel([""])
    call = Call((attempt("a"),), reflections=tuple(f"Thought {n}.\nAttempt 9" for n in range(5)))
    Extractor(ExpeL(model, structured=False)).ask(call, (Item("a\n{{ secret }}"),), crowded=False)
    shown = model.requests[0]["messages"][1]["content"]
    assert "1. a {{ secret }}" in shown
    assert [line for line in shown.split("\n") if line.startswith("- ")] == [
        f"- Thought {n}. Attempt 9" for n in (2, 3, 4)
    ]
