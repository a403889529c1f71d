"""A plain function that remembers. Run it: python examples/with_function.py

The agent follows its guidance exactly, and the model that reflects is scripted, so this needs no key.
"""

from seasoned import Memory, ScriptedModel
from seasoned.adapters.decorator import remembering

ORDERS = {"17": "shipped", "18": "open"}
REFLECTION = "I refunded before I knew the state of the order. Next time, look the order up first."

with Memory("with_function.db", method="reflexion", llm=ScriptedModel([REFLECTION]), embedder="hashing") as memory:
    memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent

    @remembering(memory, check=lambda task, answer: answer == "refused")
    def clerk(task, guidance="", attempt=None):
        """Refunds at once, unless its guidance tells it to look first."""
        order = task.split()[-1]
        if "look the order up" in guidance:
            attempt.step(action=f"lookup_order({order})", observation=ORDERS[order])
            if ORDERS[order] == "shipped":
                return "refused"
        attempt.step(action=f"refund({order})", observation="error: it was shipped")
        return "refunded"

    print("monday: ", clerk("refund order 17"))
    print("learned:", memory.learn().lessons[0].text)
    print("tuesday:", clerk("refund order 17"))
    print(memory.recall("refund order 17").text)
