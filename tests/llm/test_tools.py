"""Tools for every model: natively from a server, by a grammar from the local one, in words from any other."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import RequestError
from seasoned.llm.budget import Metered
from seasoned.llm.journal import Journaled
from seasoned.llm.llamacpp import call_schema, inlined, plainer
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.tools import calling, calls_of, chat_of, in_words, result, takes_tools, with_calls
from seasoned.store.sql import Store
from seasoned.types import Reply, ToolCall

ASK = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Who is Ada?"}]
SEARCH = {
    "name": "search",
    "description": "Opens a page.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
TOOLS = [SEARCH, {"name": "done", "description": "Ends.", "parameters": {}}]
ADA = ToolCall(name="search", arguments={"query": "Ada"}, id="c1")


def native(*calls, text=None):
    message = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return json.dumps(
        {"choices": [choice], "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    ).encode()


def call(name, arguments, identity="c1"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_server_is_given_tools_and_its_calls_are_read(server, chat):
    server.script(server.sending(native(call("search", '{"query": "Ada"}'), call("done", "", "c2"), text="I look.")))
    talk = [*ASK, calling("", [ADA]), result(ADA, "A poet\ud800?")]
    reply = chat().chat(talk, tools=TOOLS, tool_choice="required")
    assert (reply.text, reply.calls) == ("I look.", (ADA, ToolCall(name="done", id="c2")))
    [sent] = server.requests
    assert sent["tools"][0] == {"type": "function", "function": SEARCH}
    assert sent["tools"][1]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert sent["tool_choice"] == "required"
    assert sent["messages"][2]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"query": "Ada"}'}
    assert sent["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "A poet\ufffd?"}


def test_one_tool_may_be_wished_for(server, chat):
    server.script(server.sending(native(call("search", "{}"))))
    chat().chat(ASK, tools=TOOLS, tool_choice="search")
    assert server.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "search"}}


@pytest.mark.parametrize(
    "odd", [None, "x", [None], [{}], [{"function": 3}], [{"function": {"name": 3}}], {"function": {"name": "search"}}]
)
def test_calls_that_are_none_are_left_out(server, chat, odd):
    body = {
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "hi", "tool_calls": odd}}]
    }
    server.script(server.sending(json.dumps(body).encode()))
    reply = chat().chat(ASK, tools=TOOLS)
    assert (reply.text, reply.calls) == ("hi", ())


def test_arguments_that_are_no_object_are_kept(server, chat):
    server.script(
        server.sending(native(call("search", "Ada"), call("search", {"query": "Ada"}), call("search", "[1]")))
    )
    unread, read, listed = chat().chat(ASK, tools=TOOLS).calls
    assert (unread.unread, unread.arguments) == ("Ada", {})
    assert (read.arguments, listed.unread) == ({"query": "Ada"}, "[1]")


@pytest.mark.parametrize(
    "said",
    [
        "registry.ollama.ai/library/gemma does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "tools param requires --jinja flag",
        "function calling is not supported by this model",
    ],
)
def test_a_server_that_refuses_tools_is_told_of_them_in_words(server, chat, said):
    server.script(server.refusing(400, said))
    server.script(*[server.saying('{"thought": "hm", "name": "search", "arguments": {"query": "Ada"}}')] * 2)
    model = chat()
    for _ in range(2):
        reply = model.chat(ASK, tools=TOOLS)
        assert (reply.text, [c.arguments for c in reply.calls]) == ("hm", [{"query": "Ada"}])
    first, second, third = server.requests
    assert "tools" in first
    assert "tools" not in second
    assert "Opens a page." in third["messages"][0]["content"]


def test_another_refusal_is_an_error(server, chat):
    server.script(server.refusing(400, "the tool search has a bad schema"))
    with pytest.raises(RequestError, match="bad schema"):
        chat().chat(ASK, tools=TOOLS)


def test_a_choice_that_a_server_does_not_take_is_left_out(server, chat):
    server.script(server.refusing(400, "tool_choice required is not supported", param="tool_choice"))
    server.script(server.sending(native(call("search", "{}"))))
    assert chat().chat(ASK, tools=TOOLS, tool_choice="required").calls
    assert "tool_choice" not in server.requests[1]
    assert "tools" in server.requests[1]


class Plain:
    """A model that knows of no tools."""

    name = "plain"

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    def chat(self, messages, *, schema=None, stop=None, max_tokens=None, temperature=0.0):
        self.asked.append(messages)
        return Reply(text=self.replies.pop(0))


def test_a_model_without_tools_is_told_of_them_through_every_wrapper(tmp_path):
    plain = Plain("search(query='Ada')", "I am done.")
    assert not takes_tools(plain)
    llm = Metered(Journaled(plain, Store(tmp_path / "s.db"), "s"))
    assert takes_tools(llm)
    reply = llm.chat(ASK, tools=TOOLS)
    assert [(c.name, c.arguments) for c in reply.calls] == [("search", {"query": "Ada"})]
    talk = [*ASK, calling("I look.", [ADA, ADA]), result(ADA, "A poet."), result(ADA, "A poet.")]
    assert llm.chat(talk, tools=TOOLS, tool_choice="done").calls == ()
    assert [message["role"] for message in plain.asked[1]] == ["system", "user", "assistant", "user"]
    assert plain.asked[1][2]["content"].splitlines() == [
        '{"thought": "I look.", "name": "search", "arguments": {"query": "Ada"}}',
        '{"name": "search", "arguments": {"query": "Ada"}}',
    ]
    assert plain.asked[1][3]["content"] == "A poet.\nA poet."
    assert "Call the tool done now." in plain.asked[1][0]["content"]
    assert ASK[0] == {"role": "system", "content": "You help."}


def test_without_tools_nothing_changes():
    plain = Plain("x")
    assert chat_of(plain)(ASK).text == "x"
    assert plain.asked == [ASK]


def test_words_in_place_of_a_call():
    assert with_calls(Reply(text='{"text": "Hello."}'), TOOLS).text == "Hello."
    assert with_calls(Reply(text="Hello."), TOOLS).text == "Hello."
    cut = Reply(text='{"name": "search", "arguments": {"query": "Ad', finish_reason="length")
    assert with_calls(cut, TOOLS) == cut


def test_a_request_without_tools_has_the_key_that_it_always_had(tmp_path):
    store = Store(tmp_path / "s.db")
    Journaled(ScriptedModel(["hi"], name="m"), store, "s").chat(ASK, stop=["x"], max_tokens=9)
    written = json.dumps(["m", ASK, None, ["x"], 9, 0.0], sort_keys=True)
    assert store.journal_get("s", hashlib.sha256(f"0 {written}".encode()).hexdigest()).text == "hi"


def test_the_tools_are_part_of_a_journalled_request(tmp_path):
    store = Store(tmp_path / "s.db")
    llm = ScriptedModel([ADA, "x", "y"])
    for tools, choice in ((TOOLS, "auto"), (TOOLS, "required"), (TOOLS[:1], "auto")):
        Journaled(llm, store, "s").chat(ASK, tools=tools, tool_choice=choice)
    again = Journaled(llm, store, "s").chat(ASK, tools=TOOLS)
    assert (again.calls, again.usage.replayed, len(llm.requests)) == ((ADA,), 1, 3)


def test_a_script_calls():
    whole = Reply(text="Both.", calls=[ADA, ADA])
    llm = ScriptedModel([ADA, whole, ADA, ADA])
    assert llm.chat(ASK, tools=TOOLS).calls == (ADA,)
    reply = llm.chat(ASK, tools=TOOLS)
    assert (reply.text, reply.calls, reply.usage.calls) == ("Both.", (ADA, ADA), 1)
    assert llm.requests[0]["tools"] == TOOLS


def test_the_schema_of_a_call():
    schema = call_schema(TOOLS, "required", None)
    assert [form["properties"]["name"]["enum"] for form in schema["anyOf"]] == [["search"], ["done"]]
    assert call_schema(TOOLS, "search", 80)["properties"]["thought"]["maxLength"] == 40
    assert call_schema(TOOLS, "auto", None)["anyOf"][0]["required"] == ["text"]
    person = {"properties": {"a": {"$ref": "#/$defs/P"}, "b": {"$ref": "#/$defs/no"}}, "$defs": {"P": {"type": "null"}}}
    assert inlined(person, person) == {"properties": {"a": {"type": "null"}, "b": {}}}
    endless = {"properties": {"next": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}}}
    assert len(json.dumps(inlined(endless, endless))) < 500


def test_the_plainest_part_of_a_schema():
    parts = {"a": {"type": ["string", "foo"], "format": "x"}, "b": {"items": {"type": "null"}, "uniqueItems": True}}
    odd = {"type": "object", "properties": parts, "required": ["a"], "not": {}, "anyOf": [{"pattern": "x"}]}
    plain = {"a": {"type": "string"}, "b": {"items": {"type": "null"}}}
    assert plainer(odd) == {"type": "object", "properties": plain, "required": ["a"], "anyOf": [{}]}
    assert plainer(True) == {}


values = st.recursive(
    st.none() | st.text(max_size=9) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tool_calls", "function", "name", "arguments", "id", "function_call"]), inner
        )
    ),
)


@given(values, st.text())
def test_no_message_makes_reading_raise(message, text):
    for each in calls_of(message):
        assert isinstance(each, ToolCall)
    in_words([{"role": "assistant", "content": text, **(message if isinstance(message, dict) else {})}], TOOLS, "auto")
