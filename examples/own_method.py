"""Your own method in an experiment, beside ExpNote. Run it: python examples/own_method.py

The store room and its model are those of own_benchmark.py. The method stores the right answer of each training task,
and recalls the answers about things in the task; `learn` and `recall` are all it needs.
"""

import re
from dataclasses import dataclass

from own_benchmark import model

from seasoned import Guidance, Lesson, ScriptedModel, Store, run
from seasoned.lab.run.acting import carrier
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.recipe import make_recipe
from seasoned.lab.run.rundir import read_summary


@dataclass
class Answers:
    def learn(self, trajectories, pool):
        for attempt in trajectories:
            thing = re.search(r"the (\w+)", attempt.task)[1]
            verdict = re.search(r"right answer is (.+)\.", "\n".join(step.observation for step in attempt.steps))
            if verdict:
                lesson = Lesson(kind="insight", text=f"{thing}: {verdict[1]}", sources=(attempt.id,), method="answers")
                pool.add(lesson, why="what was told in training")

    def recall(self, task, pool, progress=None):
        lessons = tuple(x for x in pool.lessons("insight") if x.text.partition(":")[0] in task.text)
        return Guidance(lessons=lessons, text="\n".join(f"- {lesson.text}" for lesson in lessons))


def answers(recipe, benchmark, llm):
    """Make the method."""
    return Answers()


# A recipe's `own_method:answers` is short for a condition with the agent of the other methods. A condition with your
# own agent, or with another name, is written out as here, and named `own_method:twice`.
twice = Condition("twice", "as `answers`, under a name of its own", carrier, answers, learns=True, acts=None)


if __name__ == "__main__":
    raw = {"name": "own", "benchmark": {"name": "own_benchmark:load"}, "train": 8, "test": 8, "embedder": "hashing"}
    raw |= {"conditions": ["disabled", "expnote", "own_method:answers", "own_method:twice"], "agent": {"style": "free"}}
    with Store("own_method.db") as store:
        folder = run(make_recipe(raw), store=store, llm=ScriptedModel(model), quiet=True)
    for condition in read_summary(folder).conditions:
        print(f"{condition.name:<9} {condition.successes} of {condition.n}")
