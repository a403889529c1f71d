"""LangGraph's own graphs, with LangChain's scripted chat model."""

import asyncio

import pytest
from bare_steps import did

from seasoned.errors import ConfigError

pytest.importorskip("langgraph.graph", exc_type=ImportError)

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from seasoned.adapters.langgraph import ID, remembering

LOOK = AIMessage("I look.", tool_calls=[{"name": "lookup", "args": {"order": 17}, "id": "call-1"}])


def lookup(order: int) -> str:
    """Look an order up."""
    return "shipped"


def graph_of(*turns, tool=lookup, **more):
    """A graph that calls tools until its model says something, and what the model was told."""
    model, told = GenericFakeChatModel(messages=iter(turns)), []

    def clerk(state):
        told.append(state["messages"])
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(clerk)
    builder.add_node("tools", ToolNode([tool]))
    builder.add_edge(START, "clerk")
    builder.add_conditional_edges("clerk", tools_condition)
    builder.add_edge("tools", "clerk")
    return builder.compile(name="clerk", **more), told


def test_a_run_is_an_attempt(taught, kept, rule):
    graph, told = graph_of(LOOK, "refused")
    mine = remembering(taught, graph, check=lambda *said: said == ("refund order 17", "refused"))
    given = {"messages": [SystemMessage("Be kind."), HumanMessage("refund order 17")]}
    result = mine.invoke(given)
    assert result["messages"][-1].content == "refused"
    assert [m.content for m in given["messages"]] == ["Be kind.", "refund order 17"]
    assert [m.type for m in told[1]] == ["system", "system", "human", "ai", "tool"]
    assert rule in told[0][1].content
    [found] = kept()
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("I look.", 'lookup({"order": 17})', "shipped"),
        ("", "refused", ""),
    ]
    assert (found.task, found.agent, found.outcome.success) == ("refund order 17", "clerk", True)
    assert found.lesson_ids


@pytest.mark.parametrize("later", [False, True])
def test_a_result_comes_back_where_it_cannot_be_recorded(memory, confused, lost, later):
    mine = remembering(memory, graph_of("refused")[0], check=confused)
    given = {"messages": "refund order 17"}
    result = asyncio.run(mine.ainvoke(given)) if later else mine.invoke(given)
    assert result["messages"][-1].content == "refused"
    assert lost()


def test_nothing_recalled_is_nothing_added(memory, kept):
    graph, told = graph_of("refused", "refused")
    mine = remembering(memory, graph, agent="other")
    mine.invoke({"messages": "refund order 17"})
    mine.invoke({"messages": [{"role": "user", "content": "refund order 18"}]})
    assert [[m.content for m in messages] for messages in told] == [["refund order 17"], ["refund order 18"]]
    assert [(t.task, t.agent, t.outcome.success) for t in kept()] == [
        ("refund order 17", "other", None),
        ("refund order 18", "other", None),
    ]


def test_runs_of_coroutines_and_batches(taught, kept, rule):
    graph, told = graph_of(*["refused"] * 3, checkpointer=InMemorySaver())
    mine = remembering(taught, graph)
    asyncio.run(mine.ainvoke({"messages": "one"}, {"configurable": {"thread_id": "0"}}))
    mine.batch(
        [{"messages": "two"}, {"messages": "three"}], [{"configurable": {"thread_id": each}} for each in ("1", "2")]
    )
    assert sorted(t.task for t in kept()) == ["one", "three", "two"]
    assert all(rule in messages[0].content for messages in told)


def test_a_thread_holds_the_guidance_of_its_last_run(taught, kept, rule):
    graph, told = graph_of("one", "two", "three", checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    mine = remembering(taught, graph)
    mine.invoke({"messages": "first"}, thread)
    mine.invoke({"messages": [("system", "Be kind."), ("user", "second")]}, thread)
    assert [m.type for m in told[1]] == ["system", "human", "ai", "system", "human"]
    [lesson] = taught.lessons()
    taught.forget(lesson.id)
    mine.invoke({"messages": "third"}, thread)
    assert [m.type for m in told[2]] == ["human", "ai", "system", "human", "ai", "human"]
    assert ID not in [m.id for m in graph.get_state(thread).values["messages"]]
    assert [[s.action for s in t.steps] for t in kept()] == [["one"], ["two"], ["three"]]
    assert [sum(m["role"] == "system" for m in t.messages) for t in kept()] == [1, 2, 0]


def test_a_run_that_waits_for_a_person(memory, kept):
    def refund(order: int) -> str:
        """Refund an order."""
        return f"refunded by {interrupt('may I?')}"

    turns = AIMessage("", tool_calls=[{"name": "refund", "args": {"order": 17}, "id": "call-1"}]), "done"
    graph, _ = graph_of(*turns, tool=refund, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    with memory.attempt("refund order 17") as attempt:
        mine = remembering(attempt, graph)
        mine.invoke({"messages": "refund order 17"}, thread)
        mine.invoke(Command(resume="Ann"), thread)
        attempt.finish(success=True)
    [found] = kept()
    assert did(found) == [('refund({"order": 17})', "refunded by Ann"), ("done", "")]
    with pytest.raises(ConfigError, match="begin an attempt"):
        remembering(memory, graph).invoke(Command(resume="Ann"), thread)


def test_a_run_that_stops_for_a_person_alone_is_unknown(memory, kept):
    def refund(order: int) -> str:
        """Refund an order."""
        return interrupt("may I?")

    call = AIMessage("", tool_calls=[{"name": "refund", "args": {"order": 17}, "id": "call-1"}])
    graph, _ = graph_of(call, tool=refund, checkpointer=InMemorySaver())
    mine = remembering(memory, graph, check=lambda task, answer: True)
    mine.invoke({"messages": "refund order 17"}, {"configurable": {"thread_id": "1"}})
    assert [(t.outcome.success, t.outcome.reason) for t in kept()] == [(None, "unfinished")]


def test_a_run_that_breaks_off_is_kept(memory, kept):
    graph, _ = graph_of(LOOK, LOOK, LOOK)
    from langgraph.errors import GraphRecursionError

    with pytest.raises(GraphRecursionError):
        remembering(memory, graph).invoke({"messages": "refund order 17"}, {"recursion_limit": 2})
    [found] = kept()
    assert found.outcome.detail == "ended by GraphRecursionError"
    assert did(found) == [('lookup({"order": 17})', "shipped")]


def test_a_graph_whose_result_is_asked_for_in_updates_or_without_messages(memory, kept):
    graph, _ = graph_of("refused", "refused")
    mine = remembering(memory, graph)
    [update] = mine.invoke({"messages": "refund order 17"}, stream_mode="updates")
    assert list(update) == ["clerk"]
    assert mine.invoke({"messages": "refund order 18"}, output_keys=[]) is None
    assert [(t.task, t.outcome.reason) for t in kept()] == [
        ("refund order 17", "answered"),
        ("refund order 18", "reported"),
    ]


def plain(value):
    """Chunks without the ids that each run makes anew."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in ("id", "run_id", "checkpoint_ns")}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return (value.type, value.content) if hasattr(value, "content") else type(value).__name__


STREAMS = [
    {},
    {"stream_mode": "updates"},
    {"stream_mode": "values"},
    {"stream_mode": "messages"},
    {"stream_mode": ["updates", "messages"]},
    {"stream_mode": ["updates", "values"], "subgraphs": True},
    {"stream_mode": "updates", "subgraphs": True},
    {"stream_mode": "updates", "version": "v2"},
    {"stream_mode": ["values", "updates"], "version": "v2", "subgraphs": True},
]


@pytest.mark.parametrize("options", STREAMS, ids=str)
@pytest.mark.parametrize("later", [False, True])
def test_a_stream_has_the_chunks_of_the_graph(memory, kept, options, later):
    given = {"messages": [HumanMessage("refund order 17")]}

    async def chunks_of(graph):
        return [chunk async for chunk in graph.astream(given, **options)]

    graphs = graph_of(LOOK, "refused")[0], remembering(memory, graph_of(LOOK, "refused")[0])
    own, mine = (asyncio.run(chunks_of(g)) if later else list(g.stream(given, **options)) for g in graphs)
    assert plain(mine) == plain(own)
    assert len(own) >= 3
    [found] = kept()
    if "messages" in options.get("stream_mode", ""):  # the scripted model streams no calls
        assert [s.action for s in found.steps] == ["I look."]
        return
    assert did(found) == [('lookup({"order": 17})', "shipped"), ("refused", "")]
    assert found.outcome.answer == "refused"


def test_a_chunk_comes_before_the_next_step_is_made(memory, kept):
    graph, told = graph_of(LOOK, "refused")
    seen = [len(told) for _ in remembering(memory, graph).stream({"messages": "a"}, stream_mode="updates")]
    assert seen == [1, 1, 2]


def test_a_stream_that_is_left_is_kept_as_far_as_it_came(memory, kept):
    async def first_two(graph):
        stream = graph.astream({"messages": "a"}, stream_mode="updates")
        async for chunk in stream:
            if "tools" in chunk:
                break
        await stream.aclose()

    stream = remembering(memory, graph_of(LOOK, "refused")[0]).stream({"messages": "a"}, stream_mode="updates")
    assert [list(next(stream)) for _ in range(2)] == [["clerk"], ["tools"]]
    stream.close()
    asyncio.run(first_two(remembering(memory, graph_of(LOOK, "refused")[0])))
    for found in kept():
        assert (found.outcome.success, found.outcome.detail) == (None, "ended by StreamLeft")
        assert [s.action for s in found.steps] == ['lookup({"order": 17})']
    assert len(kept()) == 2


def test_events_a_config_and_a_graph_within_a_graph(taught, kept, rule):
    async def events(graph):
        return [event["event"] async for event in graph.astream_events({"messages": "one"}, version="v2")]

    graph, told = graph_of("refused", "refused", "refused")
    mine = remembering(taught, graph).with_config({"tags": ["mine"]})
    assert "on_chat_model_stream" in asyncio.run(events(mine))
    outer = StateGraph(MessagesState)
    outer.add_node("inner", mine)
    outer.add_edge(START, "inner")
    inner = outer.compile()
    assert inner.invoke({"messages": "two"})["messages"][-1].content == "refused"
    assert len(list(inner.stream({"messages": "three"}, stream_mode="updates", subgraphs=True))) == 2
    assert [(t.task, t.outcome.answer) for t in kept()] == [(task, "refused") for task in ("one", "two", "three")]
    assert all(rule in messages[0].content for messages in told)


def test_what_is_no_graph_is_refused(memory):
    with pytest.raises(ConfigError, match="compiled LangGraph graph"):
        remembering(memory, StateGraph(MessagesState))
