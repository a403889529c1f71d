"""WebShop: find the product that an instruction describes, choose its options and buy it (Yao et al. 2022).

An environment of our own over WebShop's public data, with pages, steps and prices as in ExpeL (appendix D.3); without
data, over a catalogue that is generated. Always holds: the two pools share no product, and every synthetic goal can be
won.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.base import Benchmark, check_options, find_data
from seasoned.lab.benchmarks.checks import Check
from seasoned.lab.benchmarks.webshop.catalogue import KINDS, find_files, read_json, read_products
from seasoned.lab.benchmarks.webshop.goals import as_task, goal_of, human_goals, numbered, pools, synthetic_goals
from seasoned.lab.benchmarks.webshop.made import make_catalogue
from seasoned.lab.benchmarks.webshop.pages import PER_PAGE, shown
from seasoned.lab.benchmarks.webshop.reward import alike, nouns
from seasoned.lab.benchmarks.webshop.search import TOP, make_search
from seasoned.lab.benchmarks.webshop.shop import STEPS, Shop, ShopEnvironment
from seasoned.lab.benchmarks.webshop.worked import worked
from seasoned.lab.benchmarks.worked import acting
from seasoned.types import Task

OPTIONS = {
    "data": "",
    "goals": "synthetic",
    "prices": "mean",
    "upstream_colors": False,
    "products": 300,
    "train_share": 0.5,
    "focus": False,
    "told": False,
}
FIRST = 1000
"""Goals that `check` counts apart: WebShop's first ones, whose number is known."""

_NAMED = 5


class _Opened(NamedTuple):
    shop: Shop
    tasks: tuple[Task, ...]
    source: str
    options: Mapping[str, Any]


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Loads WebShop.

    Args:
        options: `data` (a folder with WebShop's files; else $SEASONED_DATA/webshop; else generated), `goals`
            ("synthetic", or "human" where the folder has items_human_ins.json), `prices` ("mean" as in ExpeL, or
            "drawn" as in WebShop: prices of a range and price limits are drawn by the seed), `upstream_colors` (compare
            options as WebShop does, with its fault), `products` (how many are generated), `train_share` (of the
            products), `focus` (offer only the clicks that lead on to a purchase; see `webshop.focus`), `told` (an
            attempt that is learned from is told what it missed, not its score alone).
        seed: Decides the pools and their order, drawn prices, and the generated catalogue.

    Raises:
        ConfigError: An option is unknown or wrong.
        DataError: A file is missing or broken, or there are fewer than two products with a goal.
        MissingExtraError: A library of the extra `webshop` is not installed.
    """
    opened = _open(options, seed)
    return acting(
        "webshop",
        worked(opened.options["told"]),
        pools=pools(opened.tasks, seed, opened.options["train_share"]),
        max_turns=STEPS,
        make_env=partial(ShopEnvironment, opened.shop, focus=opened.options["focus"], told=opened.options["told"]),
        source=opened.source,
    )


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Plays every goal through the environment: searches for its product, chooses its options and buys.

    Args:
        options: As for `load`.
        seed: As for `load`.

    Returns:
        How many earned a reward of 1. With `upstream_colors`, goals that are won without it are the `unwinnable` ones.
        Its facts: on which page of results a goal's product is for the instruction, and the time of an episode.
    """
    opened = _open(options, seed)
    began = time.perf_counter()
    lost = _lost(opened.tasks, range(len(opened.tasks)), opened.shop)
    each = 1000 * (time.perf_counter() - began) / len(opened.tasks)
    problems: tuple[str, ...] = ()
    unwinnable = 0
    if lost:
        first, named = sum(number < FIRST for number in lost), ", ".join(f"webshop-{n}" for n in lost[:_NAMED])
        of = min(FIRST, len(opened.tasks))
        problems = (
            f"{first} of the first {of} goals earn less than 1 with the right product and options",
            f"these are among the {len(lost)} in all: {named}",
        )
    if lost and opened.shop.upstream_colors:
        unwinnable = len(lost) - len(_lost(opened.tasks, lost, replace(opened.shop, upstream_colors=False)))
        problems += (f"{unwinnable} of them are won without upstream_colors: that is WebShop's fault, not the data's",)
    facts = (_pages(opened), f"an episode, a search, the product, its options, its purchase, took {each:.1f} ms")
    return Check(len(opened.tasks) - len(lost), len(opened.tasks), problems, opened.source, unwinnable, facts)


def _open(options: Mapping[str, Any], seed: int) -> _Opened:
    """The catalogue and all goals, in WebShop's order."""
    set_to = check_options("webshop", options, OPTIONS)
    for name, known in (("goals", ("synthetic", "human")), ("prices", ("mean", "drawn"))):
        if set_to[name] not in known:
            raise ConfigError(f"benchmark.{name} should be {' or '.join(known)}, but is {set_to[name]!r}")
    paths = find_data("webshop", set_to["data"], (".json",))
    draw = random.Random(f"webshop-prices-{seed}") if set_to["prices"] == "drawn" else None
    people: Mapping[str, Any] | None = None
    reviews: Sequence[Any] = ()
    if paths:
        files = find_files(paths)
        rows, attributes = read_json(files["products"], list), read_json(files["attributes"], dict)
        reviews = read_json(files["reviews"], list) if "reviews" in files else ()
        people = read_json(files["human"], dict) if "human" in files and set_to["goals"] == "human" else None
        source = f"{files['products']}, {files['attributes'].name}"
    else:
        rows, attributes = make_catalogue(set_to["products"], seed)
        source = f"{set_to['products']} generated products"
    if set_to["goals"] == "human" and people is None:
        raise DataError(
            f"benchmark.goals is human, which needs WebShop's file {KINDS['human']}_ins.json beside the products"
        )
    products, left_out = read_products(rows, attributes, reviews, draw)
    made = synthetic_goals(products, attributes, draw) if people is None else human_goals(products, people, draw)
    if not made:
        raise DataError(f"there is no goal in {source}: no product has both an instruction and attributes")
    shop = Shop(products, make_search(products), set_to["upstream_colors"])
    _warm_up()
    tasks = tuple(as_task(number, goal, products[goal.asin].section) for number, goal in enumerate(numbered(made)))
    return _Opened(shop, tasks, source + (f"; rows left out: {left_out}" if left_out else ""), set_to)


def _warm_up() -> None:
    """Loads the libraries of the reward, so that the first purchase is as fast as the others."""
    nouns("a table")
    alike("a", "b")


def _lost(tasks: Sequence[Task], numbers: Iterable[int], shop: Shop) -> list[int]:
    """Those of the numbers whose tasks do not earn 1."""
    env = ShopEnvironment(shop, reveal=False)
    return [number for number in numbers if not _won(env, tasks[number], shop)]


def _pages(opened: _Opened) -> str:
    """On which page of the results for its whole instruction a goal's product is, as a sentence."""
    goals = [goal_of(task) for task in opened.tasks]
    found = {text: opened.shop.search(text) for text in {goal.text for goal in goals}}
    places = [found[goal.text].index(goal.asin) if goal.asin in found[goal.text] else TOP for goal in goals]
    first = [place for place in places[:100] if place < TOP]
    return (
        f"searched for by its whole instruction, the product is on page 1 for {sum(p < PER_PAGE for p in first)} of "
        f"the first {len(places[:100])} goals and within {TOP // PER_PAGE} pages for {len(first)}; of all, for "
        f"{sum(p < PER_PAGE for p in places) / len(places):.1%} and {sum(p < TOP for p in places) / len(places):.1%}"
    )


def _won(env: ShopEnvironment, task: Task, shop: Shop) -> bool:
    goal = goal_of(task)
    title = shop.products[goal.asin].title
    env.reset(task)
    info = env.step(f"search[{title}]")[4]
    while f"click[{goal.asin}]" not in info["choices"]:
        if "click[Next >]" not in info["choices"]:
            return False
        info = env.step("click[Next >]")[4]
    for action in (goal.asin, *(shown(value) for _, value in goal.options)):
        env.step(f"click[{action}]")
    return bool(env.step("click[Buy Now]")[4].get("success"))
