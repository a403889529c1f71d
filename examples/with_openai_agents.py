"""An agent of the OpenAI Agents SDK that remembers. Run it: python examples/with_openai_agents.py

It needs `pip install 'seasoned[openai-agents]'`, and no key: a function plays the model.
"""

import asyncio

from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

import seasoned
from agents import Agent, function_tool, set_tracing_disabled
from seasoned.adapters.openai_agents import remembering

REFLECTION = "I refunded before I knew the state of the order. Next time, look the order up first."


@function_tool
def lookup_order(order: int) -> str:
    """Look an order up."""
    return "shipped"


def clerk(call):
    """Refunds at once, unless its instructions tell it to look first."""
    if call.input[-1].get("type") == "function_call_output":
        said = assistant_message("refused")
    elif "look the order up" in (call.system_instructions or ""):
        said = function_call("lookup_order", {"order": 17}, call_id="1")
    else:
        said = assistant_message("refunded")
    return ModelStep(output=[said])


async def main():
    set_tracing_disabled(True)  # the SDK sends traces to OpenAI otherwise
    model = ScriptedModel([ModelStep.respond(clerk)] * 3)
    agent = Agent(name="clerk", instructions="You refund orders.", model=model, tools=[lookup_order])
    reflecting = seasoned.ScriptedModel([REFLECTION])
    with seasoned.Memory("with_openai_agents.db", method="reflexion", llm=reflecting, embedder="hashing") as memory:
        memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent
        runner = remembering(memory, check=lambda task, answer: answer == "refused")
        print("monday: ", (await runner.run(agent, "refund order 17")).final_output)
        print("learned:", memory.learn().lessons[0].text)
        print("tuesday:", (await runner.run(agent, "refund order 17")).final_output)


asyncio.run(main())
