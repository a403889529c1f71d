"""A day with a memory: cases arrive one by one, and each is recorded, learned from, and recalled for the next.

Run it: python experiments/day.py [--attempts 200] [--seed 0] [--data FILE.jsonl] [--store day.db] [--plot day.svg]
EMOJI with private codes, the bundled model, `Memory` with ExpNote. No case comes twice, so the part that is solved can
rise through the notes alone. Interrupted, it goes on where it was.
"""

import argparse
import json
import random
import sys
from contextlib import closing, nullcontext
from pathlib import Path

from seasoned import Memory
from seasoned.benchmarks import load_benchmark
from seasoned.report.drawing import BLUE, rates_axis, svg
from seasoned.report.stats import wilson
from seasoned.runner.conditions import dialogue
from seasoned.runner.models import open_llm
from seasoned.runner.progress import Watch
from seasoned.runner.recipe import make_recipe

BLOCK = 25


def main(arguments=None, llm=None):
    """Live the day, print how it went, draw the curve."""
    asked = parsed(arguments)
    options = {"symbols": "codes", **({"data": asked.data} if asked.data else {})}
    benchmark = load_benchmark("emoji", options, seed=asked.seed)
    recipe = make_recipe({"name": "day", "benchmark": {"name": "emoji", **options}, "llm": {"slots": 1}})
    tasks = [*benchmark.train, *benchmark.test]
    random.Random(asked.seed).shuffle(tasks)
    found = benchmark.retrieval
    told = {"k": found.k, "share": found.share, "on": found.on}
    with (
        nullcontext(llm) if llm else open_llm(recipe.llm) as model,
        Memory(asked.store, method="expnote", embedder=None, **told) as memory,
    ):
        live(memory, dialogue(recipe, benchmark, model, ()), benchmark, tasks[: asked.attempts])
        made = memory.pool.trajectories()
        notes = len(memory.lessons("note"))
    solved = [bool(each.outcome.success) for each in made]
    asked.plot.write_text(draw(solved), encoding="utf-8")
    blocks = [sum(part) for part in in_blocks(solved)]
    said = {"attempts": len(solved), "solved": sum(solved), f"solved_by_{BLOCK}": blocks, "notes": notes}
    print(json.dumps({**said, "plot": str(asked.plot)}))


def live(memory, agent, benchmark, tasks):
    """Make the attempts that the memory does not hold yet, one after the other, learning after each."""
    done = {each.task_id for each in memory.pool.trajectories()}
    left = [task for task in tasks if task.id not in done]
    with Watch(len(left)) as watch:
        watch.stage("day", len(left))
        for task in left:
            watch.ended("day", attempted(memory, agent, benchmark, task))
            memory.learn()


def attempted(memory, agent, benchmark, task):
    """One attempt: guidance before it and on the way, every step recorded, the outcome."""
    recorded = 0
    with memory.attempt(task, agent=agent.name) as attempt:

        def record(trajectory):
            nonlocal recorded
            for step in trajectory.steps[recorded:]:
                attempt.step(step.action, step.observation, step.thought)
            recorded = len(trajectory.steps)

        def advise(progress):
            record(progress)
            return attempt.advise()

        with closing(benchmark.make_env(True)) as env:
            made = agent.run(task, env, attempt.guidance, advise)
        record(made)
        attempt.finish(success=made.outcome.success, answer=made.outcome.answer)
    return made


def in_blocks(solved):
    """The attempts in parts of `BLOCK`."""
    return [solved[start : start + BLOCK] for start in range(0, len(solved), BLOCK)]


def draw(solved):
    """The part solved of each block of attempts with its Wilson interval, as SVG."""
    parts = in_blocks(solved)
    ends = [min(BLOCK * (i + 1), len(solved)) for i in range(len(parts))]
    rates = [100 * sum(part) / len(part) for part in parts]
    low, high = zip(*(wilson(sum(part), len(part)) for part in parts), strict=True)

    def plot(axes):
        axes.fill_between(ends, [100 * x for x in low], [100 * x for x in high], color=BLUE, alpha=0.16, linewidth=0)
        axes.plot(ends, rates, color=BLUE, marker="o", linewidth=2)
        for end, rate in zip(ends, rates, strict=True):
            axes.annotate(f"{rate:.0f}", (end, rate), (0, 8), textcoords="offset points", ha="center")
        axes.axhline(25, color="#888888", linestyle=":", linewidth=1)
        axes.set_xticks(ends)
        axes.set_xlabel("attempts so far")
        axes.set_ylabel(f"solved, % of the last {BLOCK}")
        rates_axis(axes, horizontal=False)

    words = f"Solved by blocks of {BLOCK} attempts: {', '.join(f'{rate:.0f} %' for rate in rates)}; chance is 25 %."
    return svg("day", words, 3.2, plot)


def parsed(arguments):
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="")
    parser.add_argument("--store", type=Path, default=Path("day.db"))
    parser.add_argument("--plot", type=Path, default=Path("day.svg"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
