"""Your own agent stops repeating yesterday's mistake. Run it: python examples/remember.py

The agent can be any function; here it follows its prompt exactly, and the model that reflects is scripted, so this
needs no key and no download. For a real model, use `llm="gpt-5-mini"`, or `llm="local"` for the bundled one.
"""

from seasoned import Memory, ScriptedModel

ORDERS = {"17": "shipped", "18": "open"}


def my_agent(task, system):
    """Refund at once, unless the prompt says to look first; return the answer and the steps."""
    order, steps = task.split()[-1], []
    if "look the order up" in system:
        steps.append((f"lookup_order({order})", ORDERS[order]))
        if ORDERS[order] == "shipped":
            return "refused", steps
    steps.append((f"refund({order})", "error: it was shipped" if ORDERS[order] == "shipped" else "done"))
    return "refunded", steps


def attempt(memory, task):
    """Make and record one attempt; return whether it succeeded."""
    with memory.attempt(task) as attempt:
        answer, steps = my_agent(task, system=attempt.guidance.text)
        for action, observation in steps:
            attempt.step(action=action, observation=observation)
        worked = "error" not in steps[-1][1]
        attempt.finish(success=worked, answer=answer)
    return worked


model = ScriptedModel(["I refunded before I knew the state of the order. Next time, look the order up first."])
with Memory("remember.db", method="reflexion", llm=model, embedder="hashing") as memory:
    memory.forget(everything=True)  # so that the example can be run again; leave this out in your own agent
    print("monday:   ", attempt(memory, "refund order 17"))
    learned = memory.learn()
    print("learned:  ", learned.lessons[0].text)
    print("tuesday:  ", attempt(memory, "refund order 17"))

    # A person can also add a lesson for all tasks, and undo it.
    print("another:  ", memory.recall("refund order 18").text or "nothing is known")
    memory.snapshot("before the advice")
    memory.add("Before any refund, look the order up.")
    print(memory.recall("refund order 18").text)
    memory.rollback("before the advice", why="it was only an example")
    print("afterwards:", memory.recall("refund order 18").text or "nothing is known")
