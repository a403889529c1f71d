"""A day with a memory: cases arrive one by one, and each is recorded, learned from, and recalled for the next.

Run it: python experiments/day.py [--attempts 200] [--seed 0] [--symbols 4] [--data FILE.jsonl] [--store day.db]
[--plot day.svg]
It uses EMOJI with private codes (several per feeling), the bundled model, and `Memory` with ExpNote. No case occurs
twice, so only notes can raise the share of solved cases; for comparison, the same agent tries every case with a memory
that never learns. After an interruption, it continues where it was.
"""

import argparse
import json
import random
import sys
from contextlib import closing, nullcontext
from pathlib import Path

from scipy.stats import mannwhitneyu

from seasoned import Memory
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.report.drawing import BLUE, GREY, rates_axis, svg
from seasoned.lab.report.measures import interval
from seasoned.lab.run.conditions import dialogue
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.opening import open_llm
from seasoned.store.sql import Store

BLOCK = 25
WITH, WITHOUT = "default", "without"
"""The namespaces of the memory that learns, and of the one that never does."""


def main(arguments=None, llm=None):
    """Run the day, print the results, and draw the curves."""
    args = parsed(arguments)
    options = {"symbols": "codes", "symbols_per_emotion": args.symbols, **({"data": args.data} if args.data else {})}
    benchmark = load_benchmark("emoji", options, seed=args.seed)
    recipe = make_recipe({"name": "day", "benchmark": {"name": "emoji", **options}, "llm": {"slots": 1}})
    tasks = [*benchmark.train, *benchmark.test]
    random.Random(args.seed).shuffle(tasks)
    retrieval = benchmark.retrieval
    settings = {"method": "expnote", "embedder": None}
    settings |= {"k": retrieval.k, "share": retrieval.share, "on": retrieval.on}
    with (
        nullcontext(llm) if llm else open_llm(recipe.llm) as model,
        closing(Store(args.store)) as store,
        Memory(store, namespace=WITH, **settings) as memory,
        Memory(store, namespace=WITHOUT, **settings) as without,
    ):
        live(memory, without, dialogue(recipe, benchmark, model, ()), benchmark, tasks[: args.attempts])
        solved, alone = ([bool(each.outcome.success) for each in m.pool.trajectories()] for m in (memory, without))
        notes = len(memory.lessons("note"))
    args.plot.write_text(draw(solved, alone), encoding="utf-8")
    results = {"notes": notes, **figures(solved), "without": figures(alone)}
    print(json.dumps({**results, "plot": str(args.plot)}))


def live(memory, without, agent, benchmark, tasks):
    """Make the attempts that the memories do not have yet, one after the other, and learn after each."""
    done = {each.task_id for each in memory.pool.trajectories()}
    done_without = {each.task_id for each in without.pool.trajectories()}
    left = [task for task in tasks if task.id not in done]
    with Watch(len(left)) as watch:
        watch.stage("day", len(left))
        for task in left:
            if task.id not in done_without:
                attempt_task(without, agent, benchmark, task, notes=False)
            watch.ended("day", attempt_task(memory, agent, benchmark, task))
            memory.learn()


def attempt_task(memory, agent, benchmark, task, notes=True):
    """One attempt with guidance before and during it, recorded step by step; with `notes`, the agent takes notes."""
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

        with closing(benchmark.make_env(notes)) as env:
            made = agent.run(task, env, attempt.guidance, advise)
        record(made)
        attempt.finish(success=made.outcome.success, answer=made.outcome.answer)
    return made


def figures(solved):
    """The number of solved attempts, in all and by block, and whether they come later than the others.

    The p is that of Mann and Whitney's one-sided test on the places of the solved attempts and of the others, which
    tests for a rise without choosing a cut.
    """
    places = [[place for place, right in enumerate(solved) if right is wanted] for wanted in (True, False)]
    rise = float(mannwhitneyu(*places, alternative="greater").pvalue) if all(places) else None
    blocks = [sum(part) for part in in_blocks(solved)]
    return {"attempts": len(solved), "solved": sum(solved), f"solved_by_{BLOCK}": blocks, "p_of_a_rise": rise}


def in_blocks(solved):
    """The attempts in parts of `BLOCK`."""
    return [solved[start : start + BLOCK] for start in range(0, len(solved), BLOCK)]


def draw(solved, alone):
    """The share of solved attempts by block with Wilson intervals, with and without learning, as SVG."""

    def plot(axes):
        for name, attempts, colour, above in (("learning", solved, BLUE, 8), ("without", alone, GREY, -15)):
            parts = in_blocks(attempts)
            ends = [min(BLOCK * (i + 1), len(attempts)) for i in range(len(parts))]
            shares = [100 * sum(part) / len(part) for part in parts]
            low, high = zip(*(interval(sum(part) / len(part), len(part)) for part in parts), strict=True)
            bounds = [[100 * x for x in side] for side in (low, high)]
            axes.fill_between(ends, *bounds, color=colour, alpha=0.16, linewidth=0)
            axes.plot(ends, shares, color=colour, marker="o", linewidth=2, label=name)
            for end, share in zip(ends, shares, strict=True):
                axes.annotate(f"{share:.0f}", (end, share), (0, above), textcoords="offset points", ha="center")
            axes.set_xticks(ends)
        axes.axhline(25, color="#888888", linestyle=":", linewidth=1)
        rates_axis(axes, f"solved, % of the last {BLOCK}", "attempts so far")

    rates = [", ".join(f"{100 * sum(part) / len(part):.0f} %" for part in in_blocks(each)) for each in (solved, alone)]
    words = f"Solved by blocks of {BLOCK} attempts: {rates[0]}; without learning {rates[1]}; chance is 25 %."
    return svg("day", words, 3.2, plot)


def parsed(arguments):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--symbols", type=int, default=4, help="codes per feeling: the more, the more to learn")
    parser.add_argument("--data", default="")
    parser.add_argument("--store", type=Path, default=Path("day.db"))
    parser.add_argument("--plot", type=Path, default=Path("day.svg"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
