"""WebShop: find the product that an instruction describes, choose its options and buy it (Yao et al. 2022).

Our own environment over WebShop's public data, with pages, steps and prices as in ExpeL (appendix D.3); without data,
over a generated catalogue. Always holds: the two pools share no product, and every synthetic goal can be won.

Options: `data` (a folder with WebShop's files; else $SEASONED_DATA/webshop; else generated), `goals` ("synthetic", or
"human" if the folder has items_human_ins.json), `prices` ("mean" as in ExpeL, or "drawn" as in WebShop: the seed draws
prices from ranges, and price limits), `upstream_colors` (compare options as WebShop does, with its bug), `products`
(the number of generated products), `sessions` (only the first goals in WebShop's own order, of which the papers take
100; 0: all), `train_share` (of the products), `focus` (offer only the clicks that lead towards a purchase; see
`pages.leading_on`), `told` (training attempts see what they missed, not only their score).
The seed decides the pools and their order, drawn prices, and the generated catalogue.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.benchmarks.act import act_benchmark
from seasoned.lab.benchmarks.base import Benchmark, Check, check_choice, check_options, check_range, find_data
from seasoned.lab.benchmarks.rows import read_json
from seasoned.lab.benchmarks.webshop.catalogue import FILES, TOP, find_files, make_search, read_products
from seasoned.lab.benchmarks.webshop.generated import MOST, make_catalogue
from seasoned.lab.benchmarks.webshop.goals import (
    alike,
    as_task,
    goal_of,
    human_goals,
    nouns,
    numbered,
    pools,
    synthetic_goals,
)
from seasoned.lab.benchmarks.webshop.pages import PER_PAGE, shown
from seasoned.lab.benchmarks.webshop.shop import CALLS, STEPS, Shop, ShopEnvironment, read_words
from seasoned.types import Task

OPTIONS = {
    "data": "",
    "goals": "synthetic",
    "prices": "mean",
    "upstream_colors": False,
    "products": 300,
    "sessions": 0,
    "train_share": 0.5,
    "focus": False,
    "told": False,
}
FIRST = 1000
"""The number of WebShop's first goals, which `check` counts separately."""


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load WebShop; see `load_benchmark`."""
    shop, tasks, source, settings = _open(options, seed)
    return act_benchmark(
        "webshop",
        read_words(settings["told"]),
        pools=pools(tasks, seed, settings["train_share"]),
        max_turns=STEPS,
        make_env=partial(ShopEnvironment, shop, focus=settings["focus"], told=settings["told"]),
        source=source,
        calls=CALLS,
    )


def check(options: Mapping[str, Any], *, seed: int = 0) -> Check:
    """Play every goal through the environment: search for its product, choose its options and buy it.

    With `upstream_colors`, the goals that can be won only without it are counted as `unwinnable`. The facts are the
    results page of a goal's product when searching for its instruction, and the time of an episode.
    """
    shop, tasks, source, _ = _open(options, seed)
    begin = time.perf_counter()
    lost = [number for number, task in enumerate(tasks) if not _won(task, shop)]
    milliseconds = 1000 * (time.perf_counter() - begin) / len(tasks)
    problems, unwinnable = [], 0
    if lost:
        first, names = sum(number < FIRST for number in lost), ", ".join(tasks[number].id for number in lost[:5])
        problems = [
            f"{first} of the first {min(FIRST, len(tasks))} goals earn less than 1 with the right product and options",
            f"{len(lost)} goals in all do, among them {names}",
        ]
    if lost and shop.upstream_colors:
        repaired = replace(shop, upstream_colors=False)
        unwinnable = sum(_won(tasks[number], repaired) for number in lost)
        problems.append(f"{unwinnable} of them are won without upstream_colors: this is WebShop's bug, not the data's")
    took = f"an episode, with a search, a product, its options and its purchase, took {milliseconds:.1f} ms"
    facts = (_pages(shop, tasks), took)
    return Check(len(tasks) - len(lost), len(tasks), tuple(problems), source, unwinnable, facts)


def _open(options: Mapping[str, Any], seed: int) -> tuple[Shop, tuple[Task, ...], str, dict[str, Any]]:
    """The shop, the tasks of all goals in WebShop's order, their source, and all options with their defaults."""
    settings = check_options("webshop", options, OPTIONS)
    check_choice(settings, "goals", ("synthetic", "human"))
    check_choice(settings, "prices", ("mean", "drawn"))
    paths = find_data("webshop", settings["data"], (".json",))
    draw = random.Random(f"webshop-prices-{seed}") if settings["prices"] == "drawn" else None
    files = find_files(paths) if paths else {}
    if settings["goals"] == "human" and "human" not in files:
        raise DataError(
            f"benchmark.goals is human, which needs WebShop's file {FILES['human']}_ins.json beside the products"
        )
    if files:
        rows, attributes = read_json(files["products"], list), read_json(files["attributes"], dict)
        source = f"{files['products']}, {files['attributes'].name}"
    else:
        check_range(settings, "products", 2, MOST)
        rows, attributes = make_catalogue(settings["products"], seed)
        source = f"{settings['products']} generated products"
    reviews = read_json(files["reviews"], list) if "reviews" in files else ()
    products, left_out = read_products(rows, attributes, reviews, draw)
    if settings["goals"] == "human":
        goals = human_goals(products, read_json(files["human"], dict), draw)
    else:
        goals = synthetic_goals(products, attributes, draw)
    if not goals:
        raise DataError(f"there is no goal in {source}: no product has both an instruction and attributes")
    shop = Shop(products, make_search(products), settings["upstream_colors"])
    # Load the libraries of the reward now, to report a missing one before the first purchase.
    nouns("a table")
    alike("a", "b")
    tasks = tuple(as_task(number, goal, products[goal.asin].section) for number, goal in enumerate(numbered(goals)))
    check_range(settings, "sessions", 0, len(tasks))
    tasks = tasks[: settings["sessions"] or len(tasks)]
    return shop, tasks, source + (f"; rows left out: {left_out}" if left_out else ""), settings


def _pages(shop: Shop, tasks: Sequence[Task]) -> str:
    """A sentence about the results page of a goal's product when searching for its whole instruction."""
    goals = [goal_of(task) for task in tasks]
    results = {text: shop.search(text) for text in {goal.instruction for goal in goals}}
    places = [
        results[goal.instruction].index(goal.asin) if goal.asin in results[goal.instruction] else TOP for goal in goals
    ]
    on_pages = [place for place in places[:100] if place < TOP]
    return (
        f"searched for by its whole instruction, the product is on page 1 for {sum(p < PER_PAGE for p in on_pages)} of "
        f"the first {len(places[:100])} goals and within {TOP // PER_PAGE} pages for {len(on_pages)}; of all, for "
        f"{sum(p < PER_PAGE for p in places) / len(places):.1%} and {sum(p < TOP for p in places) / len(places):.1%}"
    )


def _won(task: Task, shop: Shop) -> bool:
    """Whether the right product with the right options earns 1."""
    goal, env = goal_of(task), ShopEnvironment(shop, reveal=False)
    env.reset(task)
    info = env.step(f"search[{shop.products[goal.asin].title}]")[4]
    while f"click[{goal.asin}]" not in info["choices"]:
        if "click[Next >]" not in info["choices"]:
            return False
        info = env.step("click[Next >]")[4]
    for action in (goal.asin, *(shown(value) for _, value in goal.options)):
        env.step(f"click[{action}]")
    return bool(env.step("click[Buy Now]")[4].get("success"))
