"""The loop itself: attempt, record, learn, recall, evaluate. Run it: python examples/first_loop.py

The agent follows its guidance exactly, and the model that writes the lesson is scripted, so this needs no key.
"""

from functools import partial

from seasoned import ERL, ExperiencePool, Outcome, ScriptedModel, Step, Store, Task, Trajectory
from seasoned.loop import attempt, evaluate, learn, recall, record


class Desk:
    """The environment: a refund without looking the order up first is a failure."""

    def reset(self, task, *, seed=None):
        self.known = False
        return task.text, {}

    def step(self, action):
        self.known = self.known or action == "look it up"
        says = {"look it up": "It is open.", "refund": "Done." if self.known else "Error: it was shipped."}[action]
        return says, float(self.known), action == "refund", False, {"success": self.known}

    def close(self): ...


class Clerk:
    """The agent: refunds at once, unless its guidance says to look the order up first."""

    def run(self, task, env, guidance, advise=None):
        env.reset(task)
        actions = ["look it up", "refund"] if "look it up" in guidance.text else ["refund"]
        seen = [(action, *env.step(action)) for action in actions]
        steps = tuple(Step(action=action, observation=says) for action, says, *_ in seen)
        end = Outcome(success=seen[-1][-1]["success"], reason="answered")
        return Trajectory(task_id=task.id, task=task.text, steps=steps, outcome=end, guidance=guidance.text)


model = ScriptedModel([{"analysis": "It was shipped.", "trigger": "a refund is wanted", "action": "look it up first"}])
clerk, method, pool = Clerk(), ERL(model, retrieve="all"), ExperiencePool(Store("first_loop.db"), "desk")
tests = [Task(id=f"test-{order}", text=f"Refund order {order}.") for order in (18, 19, 20)]

print("before:", sum(made.outcome.success for made in evaluate(clerk, Desk, tests)), "of", len(tests))
monday = attempt(clerk, Desk(), Task(id="monday", text="Refund order 17."))
learn(method, record([monday], pool), pool)
print("learned:", pool.lessons()[-1].text)
tuesday = Task(id="tuesday", text="Refund order 21.")
again = attempt(clerk, Desk(), tuesday, partial(recall, method, tuesday, pool))
print("tuesday:", again.outcome.success)
print("after:", sum(made.outcome.success for made in evaluate(clerk, Desk, tests, method, pool)), "of", len(tests))
