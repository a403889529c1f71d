"""One good and one harmful lesson: watch the second retire. Run it: python examples/is_it_helping.py

The agent is scripted and needs no key. It succeeds in 6 of 10 cases, more often if it is told to look the order up, and
less often if it is told to promise a date. The held-out attempts are drawn again in each run, so figures differ.
"""

import random
from pathlib import Path

from seasoned import Memory

for file in Path().glob("is_it_helping.db*"):  # so that the example starts over; leave this out in your own agent
    file.unlink()
chance = random.Random(7)


def my_agent(system):
    """Whether an attempt with this prompt succeeds."""
    good, harmful = 0.35 * ("Look the order up" in system), 0.45 * ("Promise a date" in system)
    return chance.random() < 0.6 + good - harmful


coins = {"holdout": 0.2, "withhold": 0.5, "retire": "auto"}
with Memory("is_it_helping.db", method="expnote", embedder="hashing", **coins) as memory:
    good, harmful = memory.add(["Look the order up before a refund.", "Promise a date for every refund."])
    retired = False
    for day in range(1, 16):
        for _ in range(40):
            with memory.attempt("refund an order") as attempt:
                attempt.finish(success=my_agent(attempt.guidance.text))
        report = memory.effect()
        print(f"day {day:>2}: {report.verdict}, {report.overall}")
        if not retired and not memory.lessons(query="Promise a date"):
            retired = True
            change = memory.store.history(harmful.id)[-1]
            print(f"        {change.lesson.text!r} was {change.why}")

    for lesson in memory.effect().lessons:
        print(f"{lesson.status:>8}: {lesson.text} {lesson.effect}")
