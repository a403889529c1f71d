"""Models that a user has at hand, with the real SDKs against a server on loopback."""

import asyncio
import json

import pytest
from model_server import model_server

from seasoned.errors import (
    AuthError,
    ConfigError,
    ContextLengthError,
    InfrastructureError,
    ParseError,
    RequestError,
)
from seasoned.llm.clients import ANTHROPIC_MODEL, OPENAI_MODEL, model_of
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.types import Reply

openai = pytest.importorskip("openai")

HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}},
    "required": ["done"],
    "additionalProperties": False,
}


@pytest.fixture
def play():
    with model_server() as played:
        yield played


@pytest.fixture
def client(play):
    with openai.OpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
        yield client


@pytest.fixture
def claude(play):
    anthropic = pytest.importorskip("anthropic", exc_type=ImportError)
    with anthropic.Anthropic(api_key="none", base_url=play.url.removesuffix("/v1"), max_retries=0) as client:
        yield client


def test_a_client_of_openai_is_a_model(client, play):
    model = model_of(client, "m")
    play.says("hello", usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4})
    play.says('{"done": true}')
    assert model.chat(HELLO).text == "hello"
    assert model.chat(HELLO, schema=SCHEMA).parsed == {"done": True}
    assert [request["model"] for request in play.requests] == ["m", "m"]
    assert play.requests[0]["messages"] == HELLO
    play.turns = [401]
    with pytest.raises(AuthError):
        model.chat(HELLO)
    assert not client.is_closed()


def test_without_a_name_it_is_openais_own_or_the_first_that_the_server_lists(client, play):
    with openai.OpenAI(api_key="none") as own:
        assert model_of(own).name == OPENAI_MODEL
    model = model_of(client)
    assert model.name.startswith(play.url)
    play.turns = [{"object": "list", "data": [{"id": "first", "object": "model"}, {"id": "second", "object": "model"}]}]
    play.says("hello")
    model.chat(HELLO)
    assert (model.name, play.requests[-1]["model"]) == ("first", "first")


def test_a_server_that_lists_no_model(client, play):
    play.turns = [404]
    with pytest.raises(InfrastructureError, match="name one"):
        model_of(client).chat(HELLO)


def test_a_client_of_anthropic_is_a_model(claude, play):
    model = model_of(claude)
    play.replies("hello")
    play.turns[-1] |= {"stop_reason": "max_tokens"}
    play.turns[-1]["usage"] = {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 2}
    play.replies('Here it is: ```json\n{"done": false}\n```')
    reply = model.chat(HELLO, stop=["END"], max_tokens=5)
    assert (reply.text, reply.finish_reason, reply.model) == ("hello", "length", ANTHROPIC_MODEL)
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens, reply.usage.completion_tokens) == (5, 2, 1)
    assert reply.usage.cost > 0
    assert play.requests[0] == {
        "model": ANTHROPIC_MODEL,
        "max_tokens": 5,
        "system": "Be kind.",
        "messages": HELLO[1:],
        "stop_sequences": ["END"],
    }
    assert model.chat(HELLO, schema=SCHEMA).parsed == {"done": False}


@pytest.mark.parametrize(
    ("status", "said", "error"),
    [
        (401, "no", AuthError),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ContextLengthError),
        (400, "no such parameter", RequestError),
        (529, "overloaded", InfrastructureError),
    ],
)
def test_what_anthropic_refuses(claude, play, monkeypatch, status, said, error):
    monkeypatch.setattr(play, "turns", [status])
    play.refusal = said
    with pytest.raises(error, match=said.partition(":")[0]):
        model_of(claude).chat(HELLO)


def test_a_function_is_a_model():
    class Answer:
        def __init__(self, **body):
            self.body = body

        def model_dump(self):
            return self.body

    async def later(messages):
        await asyncio.sleep(0)
        return "later"

    for given, text in (
        (lambda messages: messages[-1]["content"].upper(), "HELLO"),
        (lambda messages: Reply(text="a reply"), "a reply"),
        (lambda messages: {"choices": [{"message": {"content": "a chat"}}]}, "a chat"),
        (lambda messages: Answer(content=[{"type": "text", "text": "a message"}]), "a message"),
        (lambda messages: Answer(output_text="a response"), "a response"),
        (later, "later"),
    ):
        assert model_of(given).chat(HELLO).text == text

    async def within():
        return model_of(later).chat(HELLO).text

    assert asyncio.run(within()) == "later"
    assert model_of(later).name == "later"
    assert model_of(lambda messages: "one STOP two").chat(HELLO, stop=["STOP"]).text == "one "


def test_a_function_that_fails_or_says_nothing():
    async def broken(messages):
        raise OSError("no line")

    for given, words in ((broken, "OSError: no line"), (lambda messages: 3, "gave no text but 3")):
        with pytest.raises(InfrastructureError, match=words):
            model_of(given).chat(HELLO)
    with pytest.raises(ParseError):
        model_of(lambda messages: "no JSON").chat(HELLO, schema=SCHEMA)
    replies = iter(["no JSON", json.dumps({"done": True})])
    assert model_of(lambda messages: next(replies)).chat(HELLO, schema=SCHEMA).parsed == {"done": True}


def test_what_is_no_client_stays_as_it_is():
    model = ScriptedModel(["a"])
    assert [model_of(given) for given in (None, "local", model, 3)] == [None, "local", model, 3]
    with pytest.raises(ConfigError, match="synchronous client"):
        model_of(openai.AsyncOpenAI(api_key="none"))


@pytest.mark.parametrize("kind", ["openai", "anthropic", "function"])
def test_a_memory_learns_with_each(tmp_path, client, claude, play, kind):
    lesson = "Look the order up before any refund."
    says = {"openai": play.says, "anthropic": play.replies}.get(kind)
    if says:
        says(lesson)
    llm = {"openai": model_of(client, "m"), "anthropic": claude, "function": lambda messages: lesson}[kind]
    with Memory(tmp_path / "m.db", method="reflexion", llm=llm, embedder="hashing") as memory:
        with memory.attempt("refund order 17") as attempt:
            attempt.step(action="refund(17)", observation="it was shipped")
            attempt.finish(False)
        assert [each.text for each in memory.learn().lessons] == [lesson]
