import json
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import ConfigError, InfrastructureError, ParseError, RequestError
from seasoned.llm.structured import ask, check_schema, cut, descend, ladder, problems, read, shorten
from seasoned.text import storable
from seasoned.types import Reply, Usage

WORD = {"type": "string", "enum": ["qx", "zz"]}
NOTES = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
        "score": {"type": ["number", "null"], "minimum": 0, "maximum": 10},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "sure": {"type": "boolean"},
    },
    "required": ["key"],
    "additionalProperties": False,
}
ASK = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
words = st.text().map(storable)
storables = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=12,
)
rules = {
    "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", ["string", "null"]]),
    "enum": st.lists(plain, min_size=1),
    "required": st.lists(st.text(max_size=3)),
    "minimum": st.integers(-5, 5),
    "maximum": st.floats(allow_nan=False),
    "minLength": st.integers(0, 5),
    "maxLength": st.integers(0, 5),
    "pattern": st.sampled_from(["", "a", "^[a-z]+$", "[0-9]{2,}"]),
    "minItems": st.integers(0, 3),
    "maxItems": st.integers(0, 3),
    "additionalProperties": st.booleans(),
}
schemas = st.recursive(
    st.fixed_dictionaries({}, optional=rules),
    lambda inner: st.fixed_dictionaries(
        {}, optional=rules | {"items": inner, "properties": st.dictionaries(st.text(max_size=3), inner)}
    ),
    max_leaves=6,
)
jsonish = st.text(alphabet=string.printable) | st.text() | st.text(alphabet='{}[]":,\\ \nabc01.-etrufalsn`é\ud800\0')


def says(*texts, seen=None):
    """A `send` that plays these replies and keeps what it was asked."""
    left = list(texts)

    def send(messages, form):
        if seen is not None:
            seen.append((messages, form))
        text = left.pop(0)
        if isinstance(text, Exception):
            raise text
        return Reply(text=text, model="m", usage=Usage(calls=1, prompt_tokens=10))

    return send


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ('"qx"', WORD, "qx"),
        (" \n qx ", WORD, "qx"),
        ('"qx', WORD, "qx"),
        ('{"value": "zz"}', WORD, "zz"),
        ("```json\n{'key': 'ab', 'tags': ['x',]}\n```", NOTES, {"key": "ab", "tags": ["x"]}),
        ('Here it is: {"key": "ab", "sure": true', NOTES, {"key": "ab", "sure": True}),
        ('{"key": "ab", "score": 3.0}', NOTES, {"key": "ab", "score": 3}),
        ('{"key": "ab", "score": null}', NOTES, {"key": "ab", "score": None}),
        ("[1, 2", {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ('"\\ud83d\\ude00 \\ud800 \\u0000"', {"type": "string"}, "😀 \ufffd \ufffd"),
        ('{"value": 1}', {"type": "object"}, {"value": 1}),
        ('{"value": 1}', {"type": ["object", "null"]}, {"value": 1}),
        ('{"value": 1}', {"type": ["integer", "null"]}, 1),
        ("null", {"type": "null"}, None),
        ('"\u202eשלום"', {"type": "string"}, "\u202eשלום"),
        ('<think>First: {"key": "no"}.</think>\nIt is {"key": "ab"}', NOTES, {"key": "ab"}),
        ('<think>The form is {"key": ...}.</think>\n{"key": "ab"}', NOTES, {"key": "ab"}),
        ("<think>Let me see.</think>\n\nqx", WORD, "qx"),
        ('so {"key": "no"}\n</think>\n{"key": "ab"}', NOTES, {"key": "ab"}),
        ('"the tag <think> is"', {"type": "string"}, "the tag <think> is"),
    ],
)
def test_readings(text, schema, value):
    assert read(text, schema) == (value, "")


@pytest.mark.parametrize(
    ("text", "schema", "wrong"),
    [
        ("", WORD, "empty"),
        ("  \n", {"type": "string"}, "empty"),
        ('<think>I could say {"key": "ab"} but wait', NOTES, "empty"),
        ('{"value": "aa"}', WORD, 'reply must be one of ["qx", "zz"], not "aa"'),
        ("I do not know", NOTES, "not JSON"),
        ('{"score": 1}', NOTES, "reply must have the property 'key'"),
        ('{"key": "a", "more": 1}', NOTES, "must not have the property 'more'"),
        ('{"key": ""}', NOTES, "reply.key must have at least 1 characters"),
        ('{"key": "abcdef"}', NOTES, "reply.key must have at most 5 characters"),
        ('{"key": "A"}', NOTES, "reply.key must match"),
        ('{"key": "a", "score": -1}', NOTES, "reply.score must be at least 0"),
        ('{"key": "a", "score": 11}', NOTES, "reply.score must be at most 10"),
        ('{"key": "a", "score": NaN}', NOTES, "not JSON"),
        ('{"key": "a", "sure": 1}', NOTES, "reply.sure must be of type boolean"),
        ('{"key": "a", "score": true}', NOTES, "reply.score must be of type number or null"),
        ('{"key": "a", "tags": []}', NOTES, "reply.tags must have at least 1 items"),
        ('{"key": "a", "tags": ["b", "c", "d"]}', NOTES, "reply.tags must have at most 2 items"),
        ('{"key": "a", "tags": ["b", 5]}', NOTES, "reply.tags[1] must be of type string"),
        ("true", {"enum": [1]}, "must be one of [1], not true"),
        ('{"a": 1}', {"additionalProperties": {"type": "string"}}, "reply.a must be of type string"),
        ("[" * 100 + "]" * 100, {"type": "array"}, "not JSON"),
    ],
)
def test_what_is_wrong_is_named(text, schema, wrong):
    value, said = read(text, schema)
    assert value is None
    assert wrong in said


@given(jsonish, schemas)
@settings(max_examples=100)
def test_whatever_text_comes_reading_reports(text, schema):
    check_schema(schema)
    value, wrong = read(text, schema)
    if wrong:
        assert value is None
    else:
        assert problems(value, schema) == []
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@given(jsonish)
@settings(max_examples=200)
def test_asking_raises_nothing_but_a_parse_error(text):
    try:
        value = ask(says(text, text), ASK, NOTES, "schema").parsed
    except ParseError:
        value = {"key": "none"}
    assert problems(value, NOTES) == []


@given(values, schemas)
@settings(max_examples=100)
def test_judging_never_raises(value, schema):
    for sentence in problems(value, schema):
        assert sentence.startswith("reply")


@given(storables)
def test_json_that_fits_is_read_as_it_is(value):
    assert read(json.dumps(value), {}) == (value, "")
    assert read(json.dumps({"value": value}), {}, wrapped=True) == (value, "")


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a":' * 20_000, "[" * 1_000_000, "x" * 1_000_000])
def test_hostile_length_is_read_quickly(text):
    began = time.process_time()
    assert read(text, NOTES)[1] != ""
    assert time.process_time() - began < 3


@given(st.text() | st.text(alphabet="a\ud800\udc00\0é"))
def test_clean_text_can_be_stored(text):
    assert "\0" not in storable(text)
    assert storable(storable(text)) == storable(text)
    storable(text).encode()


def test_small_text_functions():
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd" * 500, 3) == "abc... (2,000 characters)"
    assert cut("one two three", ["three", "", "two"]) == "one "
    assert cut("one", None) == "one"


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"anyOf": []}, "anyOf"),
        ({"properties": {"a": {"$ref": "#"}}}, "ref"),
        ({"items": {"type": "str"}}, "'str'"),
        ({"additionalProperties": {"pattern": "("}}, "pattern"),
    ],
)
def test_a_schema_that_cannot_be_judged_is_refused(schema, named):
    with pytest.raises(ConfigError, match=named):
        check_schema(schema)


def test_ladders():
    assert ladder(NOTES, vendor=True) == ladder(NOTES, vendor=False) == ("schema", "json", "text")
    assert ladder(WORD, vendor=False) == ("schema", "wrapped", "json", "text")
    assert ladder(WORD, vendor=True) == ("wrapped", "json", "text")


def test_strictness_is_claimed_only_where_it_holds():
    def strict(schema):
        seen = []
        descend(says("{}", "{}", seen=seen), ASK, schema, ("schema",))
        return seen[0][1]["json_schema"]["strict"]

    open_inside = {"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": False}
    assert strict({"type": "object", "additionalProperties": False})
    assert not strict({"type": "object"})
    assert not strict(open_inside)
    assert not strict({"type": "object", "additionalProperties": {"type": "string"}})
    assert not strict({"type": "object", "properties": {"a": {}}, "additionalProperties": False})


def test_descending_tells_the_rung():
    seen = []
    refusal = RequestError("status 400: response_format is unknown")
    reply, rung = descend(says(refusal, refusal, '{"key": "a"}', seen=seen), ASK, NOTES, ("schema", "json", "text"))
    assert (reply.parsed, rung) == ({"key": "a"}, "text")
    assert [form and form["type"] for _, form in seen] == ["json_schema", "json_object", None]
    assert seen[0][0] == ASK
    assert seen[1][0][0] == ASK[0]
    assert seen[1][0][1]["content"].startswith("u\n\nReply with JSON alone")


def test_the_schema_in_words_finds_its_place():
    seen = []
    ask(says("qx", "qx", seen=seen), [], WORD, "text")
    ask(says("qx", seen=seen), [{"role": "assistant", "content": "a"}], WORD, "text")
    assert [message["role"] for message in seen[0][0]] == ["user"]
    assert [message["role"] for message in seen[1][0]] == ["assistant", "user"]


def test_the_last_rungs_refusal_comes_through():
    with pytest.raises(RequestError):
        descend(says(RequestError("no json_schema"), RequestError("no json_object")), ASK, NOTES, ("schema", "json"))


def test_a_failing_server_is_not_a_refusal():
    with pytest.raises(InfrastructureError):
        descend(says(InfrastructureError("response_format")), ASK, NOTES, ("schema", "json"))


def test_the_wrapper_is_taken_off():
    seen = []
    reply = ask(says('{"value": "qx"}', seen=seen), ASK, WORD, "wrapped")
    assert (reply.parsed, reply.text) == ("qx", '"qx"')
    wrapped = seen[0][1]["json_schema"]
    assert wrapped["strict"]
    assert wrapped["schema"]["properties"] == {"value": WORD}


def test_a_second_try_is_told_what_was_wrong_and_both_are_paid():
    seen = []
    reply = ask(says("", "qx", seen=seen), ASK, WORD, "schema")
    assert reply.parsed == "qx"
    assert reply.usage == Usage(calls=2, prompt_tokens=20)
    assert seen[1][0][:2] == ASK
    assert seen[1][0][2] == {"role": "assistant", "content": "(empty)"}
    assert "the reply is empty" in seen[1][0][3]["content"]


def test_a_first_reply_is_paid_where_the_server_fails_at_the_second():
    with pytest.raises(InfrastructureError, match="gone") as caught:
        ask(says("no", InfrastructureError("gone")), ASK, WORD, "schema")
    assert (caught.value.reply.text, caught.value.reply.usage) == ("no", Usage(calls=1, prompt_tokens=10))
    with pytest.raises(InfrastructureError) as caught:
        ask(says(InfrastructureError("gone")), ASK, WORD, "schema")
    assert caught.value.reply is None


def test_two_wrong_replies_are_a_parse_error():
    with pytest.raises(ParseError, match=r"not fit: .*one of.*It wrote 'still no") as caught:
        ask(says("no", "still no" * 200), ASK, WORD, "schema")
    assert caught.value.reply.finish_reason == "unparsed"
    assert len(str(caught.value)) < 1000
