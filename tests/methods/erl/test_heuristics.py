"""Heuristics of ERL: what is asked of a model about an attempt."""

import json
import logging
import re

import pytest

from seasoned.errors import ContextLengthError, InfrastructureError, ParseError
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.erl import ERL
from seasoned.methods.erl.heuristics import as_lesson, write_heuristic
from seasoned.replies.heuristics import BAD, GOOD, PART_CHARS, Draft, heuristic_schema, read_heuristic
from seasoned.types import Outcome, Step, Trajectory

REPLY = {"analysis": "The fridge was closed.", "trigger": "When the fridge is closed.", "action": "open it first"}


def attempt(success=True, reason="won", reward=None, said="OK."):
    return Trajectory(
        id="a",
        task_id="t",
        task="Find the milk.",
        steps=(Step(action="open fridge 1", observation=said), Step(action="ANSWER[milk]", observation="Wrong!")),
        outcome=Outcome(success=success, reason=reason, reward=reward),
    )


def write(model, trajectory, keep_verdict=lambda verdict: None, **options):
    return write_heuristic(ERL(model, **options), trajectory, keep_verdict, [])


def test_one_call_with_the_attempt_and_how_it_ended():
    model = ScriptedModel([REPLY])
    draft = write(model, attempt(False, "answered", 0.25), about="A\nhouse.")
    assert draft.text == "When the fridge is closed: open it first"
    assert draft.succeeded is None
    system, user = (message["content"] for message in model.requests[0]["messages"])
    assert "A house." in system
    assert GOOD[0] in system
    assert "open fridge 1" in user
    assert user.endswith('The attempt failed: the answer was wrong, with a score of 0.25 of 1. It was told: "Wrong!"')


@pytest.mark.parametrize(
    ("success", "reason", "reward", "told"),
    [
        (True, "won", None, "The attempt succeeded."),
        (True, "won", 1.0, "The attempt succeeded."),
        (True, "won", 0.5, "The attempt succeeded, with a score of 0.50 of 1."),
        (False, "over", 0.0, "The attempt failed."),
        (False, "step_limit", None, "The attempt failed: the steps ran out."),
        (False, "loop", None, "The attempt failed: it did the same thing again and again."),
        (False, "context", None, "The attempt failed: it grew too long."),
        (False, "budget", None, "The attempt failed: it used too much."),
    ],
)
def test_why_an_attempt_ended_is_told(success, reason, reward, told):
    model = ScriptedModel([REPLY])
    assert write(model, attempt(success, reason, reward), max_tokens=77)
    assert model.requests[0]["max_tokens"] == 77
    assert model.requests[0]["messages"][1]["content"].endswith(f"\n\n{told}")


def test_the_attempt_and_the_worked_one_have_room_each():
    model = ScriptedModel([REPLY])
    long, example = attempt(said="x " * 9000), ("somebody is glad", "answer q5")
    assert write(model, long, example=example, worked=(long, "Wrong!"), room=1000)
    sizes = [len(message["content"]) for message in model.requests[0]["messages"]]
    assert all(3500 < sizes[place] < 4300 for place in (1, 3))


def test_a_worked_case_is_written_as_it_is_with_how_it_ended():
    model = ScriptedModel([REPLY])
    example, worked = ("der Schlüssel fehlt", "suche ihn"), (attempt(False, "answered"), "falsch " * 90)
    assert write(model, attempt(), example=example, worked=worked)
    _, asked, replied, _ = (message["content"] for message in model.requests[0]["messages"])
    assert "The attempt failed: the answer was wrong." in asked
    assert example[0] in replied
    assert len(json.loads(replied)["analysis"]) <= PART_CHARS["analysis"]


def test_a_copy_of_a_worked_case_is_told_in_the_same_conversation():
    example = ("somebody is glad", "answer q5")
    copied = {"analysis": "x", "trigger": example[0], "action": "look into the fridge"}
    model = ScriptedModel([copied, REPLY])
    assert write(model, attempt(), example=example, worked=(attempt(False), "Wrong!"))
    *before, replied, again = model.requests[1]["messages"]
    assert before == model.requests[0]["messages"]
    assert json.loads(replied["content"]) == copied
    assert "the one of the attempt before" in again["content"]


def test_a_worked_case_is_an_exchange_before_and_is_not_quoted():
    model = ScriptedModel([REPLY, {**REPLY, "succeeded": True}])
    example, worked = (
        ("somebody is glad", "answer q5"),
        attempt(False, "answered").model_copy(update={"task": "A ring."}),
    )
    assert write(model, attempt(), example=example, worked=(worked, "Wrong!"))
    system, asked, replied, case = (message["content"] for message in model.requests[0]["messages"])
    assert example[0] not in system
    assert BAD[0] not in system
    assert "Task: A ring." in asked
    assert json.loads(replied) == {"analysis": "Wrong!", "trigger": example[0], "action": example[1]}
    assert "Find the milk." in case
    assert write(model, attempt(None), example=example, worked=(worked, "Wrong!"))
    assert len(model.requests[1]["messages"]) == 2
    assert example[0] in model.requests[1]["messages"][0]["content"]


def test_a_worked_case_is_halved_with_the_attempt():
    def play(messages):
        long = sum(len(message["content"]) for message in messages) > 9000
        return ContextLengthError("too long") if long else REPLY

    model, example = ScriptedModel(play), ("somebody is glad", "answer q5")
    worked = (attempt(False, "answered", said="x " * 4000), "It was q5.")
    assert write(model, attempt(said="x " * 4000), example=example, worked=worked)
    assert len(model.requests[-1]["messages"]) == 4


def test_a_model_that_judges_is_not_shown_the_verdict():
    model = ScriptedModel([{"analysis": "x", "succeeded": False, "trigger": "it is closed", "action": "open it"}])
    draft = write(model, attempt(True, "answered"), blind=True)
    assert draft.succeeded is False
    user = model.requests[0]["messages"][1]["content"]
    assert "Wrong!" not in user
    assert user.endswith("Nobody has told how the attempt ended.")


def test_a_long_attempt_is_shortened_until_it_fits():
    sizes = []

    def play(messages):
        sizes.append(len(messages[1]["content"]))
        return REPLY if sizes[-1] < 1200 else ContextLengthError("too long")

    assert write(ScriptedModel(play), attempt(said="x " * 9000), room=1000).action == "open it first"
    assert sizes == sorted(sizes, reverse=True)
    never = ScriptedModel(lambda _: ContextLengthError("no"))
    with pytest.raises(ContextLengthError):
        write(never, attempt())
    assert len(never.requests) == 4


def test_a_server_that_is_gone_is_said():
    with pytest.raises(InfrastructureError):
        write(ScriptedModel([InfrastructureError("gone")]), attempt())


def test_a_reply_without_the_form_is_read_as_far_as_it_goes(caplog):
    said = "Analysis: it was closed.\n**Trigger:** If a door is closed\nAction: open it first"
    draft = write(ScriptedModel([said, said]), attempt())
    assert (draft.trigger, draft.action) == ("a door is closed", "open it first")
    with caplog.at_level(logging.WARNING):
        assert write(ScriptedModel(["no", "no"]), attempt()) is None
        assert write(ScriptedModel([ParseError("nothing came back")]), attempt()) is None
    assert caplog.text.count("it has no trigger, so it is dropped") == 2


def test_what_comes_again_can_be_shown():
    model = ScriptedModel([REPLY])
    write(model, attempt(False, "answered"), example=("somebody is glad", "answer q5"))
    system = model.requests[0]["messages"][0]["content"]
    assert "somebody is glad" in system
    assert GOOD[0] not in system
    assert (
        read_heuristic({"trigger": "glad", "action": "Answer q5."}, example=("somebody is glad", "answer q5"))[0]
        is None
    )
    assert read_heuristic({"trigger": "glad", "action": "Answer q5."})[0] is not None


def test_an_action_is_held_to_how_it_has_to_begin():
    model = ScriptedModel([{"analysis": "", "trigger": "the writer is glad", "action": "answer x7"}])
    written = write(model, attempt(), begins="answer ")
    assert written.text == "When the writer is glad: answer x7"
    pattern = model.requests[0]["schema"]["properties"]["action"]["pattern"]
    assert pattern.startswith("^answer [")  # llama.cpp knows no escaped space
    assert re.fullmatch(pattern, "answer x7")
    assert not re.fullmatch(pattern, "THINK[glad]")
    assert not re.fullmatch(pattern, "answer ")
    said = {"trigger": "the writer is glad", "action": "Answer x7"}
    assert read_heuristic(said, begins="answer ")[0].action == "Answer x7"
    draft, problem = read_heuristic({**said, "action": "THINK[glad]"}, begins="answer ")
    assert draft is None
    assert "does not begin with 'answer '" in problem
    assert write(ScriptedModel([{**REPLY, "action": "THINK[glad]"}] * 2), attempt(), begins="answer ") is None
    assert "pattern" not in heuristic_schema()["properties"]["action"]


def test_a_trigger_that_comes_too_late_is_asked_for_again_once():
    late = {"analysis": "x", "trigger": "the answer was wrong", "action": "look at the label first"}
    model = ScriptedModel([late, {**late, "trigger": "the label is torn"}])
    assert write(model, attempt(False, "answered")).text == "When the label is torn: look at the label first"
    asked = model.requests[1]["messages"]
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]
    assert "Nobody knows at the beginning" in asked[-1]["content"]
    model = ScriptedModel([late, late])
    assert write(model, attempt(False, "answered")) is None
    assert len(model.requests) == 2
    for unanswered in ([ContextLengthError("too long")], ["nothing", "nothing"]):
        assert write(ScriptedModel([late, *unanswered]), attempt(False, "answered")) is None


def test_what_is_asked_for_again_is_shown_as_it_was_written():
    late = {"analysis": "Grüße", "trigger": "the answer was wrong", "action": "look at the label first"}
    plain = "Trigger: the answer was wrong\nAction: look at the label first"
    for replies, shown in (([late], json.dumps(late, ensure_ascii=False)), ([plain, plain], plain)):
        model = ScriptedModel([*replies, {**late, "trigger": "the label is torn"}])
        assert write(model, attempt(False, "answered")).trigger == "the label is torn"
        assert model.requests[-1]["messages"][-2] == {"role": "assistant", "content": shown}


def test_a_trigger_that_tells_what_the_agent_did_is_asked_for_again_once():
    own = {"analysis": "x", "trigger": "the agent first looked at the shelf", "action": "look into the fridge"}
    model = ScriptedModel([own, {**own, "trigger": "milk is wanted"}])
    assert write(model, attempt()).text == "When milk is wanted: look into the fridge"
    assert "leave yourself out" in model.requests[1]["messages"][-1]["content"]
    acted = {**own, "trigger": "milk is wanted", "action": "the agent opened the fridge"}
    assert write(ScriptedModel([acted, acted]), attempt()) is None
    named = attempt().model_copy(update={"task": "Call the travel agent."})
    assert write(ScriptedModel([own]), named).trigger == "the agent first looked at the shelf"


def test_a_sentence_of_the_prompt_is_no_heuristic():
    model = ScriptedModel([REPLY])
    write(model, attempt())
    told = model.requests[0]["messages"][0]["content"]
    copied = next(line for line in told.split("\n") if line.startswith("The rule is for tasks"))
    for part in ("trigger", "action"):
        reply = {**REPLY, part: f"rules. {copied}"[:200]}
        assert write(ScriptedModel([reply]), attempt()) is None


@pytest.mark.parametrize("example", [None, ("a candle of one scent is wanted", "search for it")])
def test_the_trigger_of_the_example_is_no_trigger_of_an_attempt(example):
    copied = {"analysis": "x", "trigger": f"When {(example or GOOD)[0]}!", "action": "look at the label first"}
    assert "its trigger is the example's" in read_heuristic(copied, example=example)[1]
    bad = {**copied, "trigger": BAD[0], "action": "be more careful: that action says nothing"}
    assert "its trigger is the example's" in read_heuristic(bad, example=example)[1]
    model = ScriptedModel([copied, {**copied, "trigger": "the label is torn"}])
    draft = write(model, attempt(), example=example)
    assert draft.text == "When the label is torn: look at the label first"
    system, *said = (message["content"] for message in model.requests[1]["messages"])
    if example is None:
        assert "That trigger is the example's" in said[-1]
    else:  # asked anew, without the words that were copied
        assert example[0] not in system + "".join(said)
        assert len(said) == 1


def test_each_fault_is_told_once():
    example = ("a candle of one scent is wanted", "search for it")
    copied = {"analysis": "x", "trigger": example[0], "action": "look into the fridge"}
    own = {**copied, "trigger": "the agent looked at the shelf"}
    model = ScriptedModel([copied, own, {**copied, "trigger": "milk is wanted"}])
    assert write(model, attempt(), example=example).trigger == "milk is wanted"
    assert "leave yourself out" in model.requests[2]["messages"][-1]["content"]
    model = ScriptedModel([copied, own, copied])
    assert write(model, attempt(), example=example) is None


def test_a_verdict_is_kept_whatever_becomes_of_the_heuristic():
    fine = {"analysis": "x", "trigger": "it is dark", "action": "light a lamp"}
    late = {**fine, "trigger": "the attempt failed"}
    for replies, kept in (
        ([{**fine, "succeeded": False}], [False]),
        ([{**fine, "action": GOOD[1], "succeeded": True}], [True]),
        ([{**late, "succeeded": False}, "nothing", "nothing"], [False]),
        ([{**late, "succeeded": False}, {**fine, "succeeded": True}], [True]),
        ([{**late, "succeeded": False}, {**fine, "action": GOOD[1], "succeeded": True}], [False]),
        ([fine, fine], []),
        (["nothing", "nothing"], []),
    ):
        told: list[bool] = []
        write(ScriptedModel(list(replies)), attempt(), blind=True, keep_verdict=told.append)
        assert told == kept
    for replies in ([fine], [{**fine, "succeeded": True}] * 2):
        write(ScriptedModel(list(replies)), attempt(False), keep_verdict=told.append)
    assert told == []  # it does not judge where it is told


def test_as_a_lesson_it_knows_its_attempt_and_what_was_judged():
    draft = Draft("It was closed.", "the fridge is closed", "open it")
    lesson = as_lesson(draft, attempt(False).model_copy(update={"task": "Find\nthe milk. " * 50, "category": "fetch"}))
    assert (lesson.kind, lesson.text, lesson.key) == ("heuristic", draft.text, draft.trigger)
    assert (lesson.sources, lesson.category, lesson.method) == (("a",), "fetch", "erl")
    assert (lesson.data["success"], "judged" in lesson.data, len(lesson.data["task"])) == (False, False, 749)
    assert as_lesson(draft, attempt(None)).data["success"] is None
    assert 990 < len(as_lesson(draft, attempt(), "Find the milk. " * 200).data["task"]) <= 1000
    judged = as_lesson(Draft("", "x is y", "do z", succeeded=True), attempt(None)).data
    assert (judged["success"], judged["judged"]) == (True, True)
