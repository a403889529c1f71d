"""The OpenAI Agents SDK with its scripted model."""

import asyncio

import pytest
from bare_steps import did

from seasoned.errors import ConfigError

sdk = pytest.importorskip("agents", exc_type=ImportError)
testing = pytest.importorskip("agents.testing", exc_type=ImportError)

from seasoned.adapters.openai_agents import remembering  # noqa: E402


@pytest.fixture(autouse=True)
def _no_traces():
    sdk.set_tracing_disabled(True)


@sdk.function_tool
def lookup(order: int) -> str:
    """Look an order up."""
    return "shipped"


def agent_of(*turns, **more):
    model = testing.ScriptedModel(list(turns))
    return sdk.Agent(name="clerk", instructions="Be kind.", model=model, tools=[lookup], **more), model


def call(name, **arguments):
    return [testing.function_call(name, arguments, call_id="call-1")]


def say(text):
    return [testing.assistant_message(text)]


LOOK, REFUSED = call("lookup", order=17), say("refused")


def test_a_run_is_an_attempt(taught, kept, rule):
    agent, model = agent_of(LOOK, REFUSED)
    runner = remembering(taught, check=lambda task, answer: (task, answer) == ("refund order 17", "refused"))
    assert runner.run_sync(agent, "refund order 17").final_output == "refused"
    told = [call.system_instructions for call in model.calls]
    assert len(told) == 2
    assert all(text.startswith("Be kind.\n\n") and rule in text for text in told)
    assert agent.instructions == "Be kind."
    [found] = kept()
    assert did(found) == [('lookup({"order":17})', "shipped"), ("refused", "")]
    assert (found.agent, found.outcome.success, found.outcome.answer) == ("clerk", True, "refused")
    assert found.lesson_ids


@pytest.mark.parametrize("later", [False, True])
def test_a_result_comes_back_where_it_cannot_be_recorded(memory, confused, lost, later):
    agent, _ = agent_of(REFUSED)
    runner = remembering(memory, check=confused)
    done = asyncio.run(runner.run(agent, "a")) if later else runner.run_sync(agent, "a")
    assert done.final_output == "refused"
    assert lost()


def test_nothing_recalled_is_nothing_added(memory, kept):
    agent, model = agent_of(REFUSED)
    given = [{"role": "user", "content": "refund order 17"}]
    asyncio.run(remembering(memory, agent="other").run(agent, given))
    assert model.calls[0].system_instructions == "Be kind."
    [found] = kept()
    assert (found.task, found.agent, found.outcome.success) == ("refund order 17", "other", None)


def test_a_config_with_a_filter_of_its_own(taught, rule):
    def louder(data):
        return sdk.run.ModelInputData(input=data.model_data.input, instructions="BE KIND.")

    async def later(data):
        return louder(data)

    for config in (
        sdk.RunConfig(call_model_input_filter=louder),
        sdk.RunConfig(call_model_input_filter=later),
        {"call_model_input_filter": louder},
    ):
        agent, model = agent_of(REFUSED)
        remembering(taught).run_sync(agent, "refund order 17", run_config=config)
        assert model.calls[0].system_instructions.startswith("BE KIND.\n\n")
        assert rule in model.calls[0].system_instructions


def test_an_agent_that_is_handed_to_has_the_guidance_too(taught, kept, rule):
    boss, model = agent_of(REFUSED)
    front = sdk.Agent(name="front", model=testing.ScriptedModel([call("transfer_to_clerk")]), handoffs=[boss])
    assert remembering(taught).run_sync(front, "refund order 17").final_output == "refused"
    assert rule in model.calls[0].system_instructions
    assert len(kept()) == 1


def test_a_run_that_breaks_off_is_kept_as_far_as_it_went(memory, kept):
    agent, _ = agent_of(LOOK, LOOK)
    with pytest.raises(sdk.MaxTurnsExceeded):
        remembering(memory).run_sync(agent, "refund order 17", max_turns=1)
    agent, _ = agent_of(LOOK, LOOK)
    with pytest.raises(sdk.MaxTurnsExceeded):
        asyncio.run(remembering(memory).run(agent, "refund order 17", max_turns=1))
    for found in kept():
        assert found.outcome.detail == "ended by MaxTurnsExceeded"
        assert did(found) == [('lookup({"order":17})', "shipped")]
    assert len(kept()) == 2


def test_a_person_is_asked_in_between(memory, kept):
    @sdk.function_tool(needs_approval=True)
    def refund(order: int) -> str:
        """Refund an order."""
        return "refunded"

    model = testing.ScriptedModel([call("refund", order=17), say("done")])
    agent = sdk.Agent(name="clerk", model=model, tools=[refund])
    with memory.attempt("refund order 17") as attempt:
        runner = remembering(attempt)
        state = runner.run_sync(agent, "refund order 17").to_state()
        state.approve(state.get_interruptions()[0])
        assert runner.run_sync(agent, state).final_output == "done"
        attempt.finish(success=True)
    [found] = kept()
    assert did(found) == [('refund({"order":17})', "refunded"), ("done", "")]
    with pytest.raises(ConfigError, match="begin an attempt"):
        remembering(memory).run_sync(agent, state)


def stream(runner, agent, given, **options):
    """The kinds of all events of a run that streams, and its result."""

    async def events():
        result = runner.run_streamed(agent, given, **options)
        return [getattr(event, "name", event.type) async for event in result.stream_events()], result

    return asyncio.run(events())


def test_a_run_that_streams_is_an_attempt(taught, kept, rule):
    plain, _ = stream(sdk.Runner, agent_of(LOOK, REFUSED)[0], "refund order 17")
    agent, model = agent_of(LOOK, REFUSED)
    runner = remembering(taught, check=lambda task, answer: (task, answer) == ("refund order 17", "refused"))
    events, result = stream(runner, agent, "refund order 17")
    assert events == plain
    assert "tool_output" in events
    assert isinstance(result, sdk.RunResultStreaming)
    assert result.final_output == "refused"
    assert all(call.system_instructions.startswith("Be kind.\n\n") for call in model.calls)
    assert all(rule in call.system_instructions for call in model.calls)
    [found] = kept()
    assert did(found) == [('lookup({"order":17})', "shipped"), ("refused", "")]
    assert (found.outcome.success, found.outcome.answer) == (True, "refused")
    assert found.lesson_ids


def test_a_stream_without_guidance_is_as_it_was(memory, kept):
    agent, model = agent_of(REFUSED)
    stream(remembering(memory), agent, "refund order 17")
    assert model.calls[0].system_instructions == "Be kind."
    assert [(t.outcome.success, t.outcome.answer) for t in kept()] == [(None, "refused")]


def test_a_stream_that_breaks_off_is_kept_as_far_as_it_went(memory, kept):
    agent, _ = agent_of(LOOK, LOOK)
    with pytest.raises(sdk.MaxTurnsExceeded):
        stream(remembering(memory), agent, "refund order 17", max_turns=1)
    [found] = kept()
    assert found.outcome.detail == "ended by MaxTurnsExceeded"
    assert did(found) == [('lookup({"order":17})', "shipped")]


def test_a_stream_that_is_left_is_unknown(memory, kept):
    async def leave():
        agent, _ = agent_of(LOOK, REFUSED)
        events = remembering(memory, check=lambda task, answer: True).run_streamed(agent, "a").stream_events()
        async for event in events:
            if getattr(event, "name", "") == "tool_output":
                break
        await events.aclose()

    asyncio.run(leave())
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by StreamLeft")
    assert found.steps[0].action == 'lookup({"order":17})'
