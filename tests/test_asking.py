"""Asking with less and less room, and for lines where JSON does not come."""

import pytest

from seasoned.asking import HALVINGS, ask
from seasoned.errors import ContextLengthError, InfrastructureError, ParseError
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Reply

SCHEMA = {"type": "array", "items": {"type": "integer"}}


def prompt(room):
    return [{"role": "user", "content": "x" * room}]


def sizes(model):
    return [len(request["messages"][0]["content"]) for request in model.requests]


def test_room_is_halved_until_the_prompt_fits():
    model = ScriptedModel(lambda messages: ContextLengthError("no") if len(messages[0]["content"]) > 300 else "Yes.")
    answer = ask(model, prompt, 1000)
    assert (answer.value, answer.room, answer.problem, answer.whole) == ("Yes.", 250, "", True)
    assert answer.messages == prompt(250)
    assert sizes(model) == [1000, 500, 250]


def test_what_never_fits_raises_after_so_many_halvings():
    model = ScriptedModel(lambda _: ContextLengthError("no"))
    with pytest.raises(ContextLengthError):
        ask(model, prompt, 1000)
    assert len(model.requests) == HALVINGS + 1


def test_where_nothing_can_be_cut_it_is_asked_once():
    model = ScriptedModel(lambda _: ContextLengthError("no"))
    with pytest.raises(ContextLengthError):
        ask(model, prompt)
    assert len(model.requests) == 1


def test_json_first_and_lines_where_the_model_does_not_manage_it():
    assert ask(ScriptedModel([[1, 2]]), prompt, schema=SCHEMA, lines=prompt).value == [1, 2]
    model = ScriptedModel([ParseError("no JSON", Reply(text="hm")), "1\n2"])
    answer = ask(model, prompt, 8, schema=SCHEMA, lines=lambda room: prompt(2 * room))
    assert (answer.value, answer.problem) == ("1\n2", "no JSON")
    assert sizes(model) == [8, 16]
    assert [request["schema"] for request in model.requests] == [SCHEMA, None]


def test_without_lines_the_wrong_reply_counts_as_it_stands():
    model = ScriptedModel([ParseError("no JSON", Reply(text="1 and 2"))])
    answer = ask(model, prompt, schema=SCHEMA)
    assert (answer.value, answer.problem) == ("1 and 2", "no JSON")
    assert ask(ScriptedModel([ParseError("no JSON")]), prompt, schema=SCHEMA).value == ""


def test_a_failing_server_is_not_hidden():
    with pytest.raises(InfrastructureError):
        ask(ScriptedModel([InfrastructureError("down")]), prompt, 100)
