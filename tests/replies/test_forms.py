import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.replies.forms import json_entries, json_or_lines, said
from seasoned.text import LIMIT


def test_what_was_said_has_no_thinking_and_no_fences():
    assert said("<think>long</think>\n```json\n[1]\n```\n") == "[1]"
    assert len(said("<think>" + "x" * LIMIT + "</think>" + "y" * 2 * LIMIT)) == LIMIT


def test_json_stays_and_text_is_read_as_json_or_else_by_its_lines():
    assert json_or_lines([1], len) == [1]
    assert json_or_lines('Sure: {"a": 1}', len) == {"a": 1}
    assert json_or_lines("no such thing", len) == 13


@pytest.mark.parametrize(
    "text", ['[{"text": "x"}]', '{"all": [{"text": "x"}]}', '{"text": "x"}', 'Here:\n{"text": "x"}', '{"text": "x"']
)
def test_entries(text):
    assert json_entries(text, ("text",)) == [{"text": "x"}]


def test_an_object_on_each_line_and_entries_without_the_key():
    assert json_entries('{"text": "x"}\n{"text": "y"}', ("text",)) == [{"text": "x"}, {"text": "y"}]
    assert json_entries('[{"other": 1}]', ("text",)) == []
    assert json_entries("Nothing [of] that {kind}.", ("text",)) == []


@given(st.text())
def test_any_text_is_read(text):
    json_or_lines(text, len)
    assert isinstance(json_entries(text, ("text",)), list)
