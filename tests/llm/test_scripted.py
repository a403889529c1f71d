from concurrent.futures import ThreadPoolExecutor

import pytest

from seasoned.contracts import check_llm
from seasoned.errors import ConfigError, InfrastructureError, ParseError
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import ToolCall

ASK = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello you there"}]


def test_replies_come_in_order_with_their_requests():
    model = ScriptedModel(["one two", {"a": "é"}, [1]], name="s")
    assert [model.chat(ASK).text for _ in range(2)] == ["one two", '{"a": "é"}']
    assert model.chat(ASK, stop=["x"], max_tokens=3, temperature=0.5).text == "[1]"
    assert model.requests[2] == {
        "messages": ASK,
        "schema": None,
        "stop": ["x"],
        "max_tokens": 3,
        "temperature": 0.5,
    }


def test_words_are_counted():
    usage = ScriptedModel(["one two"], name="s").chat(ASK).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.calls, usage.cost) == (5, 2, 1, 0.0)


def test_an_exception_is_raised_in_its_turn():
    model = ScriptedModel(["a", InfrastructureError("down"), "b"])
    assert model.chat(ASK).text == "a"
    with pytest.raises(InfrastructureError, match="down"):
        model.chat(ASK)
    assert model.chat(ASK).text == "b"


def test_a_script_that_is_used_up_says_so():
    model = ScriptedModel(["a"], name="short")
    model.chat(ASK)
    with pytest.raises(ConfigError, match=r"'short' has 1 replies, but this is request 2"):
        model.chat(ASK)


def test_a_function_may_reply():
    model = ScriptedModel(lambda messages: messages[-1]["content"].upper())
    assert model.chat(ASK).text == "HELLO YOU THERE"


def test_a_stop_sequence_cuts():
    assert ScriptedModel(["one\ntwo"]).chat(ASK, stop=["\n"]).text == "one"


def test_a_recorded_request_does_not_change_later():
    model = ScriptedModel(["a"])
    messages = [dict(message) for message in ASK]
    model.chat(messages)
    messages[0]["content"] = "changed"
    assert model.requests[0]["messages"] == ASK


def test_a_schema_takes_the_path_of_a_real_model():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    model = ScriptedModel([{"a": 1}, "nonsense", "{'a': 2", "nonsense", "nonsense"])
    assert model.chat(ASK, schema=schema).parsed == {"a": 1}
    second = model.chat(ASK, schema=schema)
    assert (second.parsed, second.usage.calls) == ({"a": 2}, 2)
    with pytest.raises(ParseError):
        model.chat(ASK, schema=schema)
    with pytest.raises(ConfigError, match="oneOf"):
        model.chat(ASK, schema={"oneOf": []})


def test_threads_get_each_reply_once():
    model = ScriptedModel([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: model.chat(ASK).text, range(200)))
    assert sorted(texts, key=int) == [str(n) for n in range(200)]
    assert len(model.requests) == 200


def test_it_keeps_the_contract():
    called = ToolCall(name="answer", arguments={"word": "yes"})
    turns = iter(["yes", "no", "yes", '"yes"', '{"word": "no"}', called])
    check_llm(ScriptedModel(lambda _messages: next(turns)))
