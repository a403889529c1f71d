"""Anthropic's own client against a server on loopback."""

import asyncio

import pytest
from bare_steps import did

from seasoned.errors import ConfigError

anthropic = pytest.importorskip("anthropic", exc_type=ImportError)

from seasoned.adapters.anthropic import remembering  # noqa: E402

ASK = {"role": "user", "content": "refund order 17"}
CALL = ("call-1", "lookup", '{"order": 17}')
TOOLS = [{"name": "lookup", "description": "Look an order up.", "input_schema": {"type": "object"}}]
SETTINGS = {"model": "m", "max_tokens": 100}


def results(*pairs):
    parts = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in pairs]
    return {"role": "user", "content": parts}


@pytest.fixture
def client(play):
    with anthropic.Anthropic(api_key="none", base_url=play.url.removesuffix("/v1"), max_retries=0) as client:
        yield client


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_with_tools_is_one_attempt(taught, kept, client, play, rule, stream):
    play.replies("I look.", CALL, ("call-2", "lookup", '{"order": 18}'))
    play.replies("It is refused.")
    mine = remembering(taught, client, check=lambda task, answer: (task, answer) == (ASK["content"], "It is refused."))

    def ask(messages):
        wanted = {**SETTINGS, "system": "Be kind.", "messages": messages, "tools": TOOLS}
        if not stream:
            return mine.messages.create(**wanted)
        with mine.messages.stream(**wanted) as coming:
            return coming.get_final_message()

    message = ask([ASK])
    assert kept() == []
    answer = ask(
        [ASK, {"role": "assistant", "content": message.content}, results(("call-1", "shipped"), ("call-2", "lost"))]
    )
    assert answer.content[0].text == "It is refused."
    assert all(r["system"].startswith("Be kind.\n\n") and rule in r["system"] for r in play.requests)
    [found] = kept()
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("I look.", 'lookup({"order": 17})', "shipped"),
        ("", 'lookup({"order": 18})', "lost"),
        ("", "It is refused.", ""),
    ]
    assert (found.task, found.outcome.success, found.outcome.answer) == ("refund order 17", True, "It is refused.")
    assert found.lesson_ids


def test_a_system_prompt_in_parts_and_none(taught, memory, client, play, rule):
    cached = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    mine = remembering(taught, client)
    for system in ({"system": [cached]}, {}):
        play.replies("hello")
        mine.messages.create(**SETTINGS, **system, messages=[ASK])
    assert play.requests[0]["system"][0] == cached
    assert rule in play.requests[0]["system"][1]["text"]
    assert rule in play.requests[1]["system"]


def test_nothing_recalled_is_nothing_added(memory, kept, client, play):
    seen = []
    for mine in (client, remembering(memory, client)):
        play.replies("one two three")
        seen.append(list(mine.messages.create(**SETTINGS, messages=iter([ASK]), stream=True)))
    assert play.requests[0] == play.requests[1]
    assert seen[0] == seen[1]
    [found] = kept()
    assert (found.outcome.success, found.outcome.answer) == (None, "one two three")


def test_the_tool_runner_is_one_attempt(taught, kept, client, play):
    @anthropic.beta_tool
    def lookup(order: int) -> str:
        """Look an order up.

        Args:
            order: its number.
        """
        return "shipped"

    play.replies(None, CALL)
    play.replies("refused")
    mine = remembering(taught, client)
    runner = mine.beta.messages.tool_runner(**SETTINGS, messages=[ASK], tools=[lookup])
    assert runner.until_done().content[0].text == "refused"
    [found] = kept()
    assert did(found) == [('lookup({"order": 17})', "shipped"), ("refused", "")]


def test_a_server_that_pauses_goes_on_in_the_same_attempt(memory, kept, client, play):
    play.replies("I search.")
    play.turns[-1]["stop_reason"] = "pause_turn"
    play.replies("refused")
    mine = remembering(memory, client)
    first = mine.messages.create(**SETTINGS, messages=[ASK])
    mine.messages.create(**SETTINGS, messages=[ASK, {"role": "assistant", "content": first.content}])
    [found] = kept()
    assert (found.task, found.outcome.answer) == ("refund order 17", "refused")


def test_a_stream_that_breaks_off_is_left_or_fails(memory, kept, client, play):
    mine = remembering(memory, client, check=lambda task, answer: True)
    play.replies("one two three")
    play.cut = 4
    with pytest.raises(Exception, match="peer closed"):
        list(mine.messages.create(**SETTINGS, messages=[ASK], stream=True))
    play.cut = None
    play.replies("one two three")
    with mine.messages.stream(**SETTINGS, messages=[ASK]) as stream:
        assert next(stream.text_stream) == "one "
    play.turns = [{"type": "error", "error": {"type": "overloaded_error", "message": "later"}}]
    with pytest.raises(anthropic.APIStatusError):
        list(mine.messages.create(**SETTINGS, messages=[ASK], stream=True))
    details = [(t.outcome.success, t.outcome.detail) for t in kept()]
    assert details == [(None, "ended by " + name) for name in ("RemoteProtocolError", "StreamLeft", "ReplyFailed")]
    assert [t.messages[-1]["content"].split()[0] for t in kept()[:2]] == ["one", "one"]


def test_raw_responses_and_what_is_no_message(memory, kept, client, play):
    mine = remembering(memory, client)
    play.replies("raw")
    play.replies("line by line")
    raw = mine.messages.with_raw_response.create(**SETTINGS, messages=[ASK])
    assert raw.parse().content[0].text == "raw"
    with mine.messages.with_streaming_response.create(**SETTINGS, messages=[ASK], stream=True) as response:
        assert "event: message_stop" in list(response.iter_lines())
    play.turns = [{"input_tokens": 3}, 500]
    assert mine.messages.count_tokens(model="m", messages=[ASK]).input_tokens == 3
    with pytest.raises(anthropic.InternalServerError):
        mine.with_options(timeout=5).messages.create(**SETTINGS, messages=[ASK])
    assert [(t.outcome.answer, t.outcome.detail) for t in kept()] == [
        ("raw", ""),
        ("line by line", ""),
        ("", "ended by InternalServerError"),
    ]


def test_the_client_for_coroutines(taught, kept, play, rule):
    async def talk():
        address = play.url.removesuffix("/v1")
        async with anthropic.AsyncAnthropic(api_key="none", base_url=address, max_retries=0) as client:
            mine = remembering(taught, client, check=lambda task, answer: answer == "It is refused.")
            play.replies(None, CALL)
            play.replies("It is refused.")
            async with mine.messages.stream(**SETTINGS, messages=[ASK]) as stream:
                message = await stream.get_final_message()
            said = {"role": "assistant", "content": message.content}
            again = [ASK, said, results(("call-1", "shipped"))]
            stream = await mine.messages.create(**SETTINGS, messages=again, stream=True)
            assert [event.type async for event in stream][-1] == "message_stop"
            play.replies("no")
            await mine.messages.create(**SETTINGS, messages=[ASK])

    asyncio.run(talk())
    assert rule in play.requests[1]["system"]
    assert [(t.outcome.success, len(t.steps)) for t in kept()] == [(True, 2), (False, 1)]


def test_what_is_no_client_is_refused(memory):
    with pytest.raises(ConfigError, match=r"anthropic\.Anthropic"):
        remembering(memory, object())
