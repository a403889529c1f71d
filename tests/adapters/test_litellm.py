"""LiteLLM against a server on loopback.

It wants an older version of OpenAI's SDK than this environment has; for these tests make one of its own, in which
`pip install seasoned litellm pytest hypothesis` was run. They are skipped where it is not there.
"""

import asyncio
import gc

import pytest
from bare_steps import did

from seasoned.adapters.litellm import remembering
from seasoned.errors import ConfigError

ASK = {"role": "user", "content": "refund order 17"}
CALL = ("call-1", "lookup", '{"order": 17}')
FOUND = {"role": "tool", "tool_call_id": "call-1", "content": "shipped"}


@pytest.fixture
def litellm(play, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module = pytest.importorskip("litellm", reason="LiteLLM wants an older OpenAI SDK, in an environment of its own")
    module.telemetry = False
    monkeypatch.setattr(module, "api_base", play.url)
    monkeypatch.setattr(module, "api_key", "none")
    return module


def scripted(*turns):
    """A function as LiteLLM's, which gives these in turn, and what it was asked."""
    left, asked = list(turns), []

    def completion(**wanted):
        asked.append(wanted)
        turn = left.pop(0)
        return iter(turn) if isinstance(turn, list) else turn

    return completion, asked


def chunk(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_any_function_that_answers_so_remembers(taught, kept, rule):
    call = {"index": 0, "id": "call-1", "function": {"name": "lookup", "arguments": '{"order": 17}'}}
    chunks = [chunk({"content": "I look."}), chunk({"tool_calls": [call]}), chunk({}, "tool_calls")]
    last = {"choices": [{"message": {"role": "assistant", "content": "refused"}, "finish_reason": "stop"}]}
    function, asked = scripted(chunks, last)
    mine = remembering(taught, function, check=lambda task, answer: answer == "refused")
    assert list(mine("m", [ASK], stream=True)) == chunks
    said = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    assert mine(model="m", messages=[ASK, said, FOUND]) == last
    assert all(rule in wanted["messages"][0]["content"] for wanted in asked)
    [found] = kept()
    assert did(found) == [('lookup({"order": 17})', "shipped"), ("refused", "")]
    assert found.outcome.success is True


def test_a_stream_that_fails_or_is_left(memory, kept):
    def failing():
        yield chunk({"content": "one"})
        raise OSError("cut")

    function, _ = scripted([chunk({"content": "one"}), chunk({"content": "two"})])
    stream = remembering(memory, function)("m", [ASK], stream=True)
    next(stream)
    del stream
    gc.collect()
    with pytest.raises(OSError, match="cut"):
        list(remembering(memory, lambda **wanted: failing())("m", [ASK], stream=True))
    assert [t.outcome.detail for t in kept()] == ["ended by StreamLeft", "ended by OSError"]
    assert [t.messages[-1]["content"] for t in kept()] == ["one", "one"]


def test_what_is_no_function_is_refused(memory):
    with pytest.raises(ConfigError, match=r"litellm\.completion"):
        remembering(memory, 3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stream", [False, True])
def test_litellm_itself(taught, kept, play, rule, litellm, stream):
    play.says("I look.", CALL)
    play.says("It is refused.")
    mine = remembering(taught, litellm.completion, check=lambda task, answer: answer == "It is refused.")

    def ask(messages):
        reply = mine("openai/m", messages, stream=stream)
        return (litellm.stream_chunk_builder(list(reply)) if stream else reply).choices[0].message

    message = ask([ASK])
    assert ask([ASK, message.model_dump(), FOUND]).content == "It is refused."
    assert all(rule in request["messages"][0]["content"] for request in play.requests)
    [found] = kept()
    assert did(found) == [('lookup({"order": 17})', "shipped"), ("It is refused.", "")]
    assert found.outcome.success is True


@pytest.mark.filterwarnings("ignore")
def test_litellm_in_coroutines(memory, kept, play, litellm):
    async def talk():
        mine = remembering(memory, litellm.acompletion)
        play.says("one two")
        await mine("openai/m", [ASK])
        play.says("one two")
        async for _ in await mine("openai/m", [ASK], stream=True):
            pass

    asyncio.run(talk())
    assert [t.outcome.answer for t in kept()] == ["one two"] * 2
