"""An agent of your own that stops repeating yesterday's mistake. Run it: python examples/remember.py

The agent is any function; here it follows its prompt to the letter, and the model that reflects is scripted, so this
needs no key and no download. Put real ones in their place: `llm="gpt-5-mini"`, or `llm="local"` for the bundled model.
"""

from seasoned import Memory, ScriptedModel

ORDERS = {"17": "shipped", "18": "open"}


def my_agent(task, system):
    """Refunds at once, unless its prompt tells it to look first; gives its answer and what it did."""
    order, did = task.split()[-1], []
    if "look the order up" in system:
        did.append((f"lookup_order({order})", ORDERS[order]))
        if ORDERS[order] == "shipped":
            return "refused", did
    did.append((f"refund({order})", "error: it was shipped" if ORDERS[order] == "shipped" else "done"))
    return "refunded", did


def attempt(memory, task):
    """One attempt, recorded; what comes back is whether it worked."""
    with memory.attempt(task) as attempt:
        answer, did = my_agent(task, system=attempt.guidance.text)
        for action, observation in did:
            attempt.step(action=action, observation=observation)
        worked = "error" not in did[-1][1]
        attempt.finish(success=worked, answer=answer)
    return worked


model = ScriptedModel(["I refunded before I knew the state of the order. Next time, look the order up first."])
with Memory("remember.db", method="reflexion", llm=model, embedder="hashing") as memory:
    memory.forget(everything=True)  # so that the example can be run again; leave this out in an agent of yours
    print("monday:   ", attempt(memory, "refund order 17"))
    learned = memory.learn()
    print("learned:  ", learned.lessons[0].text)
    print("tuesday:  ", attempt(memory, "refund order 17"))

    # A person may say so too, for all tasks; and take it back.
    print("another:  ", memory.recall("refund order 18").text or "nothing is known")
    memory.snapshot("before the advice")
    memory.add("Before any refund, look the order up.")
    print(memory.recall("refund order 18").text)
    memory.rollback("before the advice", why="it was only an example")
    print("afterwards:", memory.recall("refund order 18").text or "nothing is known")
