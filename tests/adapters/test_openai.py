"""OpenAI's own client against a server on loopback."""

import asyncio

import pytest
from bare_steps import did

from seasoned.errors import ConfigError

openai = pytest.importorskip("openai")

from seasoned.adapters import talks  # noqa: E402
from seasoned.adapters.openai import remembering  # noqa: E402

ASK = {"role": "user", "content": "refund order 17"}
CALL = ("call-1", "lookup", '{"order": 17}')
FOUND = {"role": "tool", "tool_call_id": "call-1", "content": "shipped"}


@pytest.fixture
def client(play):
    with openai.OpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
        yield client


def test_a_loop_with_tools_is_one_attempt(taught, kept, client, play, rule):
    play.says("I look.", CALL)
    play.says("refused")
    mine = remembering(taught, client, check=lambda task, answer: (task, answer) == (ASK["content"], "refused"))
    messages = [{"role": "system", "content": "Be kind."}, ASK]
    message = mine.chat.completions.create(model="m", messages=messages).choices[0].message
    assert kept() == []
    messages += [message, FOUND]
    mine.chat.completions.create(model="m", messages=messages)

    first, second = (request["messages"] for request in play.requests)
    assert first[0]["content"].startswith("Be kind.\n\n")
    assert rule in first[0]["content"]
    assert second[: len(first)] == first
    assert messages[0]["content"] == "Be kind."
    [found] = kept()
    assert (found.task, found.outcome.success, found.outcome.answer) == ("refund order 17", True, "refused")
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("I look.", 'lookup({"order": 17})', "shipped"),
        ("", "refused", ""),
    ]
    assert found.lesson_ids


@pytest.mark.parametrize("later", [False, True])
def test_a_reply_comes_back_where_it_cannot_be_recorded(memory, client, play, confused, lost, later):
    async def talk():
        async with openai.AsyncOpenAI(api_key="none", base_url=play.url, max_retries=0) as other:
            mine = remembering(memory, other, check=confused)
            return await mine.chat.completions.create(model="m", messages=[ASK])

    play.says("refused")
    mine = remembering(memory, client, check=confused)
    reply = asyncio.run(talk()) if later else mine.chat.completions.create(model="m", messages=[ASK])
    assert reply.choices[0].message.content == "refused"
    assert lost()


def test_nothing_recalled_is_nothing_added(memory, kept, client, play):
    play.says("hello")
    play.responds("hello")
    mine = remembering(memory, client)
    mine.chat.completions.create(model="m", messages=[ASK])
    mine.responses.create(model="m", input="refund order 18")
    assert play.requests == [{"model": "m", "messages": [ASK]}, {"model": "m", "input": "refund order 18"}]
    assert [(t.task, t.outcome.success, t.outcome.answer) for t in kept()] == [
        ("refund order 17", None, "hello"),
        ("refund order 18", None, "hello"),
    ]


def test_guidance_where_there_is_no_system_message_or_one_in_parts(taught, client, play, rule):
    play.says("a")
    play.says("b")
    mine = remembering(taught, client)
    mine.chat.completions.create(model="m", messages=[ASK])
    parts = {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}
    mine.chat.completions.create(model="m", messages=[parts, ASK])
    alone, inside = (request["messages"] for request in play.requests)
    assert [m["role"] for m in alone] == ["system", "user"]
    assert rule in alone[0]["content"]
    assert inside[0]["role"] == "developer"
    assert rule in inside[0]["content"][1]["text"]
    assert len(inside) == 2


def test_all_requests_of_a_copy_belong_to_an_attempt(taught, kept, client, play, rule):
    play.says("think")
    play.says("refused")
    with taught.attempt("refund order 17", agent="mine") as attempt:
        mine = remembering(attempt, client)
        messages = [ASK]
        for observation in ("look", "done"):
            message = mine.chat.completions.create(model="m", messages=messages).choices[0].message
            messages += [message, {"role": "user", "content": observation}]
        attempt.finish(success=True)
    [found] = kept()
    assert [s.action for s in found.steps] == ["think", "refused"]
    assert found.agent == "mine"
    assert rule in play.requests[1]["messages"][0]["content"]


def test_responses_with_tools_and_a_server_that_remembers(taught, kept, client, play, rule):
    play.responds("I look.", CALL)
    play.responds("refused")
    mine = remembering(taught, client)
    first = mine.responses.create(model="m", instructions="Be kind.", input="refund order 17")
    output = {"type": "function_call_output", "call_id": "call-1", "output": "shipped"}
    mine.responses.create(model="m", instructions="Be kind.", input=[output], previous_response_id=first.id)
    assert all(rule in request["instructions"] for request in play.requests)
    assert play.requests[1]["input"] == [output]
    [found] = kept()
    assert found.task == "refund order 17"
    assert ('lookup({"order": 17})', "shipped") in did(found)
    assert found.outcome.answer == "refused"


def test_parse_and_raw_responses_are_recorded_too(memory, kept, client, play):
    from pydantic import BaseModel

    class Verdict(BaseModel):
        refund: bool

    play.says('{"refund": false}')
    play.says("raw")
    mine = remembering(memory, client)
    reply = mine.chat.completions.parse(model="m", messages=[ASK], response_format=Verdict)
    assert reply.choices[0].message.parsed == Verdict(refund=False)
    raw = mine.chat.completions.with_raw_response.create(model="m", messages=[ASK])
    assert raw.parse().choices[0].message.content == "raw"
    assert [t.outcome.answer for t in kept()] == ['{"refund": false}', "raw"]


def test_a_refusal_goes_on_and_what_waits_can_be_asked_again(memory, kept, client, play):
    play.turns = [500]
    play.says(None, CALL)
    play.turns += [500]
    play.says("done")
    mine = remembering(memory, client)
    with pytest.raises(openai.InternalServerError):
        mine.chat.completions.create(model="m", messages=[ASK])
    message = mine.chat.completions.create(model="m", messages=[ASK]).choices[0].message
    with pytest.raises(openai.InternalServerError):
        mine.chat.completions.create(model="m", messages=[ASK, message, FOUND])
    mine.chat.completions.create(model="m", messages=[ASK, message, FOUND])
    failed, done = kept()
    assert (failed.outcome.success, failed.outcome.detail) == (None, "ended by InternalServerError")
    assert did(done) == [('lookup({"order": 17})', "shipped"), ("done", "")]


def test_two_at_a_time_do_not_mix(memory, kept, client, play):
    play.says(None, CALL)
    play.says(None, ("call-2", "lookup", "{}"))
    play.says("eighteen")
    play.says("seventeen")
    mine = remembering(memory, client)
    other = {"role": "user", "content": "refund order 18"}
    one = mine.chat.completions.create(model="m", messages=[ASK]).choices[0].message
    two = mine.chat.completions.create(model="m", messages=[other]).choices[0].message
    mine.chat.completions.create(model="m", messages=[other, two, {**FOUND, "tool_call_id": "call-2"}])
    mine.chat.completions.create(model="m", messages=[ASK, one, FOUND])
    assert {t.task: t.outcome.answer for t in kept()} == {"refund order 17": "seventeen", "refund order 18": "eighteen"}


@pytest.mark.parametrize("shortened", [False, True])
def test_two_whose_calls_have_the_same_name_do_not_mix(memory, kept, client, play, shortened):
    other = {"role": "user", "content": "refund order 18"}
    for text in (None, None, "done 17", "done 18"):
        play.says(text, *([] if text else [CALL]))
    mine = remembering(memory, client)
    asked = {ASK["content"]: [ASK], other["content"]: [{"role": "system", "content": "now 12:00"}, other]}
    for messages in asked.values():
        messages.append(mine.chat.completions.create(model="m", messages=messages).choices[0].message)
    for task, messages in asked.items():
        result = {**FOUND, "content": f"found for {task}"}
        told = [m if isinstance(m, dict) else {**m.model_dump(exclude_none=True), "content": "..."} for m in messages]
        told = told if shortened else messages
        mine.chat.completions.create(model="m", messages=[*told, result])
    found = {t.task: t for t in kept()}
    assert {task: t.outcome.answer for task, t in found.items()} == {
        "refund order 17": "done 17",
        "refund order 18": "done 18",
    }
    assert all(t.steps[-2].observation == f"found for {task}" for task, t in found.items())


def test_a_conversation_that_began_elsewhere_is_a_run_of_its_own(memory, kept, client, play):
    play.says(None, CALL)
    play.says("eighteen")
    mine = remembering(memory, client)
    message = mine.chat.completions.create(model="m", messages=[ASK]).choices[0].message
    mine.chat.completions.create(model="m", messages=[{"role": "user", "content": "refund order 18"}, message, FOUND])
    assert [(t.task, t.outcome.answer) for t in kept()] == [("refund order 18", "eighteen")]


def test_a_server_that_remembers_tells_which_run_goes_on(memory, kept, client, play):
    for name in ("r1", "r2"):
        play.responds(None, CALL)
        play.turns[-1]["id"] = name
    play.responds("done 18")
    play.responds("done 17")
    mine = remembering(memory, client)
    output = {"type": "function_call_output", "call_id": "call-1", "output": "shipped"}
    for task in ("refund order 17", "refund order 18"):
        mine.responses.create(model="m", input=task)
    for name in ("r2", "r1"):
        mine.responses.create(model="m", input=[output], previous_response_id=name)
    assert {t.task: t.outcome.answer for t in kept()} == {"refund order 17": "done 17", "refund order 18": "done 18"}


def test_what_waits_for_ever_is_kept_in_the_end(memory, kept, client, play, monkeypatch):
    monkeypatch.setattr(talks, "MAX_OPEN", 1)
    for name in ("a", "b"):
        play.says(None, (name, "lookup", "{}"))
    mine = remembering(memory, client)
    for name in ("a", "b"):
        mine.chat.completions.create(model="m", messages=[{"role": "user", "content": name}])
    assert [(t.task, t.outcome.reason) for t in kept()] == [("a", "unfinished")]
    memory.close()


def test_words_in_parts_are_an_answer(memory, kept, client, play):
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "refused"}]
    message = {"role": "assistant", "content": parts}
    play.turns = [{"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}]
    mine = remembering(memory, client, check=lambda task, answer: answer == "refused")
    mine.chat.completions.create(model="m", messages=[ASK])
    [found] = kept()
    assert (found.outcome.success, found.outcome.answer, len(found.messages)) == (True, "refused", 2)


def test_an_odd_server_breaks_nothing(memory, kept, client, play):
    play.turns = [{"id": "c", "object": "chat.completion", "choices": None}, {"choices": []}]
    mine = remembering(memory, client)
    for _ in range(2):
        mine.chat.completions.create(model="m", messages=[ASK])
    assert [t.outcome.answer for t in kept()] == ["", ""]


def test_the_plain_client_stays_and_copies_of_the_copy_remember(taught, kept, client, play):
    mine = remembering(taught, client)
    play.says("plain")
    client.chat.completions.create(model="m", messages=[ASK])
    assert play.requests[0]["messages"] == [ASK]
    assert kept() == []
    for other in (mine.with_options(timeout=5), mine.copy().with_options(max_retries=1)):
        play.says("copied")
        other.chat.completions.create(model="m", messages=[ASK])
    assert [t.outcome.answer for t in kept()] == ["copied", "copied"]


def test_the_client_for_coroutines(taught, kept, play, rule):
    play.says("refused")
    play.turns += [500]

    async def talk():
        async with openai.AsyncOpenAI(api_key="none", base_url=play.url, max_retries=0) as client:
            mine = remembering(taught, client, check=lambda task, answer: answer == "refused")
            await mine.chat.completions.create(model="m", messages=[ASK])
            with pytest.raises(openai.InternalServerError):
                await mine.responses.create(model="m", input="hello")

    asyncio.run(talk())
    assert rule in play.requests[0]["messages"][0]["content"]
    assert rule in play.requests[1]["instructions"]
    assert [t.outcome.success for t in kept()] == [True, None]


def test_what_is_no_client_is_refused(memory):
    with pytest.raises(ConfigError, match=r"openai\.OpenAI"):
        remembering(memory, object())
