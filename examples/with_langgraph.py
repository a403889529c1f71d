"""A graph of LangGraph that remembers. Run it: python examples/with_langgraph.py

It needs `pip install 'seasoned[langgraph]'`, and no key: a function plays the model.
"""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from seasoned import Memory, ScriptedModel
from seasoned.adapters.langgraph import remembering

REFLECTION = "I refunded before I knew the state of the order. Next time, look the order up first."


def lookup_order(order: int) -> str:
    """Look an order up."""
    return "shipped"


def clerk(state):
    """Refunds at once, unless its prompt tells it to look first; a model would be asked here."""
    first, last = state["messages"][0], state["messages"][-1]
    if last.type == "tool":
        return {"messages": [AIMessage("refused")]}
    if "look the order up" in first.content:
        call = {"name": "lookup_order", "args": {"order": 17}, "id": "1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}
    return {"messages": [AIMessage("refunded")]}


builder = StateGraph(MessagesState)
builder.add_node(clerk)
builder.add_node("tools", ToolNode([lookup_order]))
builder.add_edge(START, "clerk")
builder.add_conditional_edges("clerk", tools_condition)
builder.add_edge("tools", "clerk")

with Memory("with_langgraph.db", method="reflexion", llm=ScriptedModel([REFLECTION]), embedder="hashing") as memory:
    memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent
    graph = remembering(memory, builder.compile(), check=lambda task, answer: answer == "refused")
    print("monday: ", graph.invoke({"messages": "refund order 17"})["messages"][-1].content)
    print("learned:", memory.learn().lessons[0].text)
    print("tuesday:", graph.invoke({"messages": "refund order 17"})["messages"][-1].content)
