"""PydanticAI with its model that is a function."""

import asyncio

import pytest
from bare_steps import did

pydantic_ai = pytest.importorskip("pydantic_ai", exc_type=ImportError)

from pydantic_ai.messages import (  # noqa: E402
    ImageUrl,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel  # noqa: E402

from seasoned.adapters.pydantic_ai import chat, remembering  # noqa: E402

LOOK = ToolCallPart("lookup", {"order": 17}, tool_call_id="call-1")


def scripted(*turns):
    """A model that answers with these parts, and the instructions that it was given."""
    told, left = [], list(turns)

    def answer(messages, info):
        told.append(info.instructions)
        return ModelResponse(parts=[left.pop(0)])

    return FunctionModel(answer), told


def agent_of(model, *capabilities, **more):
    agent = pydantic_ai.Agent(model, instructions="Be kind.", name="clerk", capabilities=capabilities, **more)

    @agent.tool_plain(retries=0)
    def lookup(order: int) -> str:
        if order == 99:
            raise KeyError(order)
        return "shipped"

    return agent


def test_a_run_is_an_attempt(taught, kept, rule):
    model, told = scripted(LOOK, TextPart("refused"))
    agent = agent_of(model, remembering(taught, check=lambda *said: said == ("refund order 17", "refused")))
    assert agent.run_sync("refund order 17").output == "refused"
    assert len(told) == 2
    assert all(text.startswith("Be kind.") and rule in text for text in told)
    [found] = kept()
    assert did(found) == [('lookup({"order":17})', "shipped"), ("refused", "")]
    assert (found.task, found.agent, found.outcome.success) == ("refund order 17", "clerk", True)
    assert found.outcome.answer == "refused"
    assert found.lesson_ids


def test_a_result_comes_back_where_it_cannot_be_recorded(memory, confused, lost):
    model, _ = scripted(TextPart("refused"))
    assert agent_of(model, remembering(memory, check=confused)).run_sync("refund order 17").output == "refused"
    assert lost()


def test_nothing_recalled_is_nothing_added(memory, kept):
    model, told = scripted(TextPart("refused"))
    agent_of(model, remembering(memory, agent="other")).run_sync("refund order 17")
    assert told == ["Be kind."]
    assert [(t.agent, t.outcome.success) for t in kept()] == [("other", None)]


def test_a_conversation_goes_on_and_each_run_is_recorded_alone(memory, kept):
    model, _ = scripted(TextPart("hello"), TextPart("refused"))
    agent = agent_of(model)
    told = [remembering(memory)]
    first = agent.run_sync("hi", capabilities=told)
    agent.run_sync("refund order 17", message_history=first.all_messages(), capabilities=told)
    assert [(t.task, [s.action for s in t.steps]) for t in kept()] == [
        ("hi", ["hello"]),
        ("refund order 17", ["refused"]),
    ]


def test_many_at_a_time_do_not_mix(memory, kept):
    async def answer(messages, info):
        await asyncio.sleep(0.01)
        return ModelResponse(parts=[TextPart(messages[-1].parts[0].content.upper())])

    agent = agent_of(FunctionModel(answer), remembering(memory, check=lambda task, answer: answer == task.upper()))

    async def both():
        await asyncio.gather(*(agent.run(task) for task in "abc"))

    asyncio.run(both())
    assert {t.task: (t.outcome.success, t.outcome.answer) for t in kept()} == {x: (True, x.upper()) for x in "abc"}


def test_runs_belong_to_an_attempt_that_is_given(taught, kept, rule):
    model, told = scripted(TextPart("a"), TextPart("b"))
    agent = agent_of(model)
    with taught.attempt("both") as attempt:
        for task in ("one", "two"):
            agent.run_sync(task, capabilities=[remembering(attempt)])
        attempt.finish(success=False)
    [found] = kept()
    assert [s.action for s in found.steps] == ["a", "b"]
    assert all(rule in text for text in told)


def test_a_run_that_breaks_off_is_kept_as_far_as_it_went(memory, kept):
    model, _ = scripted(LOOK, ToolCallPart("lookup", {"order": 99}, tool_call_id="call-2"))
    with pytest.raises(KeyError):
        agent_of(model, remembering(memory)).run_sync("refund order 17")
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by KeyError")
    assert (found.steps[0].action, found.steps[0].observation) == ('lookup({"order":17})', "shipped")


def test_a_run_that_waits_for_a_person_is_unknown(memory, kept):
    model, _ = scripted(ToolCallPart("refund", {}, tool_call_id="call-1"))
    told = [remembering(memory, check=lambda task, answer: True)]
    agent = pydantic_ai.Agent(model, capabilities=told, output_type=[str, pydantic_ai.DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def refund() -> str:
        return "refunded"

    agent.run_sync("refund order 17")
    assert [(t.outcome.success, t.outcome.reason) for t in kept()] == [(None, "unfinished")]


def test_streams_are_recorded(taught, kept, rule):
    told = []

    async def stream(messages, info):
        told.append(info.instructions)
        if len(told) == 1:
            yield {0: DeltaToolCall(name="lookup", json_args='{"order":17}', tool_call_id="call-1")}
        else:
            yield "ref"
            yield "used"

    agent = agent_of(FunctionModel(stream_function=stream), remembering(taught))

    async def talk():
        async with agent.run_stream("refund order 17") as result:
            return [text async for text in result.stream_text(debounce_by=None)]

    assert asyncio.run(talk())[-1] == "refused"
    [found] = kept()
    assert found.outcome.answer == "refused"
    assert [s.action for s in found.steps] == ['lookup({"order":17})', "refused"]
    assert all(rule in text for text in told)


def test_messages_of_all_kinds():
    messages = [
        ModelRequest(
            parts=[
                SystemPromptPart("Be kind."),
                UserPromptPart(["look at this", ImageUrl("http://127.0.0.1/a.png")]),
                ToolReturnPart("lookup", "no such order", tool_call_id="call-1", outcome="retried"),
                RetryFeedbackPart("say it shorter", retry=RetryInfo(cause="validation_error")),
            ]
        ),
        ModelResponse(parts=[TextPart("I look."), LOOK]),
        ModelResponse(parts=[]),
    ]
    said = list(chat(messages))
    assert [each["role"] for each in said] == ["system", "user", "tool", "user", "assistant"]
    assert said[1]["content"] == "look at this\n[image-url]"
    assert "no such order" in said[2]["content"]
    assert "say it shorter" in said[3]["content"]
    assert said[4]["tool_calls"][0]["function"] == {"name": "lookup", "arguments": '{"order":17}'}
