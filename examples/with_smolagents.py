"""An agent of smolagents that remembers. Run it: python examples/with_smolagents.py

It needs `pip install 'seasoned[smolagents]'`, and no key: a class plays the model.
"""

from smolagents import ChatMessage, CodeAgent, Model, tool

from seasoned import Memory, ScriptedModel
from seasoned.adapters.smolagents import remembering

REFLECTION = "I refunded before I knew the state of the order. Next time, look the order up first."


@tool
def lookup_order(order: int) -> str:
    """Look an order up.

    Args:
        order: its number.
    """
    return "shipped"


class Clerk(Model):
    """Refunds at once, unless its prompt tells it to look first."""

    def generate(self, messages, **options):
        code = "final_answer('refunded')"
        if "look the order up" in str(messages[0].content):
            code = "state = lookup_order(17)\nfinal_answer('refused' if state == 'shipped' else 'refunded')"
        return ChatMessage(role="assistant", content=f"Now this.\n<code>\n{code}\n</code>")


with Memory("with_smolagents.db", method="reflexion", llm=ScriptedModel([REFLECTION]), embedder="hashing") as memory:
    memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent
    plain = CodeAgent(tools=[lookup_order], model=Clerk(), verbosity_level=0)
    agent = remembering(memory, plain, check=lambda task, answer: answer == "refused")
    print("monday: ", agent.run("refund order 17"))
    print("learned:", memory.learn().lessons[0].text)
    print("tuesday:", agent.run("refund order 17"))
