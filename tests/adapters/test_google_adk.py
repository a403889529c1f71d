"""Google's ADK with a model that is scripted.

It wants older versions of websockets and OpenTelemetry than this environment has; for these tests make one of its own,
in which `pip install 'seasoned[google-adk]' pytest hypothesis` was run. They are skipped where it is not there.
"""

import asyncio
import gc
import json
import logging
import sys
from contextlib import aclosing

import pytest
from bare_steps import did

from seasoned.errors import ConfigError

pytest.importorskip("google.adk", reason="ADK wants an environment of its own, with older websockets")

from google.adk.agents import LlmAgent, LoopAgent, RunConfig, SequentialAgent
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext, exit_loop
from google.genai import types

from seasoned.adapters.google_adk import chat, remembering

pytestmark = pytest.mark.filterwarnings("ignore")  # ADK's own, which each version has others of


def call(tool, call_id="call-1", **given):
    return types.Part(function_call=types.FunctionCall(name=tool, args=given, id=call_id))


LOOK = call("lookup", order=17)


@pytest.fixture(autouse=True)
def _quiet():
    """ADK warns of each reply that has no count of tokens."""
    logging.getLogger("google_adk").setLevel(logging.ERROR)


class Scripted(BaseLlm):
    """A model that answers with these turns, texts, parts, errors or lists of chunks, and what it was told."""

    turns: list
    told: list

    async def generate_content_async(self, llm_request, stream=False):
        self.told.append(str(llm_request.config.system_instruction))
        turn = self.turns.pop(0)
        if turn == "wait":
            await asyncio.sleep(60)
        if isinstance(turn, Exception):
            raise turn
        for chunk in turn if isinstance(turn, list) else [turn]:
            part = types.Part(text=chunk) if isinstance(chunk, str) else chunk
            partial = isinstance(turn, list) or None
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=partial)
        if isinstance(turn, list):
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="".join(turn))]))


class Echo(BaseLlm):
    """A model that says in capitals what it was asked, after a moment."""

    async def generate_content_async(self, llm_request, stream=False):
        await asyncio.sleep(0.01)
        said = llm_request.contents[-1].parts[0].text.upper()
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=said)]))


def lookup(order: int) -> str:
    """Say where an order is."""
    if order == 99:
        raise KeyError(order)
    return "shipped"


def scripted(*turns, name="clerk", tools=(lookup,)):
    model = Scripted(model="scripted", turns=list(turns), told=[])
    return LlmAgent(name=name, model=model, instruction="Be kind.", tools=list(tools)), model.told


def runner_of(agent, *plugins):
    return InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=list(plugins)))


async def talk(runner, *tasks, session=None, enough=lambda event: False, **options):
    """The events of runs in one session; a stream is left at an event that is enough."""
    events = []
    session = session or await runner.session_service.create_session(app_name="shop", user_id="u")
    for task in tasks:
        said = types.UserContent(task)
        stream = runner.run_async(user_id="u", session_id=session.id, new_message=said, **options)
        async with aclosing(stream):
            async for event in stream:
                events.append(event)
                if enough(event):
                    break
    return events


def run(agent, plugin, *tasks, **options):
    return asyncio.run(talk(runner_of(agent, plugin), *tasks, **options))


def test_a_run_is_an_attempt(taught, kept, rule):
    agent, told = scripted(LOOK, "refused")
    run(agent, remembering(taught, check=lambda *said: said == ("refund order 17", "refused")), "refund order 17")
    assert len(told) == 2
    assert all(text.startswith("Be kind.") and text.count(rule) == 1 for text in told)
    [found] = kept()
    assert did(found) == [('lookup({"order": 17})', "shipped"), ("refused", "")]
    assert (found.task, found.agent, found.outcome.success) == ("refund order 17", "clerk", True)
    assert found.outcome.answer == "refused"
    assert found.lesson_ids


def test_the_synchronous_run_is_recorded(memory, kept):
    agent, _ = scripted(LOOK, "refused")
    runner = runner_of(agent, remembering(memory))
    session = runner.session_service.create_session_sync(app_name="shop", user_id="u")
    for _ in runner.run(user_id="u", session_id=session.id, new_message=types.UserContent("refund order 17")):
        pass
    assert [(t.outcome.answer, len(t.steps)) for t in kept()] == [("refused", 2)]


def test_a_check_may_be_a_coroutine_function(memory, kept):
    async def check(task, answer):
        await asyncio.sleep(0)
        return answer == "refused"

    run(scripted("refused")[0], remembering(memory, check=check), "refund order 17")
    assert [t.outcome.success for t in kept()] == [True]


def test_a_result_comes_back_where_it_cannot_be_recorded(memory, confused, lost):
    [event] = run(scripted("refused")[0], remembering(memory, check=confused), "refund order 17")
    assert event.content.parts[0].text == "refused"
    assert lost()


def test_nothing_recalled_is_nothing_added(memory, kept):
    agents = [scripted("refused"), scripted("refused")]
    run(agents[0][0], remembering(memory, agent="other"), "refund order 17")
    asyncio.run(talk(runner_of(agents[1][0]), "refund order 17"))
    assert agents[0][1] == agents[1][1]
    assert [(t.agent, t.outcome.success) for t in kept()] == [("other", None)]


def test_a_conversation_goes_on_and_each_run_is_recorded_alone(memory, kept):
    agent, _ = scripted("hello", "refused")
    run(agent, remembering(memory), "hi", "refund order 17")
    assert [(t.task, [s.action for s in t.steps]) for t in kept()] == [
        ("hi", ["hello"]),
        ("refund order 17", ["refused"]),
    ]


def test_many_at_a_time_do_not_mix(memory, kept):
    agent = LlmAgent(name="clerk", model=Echo(model="echo"))
    runner = runner_of(agent, remembering(memory, check=lambda task, answer: answer == task.upper()))

    async def all_of_them():
        await asyncio.gather(*(talk(runner, task) for task in "abc"))

    asyncio.run(all_of_them())
    assert {t.task: (t.outcome.success, t.outcome.answer) for t in kept()} == {x: (True, x.upper()) for x in "abc"}


def test_runs_belong_to_an_attempt_that_is_given(taught, kept, rule):
    agent, told = scripted("a", "b")
    with taught.attempt("both") as attempt:
        run(agent, remembering(attempt), "one", "two")
        attempt.finish(success=False)
    [found] = kept()
    assert [s.action for s in found.steps] == ["a", "b"]
    assert all(rule in text for text in told)


@pytest.mark.parametrize("last", [call("lookup", "call-2", order=99), KeyError("the model")])
def test_a_run_that_breaks_off_is_kept_as_far_as_it_went(memory, kept, last):
    with pytest.raises(KeyError):
        run(scripted(LOOK, last)[0], remembering(memory, check=lambda *said: True), "refund order 17")
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by KeyError")
    assert (found.steps[0].action, found.steps[0].observation) == ('lookup({"order": 17})', "shipped")


def test_a_reply_that_is_an_error_answers_nothing(memory, kept):
    class Failing(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            yield LlmResponse(error_code="503", error_message="no server today")

    run(LlmAgent(name="clerk", model=Failing(model="m")), remembering(memory, check=lambda *said: True), "refund")
    assert [(t.outcome.success, t.outcome.reason) for t in kept()] == [(None, "unfinished")]


def test_a_run_that_is_cancelled_is_kept(memory, kept):
    agent, told = scripted(LOOK, "wait")

    async def hurried():
        running = asyncio.create_task(talk(runner_of(agent, remembering(memory)), "refund order 17"))
        while len(told) < 2:
            await asyncio.sleep(0.01)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(hurried())
    gc.collect()
    [found] = kept()
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by StreamLeft")
    assert (found.steps[0].action, found.steps[0].observation) == ('lookup({"order": 17})', "shipped")


@pytest.mark.parametrize("closes", [True, False])
def test_a_stream_that_is_left_at_the_answer_is_whole_and_before_it_is_not(memory, kept, closes, monkeypatch):
    troubles = []
    monkeypatch.setattr(sys, "unraisablehook", troubles.append)
    plugin = remembering(memory, check=lambda *said: True)

    async def left(enough):
        runner = runner_of(scripted(LOOK, "refused")[0], plugin)
        if closes:
            await talk(runner, "refund order 17", enough=enough)
            return
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        said = types.UserContent("refund order 17")
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=said):
            if enough(event):
                break

    asyncio.run(left(lambda event: event.is_final_response()))
    asyncio.run(left(lambda event: bool(event.get_function_responses())))
    gc.collect()
    assert [(t.outcome.success, t.outcome.reason) for t in kept()] == [(True, "answered"), (None, "unfinished")]
    assert troubles == []


def test_a_run_that_waits_for_a_person_is_unknown(memory, kept):
    def refund():
        """Refund."""
        return "refunded"

    def ask_boss():
        """Ask the boss, who answers some time."""

    told = remembering(memory, check=lambda *said: True)
    run(scripted(call("refund"), tools=[FunctionTool(refund, require_confirmation=True)])[0], told, "refund order 17")
    run(scripted(call("ask_boss"), "wait", tools=[LongRunningFunctionTool(ask_boss)])[0], told, "refund order 17")
    assert [(t.outcome.success, t.outcome.reason) for t in kept()] == [(None, "unfinished")] * 2


def test_streams_are_recorded_and_pass_unchanged(taught, kept, rule):
    def streamed(*plugins):
        agent, told = scripted(LOOK, ["ref", "used"])
        sse = RunConfig(streaming_mode=StreamingMode.SSE)
        events = asyncio.run(talk(runner_of(agent, *plugins), "refund order 17", run_config=sse))
        return [(event.partial, event.content) for event in events], told

    events, told = streamed(remembering(taught))
    assert events == streamed()[0]
    assert [content.parts[0].text for partial, content in events if partial] == ["ref", "used"]
    [found] = kept()
    assert found.outcome.answer == "refused"
    assert [s.action for s in found.steps] == ['lookup({"order": 17})', "refused"]
    assert all(rule in text for text in told)


def test_guidance_reaches_all_agents_of_a_run(taught, kept, rule):
    first, told_first = scripted("looked", name="first")
    second, told_second = scripted("refused", name="second")
    run(SequentialAgent(name="both", sub_agents=[first, second]), remembering(taught), "refund order 17")
    assert [text.count(rule) for text in told_first + told_second] == [1, 1]
    [found] = kept()
    assert (found.agent, found.outcome.answer) == ("both", "refused")


def test_a_transfer_goes_on_with_the_run(taught, kept, rule):
    desk, told = scripted("refused", name="desk")
    agent, _ = scripted(call("transfer_to_agent", agent_name="desk"))
    agent = LlmAgent(name="clerk", model=agent.model, sub_agents=[desk])
    run(agent, remembering(taught), "refund order 17")
    assert [text.count(rule) for text in told] == [1]
    [found] = kept()
    assert (found.agent, found.outcome.answer) == ("clerk", "refused")
    assert [s.action for s in found.steps] == ['transfer_to_agent({"agent_name": "desk"})', "refused"]


def test_a_tool_can_give_the_answer_or_end_a_loop(memory, kept):
    def quote(tool_context: ToolContext):
        """Quote the rules."""
        tool_context.actions.skip_summarization = True
        return "no refunds"

    run(scripted(call("quote"), tools=[quote])[0], remembering(memory), "refund order 17")
    writer, _ = scripted("draft", "better", name="writer")
    critic, _ = scripted("again", call("exit_loop"), name="critic", tools=[exit_loop])
    run(LoopAgent(name="loop", sub_agents=[writer, critic]), remembering(memory), "write")
    assert [(t.outcome.reason, t.outcome.answer) for t in kept()] == [
        ("answered", "no refunds"),
        ("answered", "better"),
    ]


def test_an_agent_that_is_a_tool_is_a_step(taught, kept, rule):
    desk, told = scripted("shipped", name="desk")
    agent, _ = scripted(call("desk", request="order 17?"), "refused", tools=[AgentTool(desk)])
    run(agent, remembering(taught), "refund order 17")
    [found] = kept()
    assert did(found) == [('desk({"request": "order 17?"})', "shipped"), ("refused", "")]
    assert [text.count(rule) for text in told] == [1]


def test_a_run_after_a_tool_was_called_is_a_run_of_its_own(memory, kept):
    runner = runner_of(scripted(LOOK, "one", LOOK, "two")[0], remembering(memory))
    asyncio.run(talk(runner, "a", "b"))
    assert [(t.task, t.outcome.answer) for t in kept()] == [("a", "one"), ("b", "two")]


def test_pictures_thoughts_and_code():
    from google.adk.events import Event

    parts = [
        types.Part(text="I wonder.", thought=True),
        types.Part(text="Look: "),
        types.Part.from_bytes(data=b"x", mime_type="image/png"),
        types.Part(executable_code=types.ExecutableCode(code="1 + 1", language="PYTHON")),
    ]
    [said] = chat([Event(author="clerk", content=types.Content(role="model", parts=parts)), Event(author="clerk")])
    assert (said["role"], said["content"]) == ("assistant", "Look: [image/png]1 + 1")
    given = types.Part(function_response=types.FunctionResponse(name="f", response={"a": {1}, "b": "é"}))
    [said] = chat([Event(author="clerk", content=types.Content(role="user", parts=[given]))])
    assert json.loads(said["content"]) == {"a": "{1}", "b": "é"}


def test_what_is_no_memory_is_refused():
    with pytest.raises(ConfigError, match=r"seasoned\.Memory"):
        remembering("memory.db")
