import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offered import TOOLS, values

from seasoned.llm.calls import MOST, make_call, split_calls
from seasoned.types import ToolCall


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        (
            '<tool_call>\n{"name": "search", "arguments": {"query": "Ada"}}\n</tool_call>',
            [("search", {"query": "Ada"})],
        ),
        (
            'I look.<tool_call>{"name": "done", "arguments": {}}</tool_call><tool_call>{"name": "x", "arguments": {}}',
            [("done", {}), ("x", {})],
        ),
        ('<function=search>{"query": "Ada"}</function>', [("search", {"query": "Ada"})]),
        (
            "<tool_call><function=book><parameter=seats>\n2\n</parameter><parameter=day>friday</parameter></function>",
            [("book", {"seats": 2, "day": "friday"})],
        ),
        ('```json\n{"name": "search", "parameters": {"query": "Ada"}}\n```', [("search", {"query": "Ada"})]),
        ('[{"name": "search", "arguments": "{\\"query\\": \\"Ada\\"}"}]', [("search", {"query": "Ada"})]),
        ('{"type": "function", "function": {"name": "done", "arguments": {}}}', [("done", {})]),
        ('{"action": "done"}', [("done", {})]),
        ('{"answer": "Paris", "name": "Ada"}', []),
        ("Thought: hm\nAction: search\nAction Input: Ada Lovelace", [("search", {"query": "Ada Lovelace"})]),
        ('Action: book\nAction Input: {"seats": 2}', [("book", {"seats": 2})]),
        ('I search.\nsearch(query="Ada (poet)")', [("search", {"query": "Ada (poet)"})]),
        ("book(seats=2, day='friday')", [("book", {"seats": 2, "day": "friday"})]),
        ("book(seats=2, day=None)", [("book", {"seats": 2, "day": None})]),
        ('search("Ada")', [("search", {"query": "Ada"})]),
        ("search(Paris: a city)", [("search", {"query": "Paris: a city"})]),
        ("search[Ada]", [("search", {"query": "Ada"})]),
        ('search({\n  "query": "Ada"\n})', [("search", {"query": "Ada"})]),
        ("done()", [("done", {})]),
        ("search(Ada\nThen I stop.", [("search", {"query": "Ada"})]),
        ("<think>search[Bob]</think> search[Ada]", [("search", {"query": "Ada"})]),
        ("I could search (later).", []),
        ("research(x)", []),
        ("Paris", []),
        ("", []),
    ],
)
def test_the_calls_in_a_reply(reply, calls):
    assert [(call.name, call.arguments) for call in split_calls(reply, TOOLS)[1]] == calls


def test_of_many_calls_the_first_are_read():
    assert len(split_calls("done()\n" * 100, TOOLS)[1]) == MOST


@given(st.text() | values.map(json.dumps))
def test_whatever_is_given_as_arguments_makes_a_call(given_text):
    call = make_call("search", given_text, "c1")
    assert isinstance(call.arguments, dict)
    assert call.id == "c1"
    assert ToolCall.model_validate_json(call.model_dump_json()) == call


def test_arguments_that_are_no_object_are_kept_as_they_came():
    assert make_call("search", "Ada").unread == "Ada"
    assert make_call("search", [1]).unread == "[1]"
    assert make_call("search", '{"query": "Ada"').arguments == {"query": "Ada"}
    assert make_call("search", "") == make_call("search", None) == ToolCall(name="search")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('I look her up.\n<tool_call>{"name": "search", "arguments": {"query": "A"}}</tool_call>', "I look her up."),
        ('Sure:\n```json\n{"name": "done", "arguments": {}}\n```', "Sure:"),
        ('{"thought": "she is a poet", "name": "search", "arguments": {"query": "Ada"}}', "she is a poet"),
        ("Thought: hm\nAction: search\nAction Input: Ada", "hm"),
        ("Thought: who is she?\nAction: search[Ada]", "who is she?"),
        ("done()", ""),
        ("Paris", "Paris"),
    ],
)
def test_what_is_said_before_a_call(reply, said):
    assert split_calls(reply, TOOLS)[0] == said
