"""Two stages against scoring everything: which of the model's choices ERL's fast retrieval misses.

Run it: python experiments/two_stage.py [--model qwen | --base-url URL] [--heuristics 1000] [--tasks 10] [--k 20]
[--recall-first 200] [--slots 2] [--store two_stage.db] [--out two_stage.json]
The heuristics are made from the goals of WebShop's generated catalogue, one per product; the tasks are goals of other
products. For each task a model marks all heuristics, each in its own call, and ERL chooses among the nearest
`recall_first` by the same prompts. So the marks are the same, and only the first stage can lose heuristics. `--slots`
tasks are marked at a time. The share of chosen heuristics about the thing in the task is reported, too, since a
retrieval can agree with a model that is a bad judge.

Results are written after each task, and replies are stored: after an interruption, it continues where it was.
"""

import argparse
import json
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from seasoned.embed import embedder
from seasoned.errors import ParseError, SeasonedError
from seasoned.lab.benchmarks.webshop.catalogue import read_products
from seasoned.lab.benchmarks.webshop.generated import make_catalogue
from seasoned.lab.benchmarks.webshop.goals import as_task, synthetic_goals
from seasoned.lab.report.measures import interval
from seasoned.lab.run.settings import LLMSettings
from seasoned.llm.journal import Journaled
from seasoned.llm.opening import open_llm
from seasoned.methods.erl import ERL
from seasoned.methods.erl.book import as_item
from seasoned.methods.ranking import rank_each
from seasoned.pool import ExperiencePool
from seasoned.replies.heuristics import Draft
from seasoned.store.sql import Store
from seasoned.text import count
from seasoned.types import Lesson, Usage

FIRSTS = (40, 100, 200, 400)
"""Other sizes of the first stage; their recall follows from the scores of all heuristics."""

MOST = 300
"""The most tokens of a reply; the same in both ways, so that each mark is requested once."""

KIND = r"(?:looking for|find me|to buy|Show me) (.+?):"
"""Matches the thing that a task asks for."""

ABOUT = "Shopping in a web store: one searches, opens products, reads features, chooses options and buys once."
ADVICE = (
    (True, "{query} ({a}, {b}) are asked for", "search {query} {a}, open one whose title says {a}, then look for {b}"),
    (False, "{query} are asked for in {option} {value}", "click {value} before Buy Now; nothing else sets {option}"),
    (True, "the first {query} of a page cost more than {limit}", "click Next > and take one below that which has {a}"),
    (False, "a title of {query} names {a} but not {b}", "open Features to look for {b}, else click < Prev and go on"),
    (False, "a search with all words for {query} finds other goods", "go Back to Search and send {query} {b} alone"),
    (True, "the price of {query} ({a}) is a range", "count its middle against the limit, then choose {option} {value}"),
    (True, "no title of {query} says {a}", "read the features too: {brand} tells of {a} and {b} only there"),
    (False, "two {query} are {a} and {b} alike", "take the one that offers {option} {value}, not the cheaper one"),
)
"""Whether the attempt succeeded, the trigger and the action."""


class Watched:
    """A model with its usage and its longest prompt in tokens (for a repeated request, the mean)."""

    def __init__(self, llm):
        self.name, self.usage, self.longest, self._llm = llm.name, Usage(), 0, llm

    def chat(self, messages, **options):
        """The model's reply, counted."""
        try:
            reply = self._llm.chat(messages, **options)
        except ParseError as error:
            self._count(error.reply.usage)
            raise
        self._count(reply.usage)
        return reply

    def _count(self, usage):
        self.usage += usage
        self.longest = max(self.longest, round(usage.prompt_tokens / max(1, usage.calls + usage.replayed)))

    def spent(self):
        """The usage, with replies from the store as if they were new."""
        used = self.usage
        tokens = {"in": used.prompt_tokens, "cached": used.cached_tokens, "out": used.completion_tokens}
        calls = used.calls + used.replayed
        return {"calls": calls, **tokens, "seconds": round(used.seconds, 1), "longest": self.longest}


def main(arguments=None, llm=None):
    """Compare both ways task by task, write the results, and print the table."""
    args = parsed(arguments)
    lessons, tasks = made(args.heuristics, args.tasks, args.seed)
    settings = LLMSettings(
        model=args.model, base_url=args.base_url, slots=args.slots, context=args.context, timeout=900
    )
    rows = []
    with nullcontext(llm) if llm else open_llm(settings) as model, closing(Store(args.store)) as store:
        pool = filled(store, f"two-stage-{args.heuristics}-{args.tasks}-{args.seed}", lessons, args.embedder)

        def row(task):
            watched = [
                Watched(Journaled(model, store, f"two-stage {args.base_url or 'local'} {task.id}")) for _ in "12"
            ]
            return compared(args, *watched, pool, task)

        with ThreadPoolExecutor(args.slots) as threads:
            for one in threads.map(row, tasks):
                rows.append(one)
                figures = summed(rows, args)
                options = {**vars(args), "store": str(args.store)}
                del options["out"]
                result = {"model": model.name, "settings": options, "figures": figures, "tasks": rows}
                args.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
                print(f"{len(rows)} of {len(tasks)} tasks are compared", file=sys.stderr, flush=True)
    Console(width=132).print(table(figures, f"{model.name}, {len(rows)} tasks, {args.heuristics:,} heuristics"))


def method(args, llm, retrieve, **more):
    """ERL with the settings of the comparison."""
    settings = {"about": ABOUT, "reasons": False, "k": args.k, **more}
    return ERL(llm, retrieve=retrieve, recall_first=args.recall_first, **settings)


def compared(args, every, two, pool, task):
    """One task: the heuristics that each way chooses, and the share of the exhaustive choice among them."""
    lessons = method(args, None, "all").choose(task, pool)
    place = {lesson.id: n for n, lesson in enumerate(lessons)}
    ranking = rank_each(every, task.text, [as_item(lesson) for lesson in lessons], about=ABOUT, max_tokens=MOST)
    scores = {each.place: each.score for each in ranking.scored}
    best = list(scores)[: args.k]
    kind = re.search(KIND, task.text)[1]

    def against(chosen):
        about = sum(kind in lessons[each].text for each in chosen) / len(chosen) if chosen else None
        return {"recall": len({*chosen} & {*best}) / len(best) if best else None, "about": about}

    chosen = [place[lesson.id] for lesson in method(args, two, "two-stage").choose(task, pool)]
    near = [place[x.id] for x in method(args, None, "embedding", k=len(place)).choose(task, pool)]
    everything = {"recall": None, "about": against(best)["about"]}
    return {
        "task": task.id,
        "text": task.text,
        "exhaustive": {"chosen": best, **everything, **every.spent()},
        "two-stage": {"chosen": chosen, **against(chosen), **two.spent()},
        "embedding": {str(n): against(near[:n]) for n in (args.k, *FIRSTS) if n < len(place)},
        "scores": scores,
    }


def summed(rows, args):
    """A figure for each way: mean recall with its interval over tasks, and the mean usage."""
    ways = {"exhaustive": [row["exhaustive"] for row in rows]}
    ways[f"two-stage, {args.recall_first} first"] = [row["two-stage"] for row in rows]
    ways |= {f"the nearest {first}": [row["embedding"][first] for row in rows] for first in rows[0]["embedding"]}
    figures = []
    for what, results in ways.items():
        figure = {"what": what}
        for name in ("recall", "about"):
            known = [each[name] for each in results if each[name] is not None]
            mean = sum(known) / len(known) if known else None
            figure |= {name: mean, f"{name}_interval": list(interval(mean or 0.0, len(known)))}
        figures.append(figure | used(results))
    return figures


def used(results):
    """Means over tasks of calls, tokens and seconds, and the longest prompt; {} if no model was called."""
    if "calls" not in results[0]:
        return {}
    names = ("calls", "in", "cached", "out", "seconds")
    means = {name: sum(each[name] for each in results) / len(results) for name in names}
    return {**means, "longest": max(each["longest"] for each in results)}


def table(figures, title):
    """The figures as a table for the terminal."""
    shown = Table(title=f"Found again of what scoring everything chooses: {title}", title_justify="left")
    for column in ("", "recall", "about the thing", "calls", "tokens in", "cached", "out", "seconds", "longest prompt"):
        shown.add_column(column, justify="right" if column else "left", no_wrap=True)

    def share(figure, name):
        low, high = figure.get(f"{name}_interval", (0, 0))
        return "" if figure.get(name) is None else f"{figure[name]:.2f} [{low:.2f}, {high:.2f}]".replace("[", r"\[")

    for figure in figures:
        numbers = (figure.get(name) for name in ("calls", "in", "cached", "out", "seconds", "longest"))
        counts = ("" if number is None else count(round(number)) for number in numbers)
        shown.add_row(figure["what"], share(figure, "recall"), share(figure, "about"), *counts)
    return shown


def made(heuristics, tasks, seed):
    """Make different heuristics (text, key, data), and tasks from the goals of other products."""
    rows, attributes = make_catalogue(2 * (heuristics + tasks) + 60, seed)
    products, _ = read_products(rows, attributes)
    draw = random.Random(f"two-stage-{seed}")
    by_product = {}
    for goal in synthetic_goals(products, attributes):
        by_product.setdefault(goal.asin, []).append(goal)
    goals = [draw.choice(options) for options in by_product.values()]
    draw.shuffle(goals)
    chosen = [as_task(n, goal, products[goal.asin].section) for n, goal in enumerate(goals[:tasks])]
    lessons = {}
    for n, goal in enumerate(goals[tasks:], tasks):
        if len(lessons) == heuristics:
            return list(lessons.values()), chosen
        task = " ".join(as_task(n, goal, "").text.split())[:200]
        draft, success = advice(goal, products[goal.asin], draw)
        data = {"analysis": "", "trigger": draft.trigger, "action": draft.action, "success": success, "task": task}
        lessons.setdefault(draft.text, {"text": draft.text, "key": draft.trigger, "data": data})
    sys.exit(f"the catalogue gives {len(lessons)} heuristics beside {tasks} tasks, and {heuristics} were asked for")


def advice(goal, product, draw):
    """A possible lesson of an attempt at a goal, and whether the attempt succeeded."""
    option, value = goal.options[0] if goal.options else ("size", "as it comes")
    brand, limit = product.title.split()[0], f"{goal.limit:.0f} dollars"
    success, trigger, action = draw.choice(ADVICE)
    values = {"query": product.query, "brand": brand, "limit": limit, "option": option, "value": value}
    values |= dict(zip("ab", goal.attributes, strict=False))
    return Draft("", trigger.format(**values), action.format(**values)), success


def filled(store, scope, lessons, name):
    """The pool of these heuristics, each from its own attempt."""
    pool = ExperiencePool(store, scope, embedder=embedder(name))
    if not pool.lessons("heuristic"):
        same = {"kind": "heuristic", "method": "erl"}
        ids = (f"{scope}-{n}" for n in range(len(lessons)))
        named = [{"id": name, "sources": (f"of-{name}",), **lesson} for name, lesson in zip(ids, lessons)]
        pool.add([Lesson(**lesson, **same) for lesson in named])
    return pool


def parsed(arguments):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local", help="qwen, smol, or the name that a server knows")
    parser.add_argument("--base-url", help="an OpenAI-compatible server; its key comes from the environment")
    parser.add_argument("--context", type=int, default=2048, help="tokens of each slot of the local model")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--seed", type=int, default=0)
    numbers = {"heuristics": 1000, "tasks": 10, "k": 20, "recall-first": 200, "slots": 2}
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--store", type=Path, default=Path("two_stage.db"))
    parser.add_argument("--out", type=Path, default=Path("two_stage.json"))
    args = parser.parse_args(arguments)
    if min(args.heuristics, args.tasks, args.k, args.slots) < 1 or args.heuristics <= args.k:
        parser.error("--tasks, --k and --slots must be 1 or more, and --heuristics more than --k")
    return args


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SeasonedError, KeyboardInterrupt) as error:
        sys.exit(f"{str(error) or 'stopped'}\nFinished tasks are stored: repeat the command to continue.")
