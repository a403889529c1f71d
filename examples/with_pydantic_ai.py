"""An agent of PydanticAI that remembers. Run it: python examples/with_pydantic_ai.py

It needs `pip install 'seasoned[pydantic-ai]'`, and no key: a function plays the model.
"""

import asyncio

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from seasoned import Memory, ScriptedModel
from seasoned.adapters.pydantic_ai import remembering

REFLECTION = "I refunded before I knew the state of the order. Next time, look the order up first."


def clerk(messages, info):
    """Refunds at once, unless its instructions tell it to look first."""
    if messages[-1].parts[-1].part_kind == "tool-return":
        said = TextPart("refused")
    elif "look the order up" in (info.instructions or ""):
        said = ToolCallPart("lookup_order", {"order": 17})
    else:
        said = TextPart("refunded")
    return ModelResponse(parts=[said])


async def main():
    with Memory(
        "with_pydantic_ai.db", method="reflexion", llm=ScriptedModel([REFLECTION]), embedder="hashing"
    ) as memory:
        memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent
        remembers = remembering(memory, check=lambda task, answer: answer == "refused")
        agent = Agent(FunctionModel(clerk), instructions="You refund orders.", capabilities=[remembers])

        @agent.tool_plain
        def lookup_order(order: int) -> str:
            return "shipped"

        print("monday: ", (await agent.run("refund order 17")).output)
        print("learned:", memory.learn().lessons[0].text)
        print("tuesday:", (await agent.run("refund order 17")).output)


asyncio.run(main())
