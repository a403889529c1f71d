"""Streams of OpenAI's own client, from a server on loopback."""

import asyncio
import gc
import threading

import pytest
from bare_steps import did

openai = pytest.importorskip("openai")

from seasoned.adapters.openai import remembering  # noqa: E402

ASK = {"role": "user", "content": "refund order 17"}
CALL = ("call-1", "lookup", '{"order": 17}')
FOUND = {"role": "tool", "tool_call_id": "call-1", "content": "shipped"}
LOST = "Connection error|peer closed"  # as newer and older versions of the SDK say it


@pytest.fixture
def client(play):
    with openai.OpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
        yield client


def message_of(chunks):
    """What an agent makes of the chunks of a stream."""
    text, calls = "", {}
    for chunk in chunks:
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for piece in delta.tool_calls or ():
            call = calls.setdefault(piece.index, {"id": piece.id, "type": "function", "function": {"arguments": ""}})
            call["function"]["name"] = call["function"].get("name") or piece.function.name
            call["function"]["arguments"] += piece.function.arguments or ""
    return {"role": "assistant", "content": text or None, **({"tool_calls": list(calls.values())} if calls else {})}


def test_a_loop_that_streams_is_one_attempt(taught, kept, client, play, rule):
    play.says("I look.", CALL, ("call-2", "lookup", '{"order": 18}'))
    play.says("It is refused.")
    mine = remembering(taught, client, check=lambda task, answer: (task, answer) == (ASK["content"], "It is refused."))
    messages = [{"role": "system", "content": "Be kind."}, ASK]
    stream = mine.chat.completions.create(model="m", messages=messages, stream=True)
    assert isinstance(stream, openai.Stream)
    message = message_of(stream)
    assert [c["function"]["arguments"] for c in message["tool_calls"]] == ['{"order": 17}', '{"order": 18}']
    assert kept() == []
    messages += [message, FOUND, {**FOUND, "tool_call_id": "call-2", "content": "lost"}]
    assert message_of(mine.chat.completions.create(model="m", messages=messages, stream=True))["content"] == (
        "It is refused."
    )
    assert all(rule in request["messages"][0]["content"] for request in play.requests)
    [found] = kept()
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("I look.", 'lookup({"order": 17})', "shipped"),
        ("", 'lookup({"order": 18})', "lost"),
        ("", "It is refused.", ""),
    ]
    assert (found.outcome.success, found.outcome.answer) == (True, "It is refused.")
    assert [m["content"] for m in found.messages][-1] == "It is refused."


def test_each_chunk_comes_as_it_is_before_the_next_one_is_sent(memory, client, play):
    seen = {}
    for name, mine in (("plain", client), ("mine", remembering(memory, client))):
        play.says("one two three four")
        play.gate = threading.Semaphore(1)  # the server sends one event, and another for each that the agent has seen
        seen[name] = []
        for chunk in mine.chat.completions.create(model="m", messages=[ASK], stream=True):
            seen[name].append(chunk)
            play.gate.release()
    assert seen["plain"] == seen["mine"]
    assert len(seen["mine"]) == 7


def test_an_agent_that_asks_on_before_it_has_read_all_goes_on(memory, kept, client, play):
    play.says(None, CALL)
    play.says("done")
    mine = remembering(memory, client)
    stream, chunks = mine.chat.completions.create(model="m", messages=[ASK], stream=True), []
    for chunk in stream:
        chunks.append(chunk)
        if chunk.choices[0].finish_reason:
            break
    mine.chat.completions.create(model="m", messages=[ASK, message_of(chunks), FOUND])
    stream.close()
    [found] = kept()
    assert did(found) == [('lookup({"order": 17})', "shipped"), ("done", "")]


@pytest.mark.parametrize("how", ["close", "with", "drop"])
def test_a_stream_that_is_left_is_kept_as_far_as_it_came(memory, kept, client, play, how):
    play.says("one two three four")
    mine = remembering(memory, client, check=lambda task, answer: True)
    stream = mine.chat.completions.create(model="m", messages=[ASK], stream=True)
    if how == "with":
        with stream:
            heard = [next(stream) for _ in range(3)]
    else:
        heard = [next(stream) for _ in range(3)]
        if how == "close":
            stream.close()
        del stream
        gc.collect()
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by StreamLeft")
    said = "".join(chunk.choices[0].delta.content for chunk in heard)
    assert said.startswith("one tw")
    assert found.messages[-1]["content"].startswith(said)


def test_a_connection_that_is_lost_is_kept_as_far_as_it_came(memory, kept, client, play):
    play.says("one two three four")
    play.cut = 3
    mine = remembering(memory, client, check=lambda task, answer: True)
    stream = mine.chat.completions.create(model="m", messages=[ASK], stream=True)
    heard = [next(stream) for _ in range(3)]
    assert message_of(heard)["content"] == "one two "
    with pytest.raises(Exception, match=LOST):
        next(stream)
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by RemoteProtocolError")
    assert found.messages[-1] == {"role": "assistant", "content": "one two "}


def test_an_error_in_the_stream_is_no_answer(memory, kept, client, play):
    play.turns = [{"error": {"message": "overloaded"}}]
    mine = remembering(memory, client, check=lambda task, answer: True)
    with pytest.raises(openai.APIError, match="overloaded"):
        list(mine.chat.completions.create(model="m", messages=[ASK], stream=True))
    assert [(t.outcome.success, t.outcome.detail) for t in kept()] == [(None, "ended by ReplyFailed")]


def test_a_stream_that_breaks_off_after_a_tool_can_be_asked_again(memory, kept, client, play):
    play.says(None, CALL)
    play.says("done for good")
    play.says("done for good")
    mine = remembering(memory, client)
    message = mine.chat.completions.create(model="m", messages=[ASK]).choices[0].message
    play.cut = 2
    with pytest.raises(Exception, match=LOST):
        list(mine.chat.completions.create(model="m", messages=[ASK, message, FOUND], stream=True))
    assert kept() == []
    play.cut = None
    list(mine.chat.completions.create(model="m", messages=[ASK, message, FOUND], stream=True))
    [found] = kept()
    assert (found.outcome.answer, len(found.steps)) == ("done for good", 2)


def test_the_stream_helpers_and_raw_streams(memory, kept, client, play):
    mine = remembering(memory, client)
    for _ in range(4):
        play.says("It is refused.")
    play.responds("It is refused.")
    with mine.chat.completions.stream(model="m", messages=[ASK]) as stream:
        assert stream.get_final_completion().choices[0].message.content == "It is refused."
    raw = mine.chat.completions.with_raw_response.create(model="m", messages=[ASK], stream=True)
    assert message_of(raw.parse())["content"] == "It is refused."
    with mine.chat.completions.with_streaming_response.create(model="m", messages=[ASK]) as response:
        assert response.parse().choices[0].message.content == "It is refused."
    with mine.chat.completions.with_streaming_response.create(model="m", messages=[ASK], stream=True) as response:
        assert list(response.iter_lines())[-2] == "data: [DONE]"
    with mine.responses.stream(model="m", input="refund order 17") as stream:
        assert stream.get_final_response().output_text == "It is refused."
    assert [(t.task, t.outcome.answer) for t in kept()] == [("refund order 17", "It is refused.")] * 5


def test_responses_that_stream(taught, kept, client, play, rule):
    play.responds("I look.", CALL)
    play.responds("It is refused.")
    mine = remembering(taught, client)
    events = list(mine.responses.create(model="m", instructions="Be kind.", input="refund order 17", stream=True))
    assert [e.delta for e in events if e.type == "response.output_text.delta"] == ["I lo", "ok."]
    first = events[-1].response
    output = {"type": "function_call_output", "call_id": "call-1", "output": "shipped"}
    list(mine.responses.create(model="m", input=[output], previous_response_id=first.id, stream=True))
    assert all(rule in request["instructions"] for request in play.requests)
    [found] = kept()
    assert (found.task, found.outcome.answer) == ("refund order 17", "It is refused.")
    assert ('lookup({"order": 17})', "shipped") in did(found)


def test_a_response_that_breaks_off(memory, kept, client, play):
    play.responds("one two three")
    play.cut = 5
    with pytest.raises(Exception, match=LOST):
        list(remembering(memory, client).responses.create(model="m", input="refund order 17", stream=True))
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by RemoteProtocolError")
    assert found.messages[-1]["content"] == "one two "


def test_streams_for_coroutines(taught, kept, play, rule):
    async def talk():
        async with openai.AsyncOpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
            mine = remembering(taught, client, check=lambda task, answer: answer == "It is refused.")
            play.says(None, CALL)
            play.says("It is refused.")
            stream = await mine.chat.completions.create(model="m", messages=[ASK], stream=True)
            assert isinstance(stream, openai.AsyncStream)
            message = message_of([chunk async for chunk in stream])
            async with mine.chat.completions.stream(model="m", messages=[ASK, message, FOUND]) as stream:
                assert [event.type async for event in stream][-1] == "content.done"
            play.responds("It is refused.")
            events = [e async for e in await mine.responses.create(model="m", input="refund order 18", stream=True)]
            assert events[-1].response.output_text == "It is refused."
            play.says("one two three")
            stream = await mine.chat.completions.create(model="m", messages=[ASK], stream=True)
            async with stream:
                await anext(stream)
            play.says("one two three")
            play.cut = 2
            with pytest.raises(Exception, match=LOST):
                [chunk async for chunk in await mine.chat.completions.create(model="m", messages=[ASK], stream=True)]

    asyncio.run(talk())
    assert rule in play.requests[1]["messages"][0]["content"]
    assert [(t.outcome.success, t.outcome.detail) for t in kept()] == [
        (True, ""),
        (True, ""),
        (None, "ended by StreamLeft"),
        (None, "ended by RemoteProtocolError"),
    ]
    assert [s.action for s in kept()[0].steps] == ['lookup({"order": 17})', "It is refused."]


def test_a_task_that_is_cancelled_while_it_reads(memory, kept, play):
    async def talk(begun):
        async with openai.AsyncOpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
            mine = remembering(memory, client)
            stream = await mine.chat.completions.create(model="m", messages=[ASK], stream=True)
            async for chunk in stream:
                if chunk.choices[0].delta.content:
                    begun.set()

    async def cut_short():
        play.says("one two three four")
        play.pause = 0.1
        begun = asyncio.Event()
        task = asyncio.create_task(talk(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_short())
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by CancelledError")
    assert found.messages[-1]["content"].startswith("one")


def test_many_streams_at_a_time_hold_no_thread(memory, kept, play):
    async def one(mine, number):
        ask = {"role": "user", "content": f"refund order {number}"}
        stream = await mine.chat.completions.create(model="m", messages=[ask], stream=True)
        async for _ in stream:
            seen.add(sum(thread.name.startswith("seasoned") for thread in threading.enumerate()))

    async def all_of_them():
        async with openai.AsyncOpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
            mine = remembering(memory, client)
            await asyncio.gather(*(one(mine, number) for number in range(20)))

    seen = set()
    for _ in range(20):
        play.says("one two three four")
    play.pause = 0.02
    asyncio.run(all_of_them())
    assert max(seen) <= 4
    assert sorted(t.task for t in kept()) == sorted(f"refund order {number}" for number in range(20))
    assert {t.outcome.answer for t in kept()} == {"one two three four"}
