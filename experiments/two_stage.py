"""Two stages against scoring everything: what ERL's quick retrieval misses of the heuristics that a model would choose.

Run it: python experiments/two_stage.py [--model qwen | --base-url URL] [--heuristics 1000] [--tasks 10] [--k 20]
[--recall-first 200] [--room 2800] [--together 10] [--again 0] [--store two_stage.db] [--out two_stage.json]
The heuristics are put together from the goals of WebShop's generated catalogue, one from each product; the tasks are
goals of other products. For each task a model scores all heuristics in parts that fit its context, and ERL chooses
among the nearest `recall_first`, through the same prompts and without reasons in both. With `--again`, the first tasks
are scored a second time in another order of the heuristics: no retrieval can agree with a model more than it agrees
with itself. `--together` tasks take each part in turn, so that the server reads it once for all of them.

Results are written after each task, and replies are kept in the store: interrupted, it goes on where it was.
"""

import argparse
import json
import random
import sys
from contextlib import closing, nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from seasoned.benchmarks.webshop.catalogue import read_products
from seasoned.benchmarks.webshop.goals import as_task, synthetic_goals
from seasoned.benchmarks.webshop.made import make_catalogue
from seasoned.embed import embedder
from seasoned.errors import ParseError, SeasonedError
from seasoned.llm.journal import Journaled
from seasoned.methods.erl import ERL
from seasoned.methods.heuristic_book import as_item
from seasoned.methods.heuristics import Draft
from seasoned.pool import ExperiencePool
from seasoned.report.reliability import found_again, interval
from seasoned.report.text import count
from seasoned.retrieve.rank import parts, rank
from seasoned.runner.models import open_llm
from seasoned.runner.settings import LLMSettings
from seasoned.store.sql import Store
from seasoned.types import Lesson, Usage

FIRSTS = (40, 100, 200, 400)
"""How many the first stage might leave: what each would have kept is told by the scores of all."""

ABOUT = "Shopping in a web store: one searches, opens products, reads features, chooses options and buys once."
ADVICE = (
    (True, "{query} ({a}, {b}) are asked for", "search {query} {a}, open one whose title says {a}, then look for {b}"),
    (
        False,
        "{query} are asked for in {option} {value}",
        "click {value} before Buy Now; nothing else sets {option}",
    ),
    (True, "the first {query} of a page cost more than {limit}", "click Next > and take one below that which has {a}"),
    (False, "a title of {query} names {a} but not {b}", "open Features to look for {b}, else click < Prev and go on"),
    (False, "a search with all words for {query} finds other goods", "go Back to Search and send {query} {b} alone"),
    (True, "the price of {query} ({a}) is a range", "count its middle against the limit, then choose {option} {value}"),
    (True, "no title of {query} says {a}", "read the features too: {brand} tells of {a} and {b} only there"),
    (False, "two {query} are {a} and {b} alike", "take the one that offers {option} {value}, not the cheaper one"),
)
"""Whether such an attempt succeeded, when the advice holds, and what to do."""


class Watched:
    """A model, what it used, and the longest of its prompts in tokens (of one that was asked twice, the mean)."""

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
        """What was used, replies from the store as if they were new."""
        used = self.usage
        tokens = {"in": used.prompt_tokens, "cached": used.cached_tokens, "out": used.completion_tokens}
        calls = used.calls + used.replayed
        return {"calls": calls, **tokens, "seconds": round(used.seconds, 1), "longest": self.longest}


def main(arguments=None, llm=None):
    """Compare them task by task, write the results, print the table."""
    asked = parsed(arguments)
    lessons, tasks = made(asked.heuristics, asked.tasks, asked.seed)
    settings = LLMSettings(model=asked.model, base_url=asked.base_url, slots=1, context=asked.context, timeout=900)
    rows = []
    with nullcontext(llm) if llm else open_llm(settings) as model, closing(Store(asked.store)) as store:
        pool = filled(store, f"two-stage-{asked.heuristics}-{asked.tasks}-{asked.seed}", lessons, asked.embedder)

        def watched():
            return Watched(Journaled(model, store, f"two-stage {asked.base_url or 'local'}"))

        for start in range(0, len(tasks), asked.together):
            some = tasks[start : start + asked.together]
            everything = scored(asked, watched, pool, some, "all")
            again = scored(asked, watched, pool, some[: max(0, asked.again - start)], "all in another order", True)
            for task, (scores, spent) in zip(some, everything, strict=True):
                repeated = again[len(rows) - start] if len(rows) < asked.again else None
                rows.append(compared(asked, watched(), pool, task, scores, spent, repeated))
                figures = summed(rows, asked)
                told = {"model": model.name, "settings": {**vars(asked), "store": str(asked.store)}, "figures": figures}
                del told["settings"]["out"]
                asked.out.write_text(json.dumps({**told, "tasks": rows}, indent=1), encoding="utf-8")
                print(f"{len(rows)} of {len(tasks)} tasks are compared", file=sys.stderr, flush=True)
    Console(width=132).print(table(figures, f"{model.name}, {len(rows)} tasks, {asked.heuristics:,} heuristics"))


def method(asked, llm, retrieve, **more):
    """ERL as it is compared here."""
    told = {"about": ABOUT, "rank_room": asked.room, "reasons": False, "k": asked.k, **more}
    return ERL(llm, retrieve=retrieve, recall_first=asked.recall_first, **told)


def scored(asked, watched, pool, tasks, name, shuffled=False):
    """For each task, what a model scores of all heuristics {place: score}, best first, and what that used."""
    found = [(dict[int, int](), watched()) for _ in tasks]
    erl = method(asked, None, "all")
    lessons = erl.choose(tasks[0], pool) if tasks else []
    places = list(range(len(lessons)))
    if shuffled:
        random.Random(asked.seed).shuffle(places)
    cut = list(parts([as_item(lessons[place]) for place in places], asked.room))
    for turn, (start, part) in enumerate(cut, 1):
        print(f"{name}: part {turn} of {len(cut)} for {len(tasks)} tasks ..", file=sys.stderr, flush=True)
        for task, (scores, llm) in zip(tasks, found, strict=True):
            told = {"about": erl.about, "room": erl.rank_room, "max_tokens": erl.max_tokens, "reasons": erl.reasons}
            ranking = rank(llm, task.text, part, erl.k, **told)
            scores.update({places[start + each.place]: each.score for each in ranking.scored})
    return [(dict(sorted(scores.items(), key=lambda each: -each[1])), llm.spent()) for scores, llm in found]


def compared(asked, llm, pool, task, scores, spent, again):
    """One task: which heuristics each way chooses, and how many of the exhaustive ones it finds."""
    place = {lesson.id: n for n, lesson in enumerate(method(asked, None, "all").choose(task, pool))}
    best = list(scores)[: asked.k]
    least = scores[best[-1]] if best else 0

    def against(chosen, most):
        level = sum(scores.get(each, -1) >= least for each in chosen)
        return {"recall": found_again(chosen, best), "with_ties": min(most, level) / most if most else None}

    two = [place[lesson.id] for lesson in method(asked, llm, "two-stage").choose(task, pool)]
    near = [place[x.id] for x in method(asked, None, "embedding", k=len(place)).choose(task, pool)]
    ties = sum(score == least for score in scores.values())
    other = None if again is None else list(again[0])[: asked.k]
    return {
        "task": task.id,
        "text": task.text,
        "exhaustive": {"chosen": best, "least": least, "tied_with_least": ties, **spent},
        "again": None if again is None else {"chosen": other, **against(other, len(best)), **again[1]},
        "two-stage": {"chosen": two, **against(two, len(best)), **llm.spent()},
        "embedding": {str(n): against(near[:n], len(best)) for n in FIRSTS if n < len(place)},
        "scores": scores,
    }


def summed(rows, asked):
    """A figure for each way: mean recall with its interval over tasks, and the means of what it used."""
    figures = [{"what": "exhaustive", **used([row["exhaustive"] for row in rows])}]
    ways = {f"two-stage, {asked.recall_first} first": [row["two-stage"] for row in rows]}
    if any(row["again"] for row in rows):
        ways["exhaustive in another order"] = [row["again"] for row in rows if row["again"]]
    ways |= {f"the nearest {first}": [row["embedding"][first] for row in rows] for first in rows[0]["embedding"]}
    for what, own in ways.items():
        figure = {"what": what}
        for name in ("recall", "with_ties"):
            known = [each[name] for each in own if each[name] is not None]
            mean = sum(known) / len(known) if known else None
            figure |= {name: mean, f"{name}_interval": list(interval(mean or 0.0, len(known)))}
        figures.append(figure | used(own))
    return figures


def used(own):
    """Means over tasks of calls, tokens and seconds, and the longest prompt; nothing where no model was asked."""
    if "calls" not in own[0]:
        return {}
    means = {name: sum(each[name] for each in own) / len(own) for name in ("calls", "in", "cached", "out", "seconds")}
    return {**means, "longest": max(each["longest"] for each in own)}


def table(figures, title):
    """The figures as a table for the terminal."""
    shown = Table(title=f"Found again of what scoring everything chooses: {title}", title_justify="left")
    for column in ("", "recall", "counting ties", "calls", "tokens in", "cached", "out", "seconds", "longest prompt"):
        shown.add_column(column, justify="right" if column else "left", no_wrap=True)

    def share(figure, name):
        low, high = figure.get(f"{name}_interval", (0, 0))
        return "" if figure.get(name) is None else f"{figure[name]:.2f} [{low:.2f}, {high:.2f}]".replace("[", r"\[")

    for figure in figures:
        numbers = (figure.get(name) for name in ("calls", "in", "cached", "out", "seconds", "longest"))
        counts = ("" if number is None else count(round(number)) for number in numbers)
        shown.add_row(figure["what"], share(figure, "recall"), share(figure, "with_ties"), *counts)
    return shown


def made(heuristics, tasks, seed):
    """So many different heuristics (text, key, data), and goals of products that none of them comes from."""
    rows, attributes = make_catalogue(2 * (heuristics + tasks) + 60, seed)
    products, _ = read_products(rows, attributes)
    draw = random.Random(f"two-stage-{seed}")
    by_product = {}
    for goal in synthetic_goals(products, attributes):
        by_product.setdefault(goal.asin, []).append(goal)
    goals = [draw.choice(own) for own in by_product.values()]
    draw.shuffle(goals)
    wanted = [as_task(n, goal, products[goal.asin].section) for n, goal in enumerate(goals[:tasks])]
    lessons = {}
    for n, goal in enumerate(goals[tasks:], tasks):
        if len(lessons) == heuristics:
            return list(lessons.values()), wanted
        task = " ".join(as_task(n, goal, "").text.split())[:200]
        draft, success = advice(goal, products[goal.asin], draw)
        data = {"analysis": "", "trigger": draft.trigger, "action": draft.action, "success": success, "task": task}
        lessons.setdefault(draft.text, {"text": draft.text, "key": draft.trigger, "data": data})
    sys.exit(f"the catalogue gives {len(lessons)} heuristics beside {tasks} tasks, and {heuristics} were asked for")


def advice(goal, product, draw):
    """What an attempt at a goal might have taught, and whether that attempt succeeded."""
    option, value = goal.options[0] if goal.options else ("size", "as it comes")
    brand, limit = product.title.split()[0], f"{goal.limit:.0f} dollars"
    success, trigger, action = draw.choice(ADVICE)
    told = {"query": product.query, "brand": brand, "limit": limit, "option": option, "value": value}
    told |= dict(zip("ab", goal.attributes, strict=False))
    return Draft("", trigger.format(**told), action.format(**told)), success


def filled(store, scope, lessons, name):
    """The pool of these heuristics, each from an attempt of its own."""
    pool = ExperiencePool(store, scope, embedder=embedder(name))
    if not pool.lessons("heuristic"):
        same = {"kind": "heuristic", "method": "erl"}
        ids = (f"{scope}-{n}" for n in range(len(lessons)))
        named = [{"id": own, "sources": (f"of-{own}",), **lesson} for own, lesson in zip(ids, lessons)]
        pool.add([Lesson(**lesson, **same) for lesson in named])
    return pool


def parsed(arguments):
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local", help="qwen, smol, or the name that a server knows")
    parser.add_argument("--base-url", help="an OpenAI-compatible server; its key comes from the environment")
    parser.add_argument("--context", type=int, default=4096, help="tokens of the local model's context")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--seed", type=int, default=0)
    numbers = {"heuristics": 1000, "tasks": 10, "k": 20, "recall-first": 200, "room": 2800, "together": 10, "again": 0}
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--store", type=Path, default=Path("two_stage.db"))
    parser.add_argument("--out", type=Path, default=Path("two_stage.json"))
    asked = parser.parse_args(arguments)
    if min(asked.heuristics, asked.tasks, asked.k, asked.together) < 1 or asked.heuristics <= asked.k:
        parser.error("--tasks, --k and --together are 1 or more, and --heuristics more than --k")
    return asked


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SeasonedError, KeyboardInterrupt) as error:
        sys.exit(f"{str(error) or 'stopped'}\nWhat was done is kept: the same command goes on.")
