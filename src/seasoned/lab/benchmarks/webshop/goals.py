"""What to buy: WebShop's goals, made from the products or written by people, and the tasks they become.

Always holds: a goal names a product of the catalogue, at least one attribute and a price limit above that product's
price; goals are numbered in the order in which WebShop's own sessions count them.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.benchmarks.base import check_share, distinct, in_turns, middle_of
from seasoned.lab.benchmarks.webshop.catalogue import Product, text_of, texts_of
from seasoned.lab.benchmarks.webshop.pages import shown, start_page
from seasoned.types import Task

ORDER_SEED = 233
"""What WebShop shuffles its goals by."""

NO_LIMIT = 1_000_000.0
STEPS_OF_PRICE = tuple(10.0 * i for i in range(1, 100))
MAX_PER_PRODUCT = 2000
"""Goals made from one product at most: options multiply."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One purchase to make: the text a shopper is given, and what it is judged by.

    `options` are pairs of name and value; a person's goal names no option, so that the names are "". `limit` is in US
    dollars.
    """

    asin: str
    text: str
    attributes: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    limit: float = NO_LIMIT


def synthetic_goals(
    products: Mapping[str, Product], attributes: Mapping[str, Any], draw: random.Random | None = None
) -> list[Goal]:
    """One goal for each product that has an instruction and each combination of its options.

    `attributes` are, by ASIN, objects with `instruction` and `instruction_attributes`; untrusted. `draw` is that of
    `price_limit`.
    """
    goals: list[Goal] = []
    for asin, product in products.items():
        row = attributes.get(asin)
        if not isinstance(row, Mapping):
            continue
        said, wanted = text_of(row.get("instruction")), texts_of(row.get("instruction_attributes"))
        if not said or not wanted:
            continue
        limit, price = price_limit(product.price, draw)
        names = sorted(product.options)
        for values in itertools.islice(itertools.product(*(product.options[n] for n in names)), MAX_PER_PRODUCT):
            options = tuple(zip(names, values, strict=True))
            with_options = ", and ".join(f"{name}: {shown(value)}" for name, value in options)
            text = f"{said} with {with_options}{price}" if options else f"{said}{price}"
            goals.append(Goal(asin, text, wanted, options, limit))
    return goals


def human_goals(
    products: Mapping[str, Product], instructions: Mapping[str, Any], draw: random.Random | None = None
) -> list[Goal]:
    """The goals that people wrote, for the products of the catalogue.

    `instructions` are, by ASIN, lists of objects with `instruction`, `instruction_attributes` and
    `instruction_options`; untrusted. One without attributes is left out, as in WebShop.
    """
    goals: list[Goal] = []
    for asin, product in products.items():
        rows = instructions.get(asin)
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, Mapping):
                continue
            said = text_of(row.get("instruction")).strip(".")
            wanted = texts_of(row.get("instruction_attributes"))
            if said and wanted:
                limit, price = price_limit(product.price, draw)
                goals.append(Goal(asin, f"{said}{price}", wanted, tuple(_pairs(row.get("instruction_options"))), limit))
    return goals


def price_limit(price: float, draw: random.Random | None = None) -> tuple[float, str]:
    """The most a purchase may cost in US dollars, and how the instruction says so.

    WebShop draws two of the next four tens above the price and takes the larger one. ExpeL took the average in place of
    what is drawn (appendix D.3): here that is the mean of those four. Near 1,000 dollars and above there is no limit.
    """
    above = [step for step in STEPS_OF_PRICE if step > price][:4]
    if len(above) < 2:
        return NO_LIMIT, ""
    limit = sum(above) / len(above) if draw is None else max(draw.sample(above, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def numbered(goals: Sequence[Goal]) -> list[Goal]:
    """The goals in the order in which WebShop's sessions count them."""
    order = list(goals)
    random.Random(ORDER_SEED).shuffle(order)
    return order


def as_task(number: int, goal: Goal, section: str) -> Task:
    """The task of a goal; its number in WebShop's order is part of the id."""
    data = {
        "asin": goal.asin,
        "instruction": goal.text,
        "attributes": list(goal.attributes),
        "options": [list(pair) for pair in goal.options],
        "limit": goal.limit,
    }
    return Task(id=f"webshop-{number}", text=start_page(goal.text).text, category=section, data=data)


def goal_of(task: Task) -> Goal:
    """The goal of a task; DataError if it is not one of WebShop."""
    data = task.data
    try:
        options = tuple((str(name), str(value)) for name, value in data["options"])
        attributes = tuple(str(a) for a in data["attributes"])
        return Goal(str(data["asin"]), str(data["instruction"]), attributes, options, float(data["limit"]))
    except (KeyError, TypeError, ValueError) as e:
        raise DataError(f"the task {task.id!r} is no task of the benchmark webshop: it has no goal ({e!r})") from e


def pools(tasks: Sequence[Task], seed: int, share: float) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Two pools, training and test, that share no product and no text, in an order drawn by the seed.

    The products take turns: the first tasks of a pool are of different products, however many goals one product has.

    Raises:
        ConfigError: `share` is not between 0 and 1.
        DataError: There are fewer than two products with goals.
    """
    check_share(share)
    by_product: defaultdict[str, list[Task]] = defaultdict(list)
    for task in distinct(tasks, lambda task: task.text):
        by_product[task.data["asin"]].append(task)
    if len(by_product) < 2:
        raise DataError(f"the benchmark webshop needs at least 2 products with a goal, but has {len(by_product)}")
    rng = random.Random(f"webshop-{seed}")
    groups = [by_product[asin] for asin in sorted(by_product)]
    rng.shuffle(groups)
    for group in groups:
        rng.shuffle(group)
    middle = middle_of(groups, share)
    return tuple(in_turns(groups[:middle])), tuple(in_turns(groups[middle:]))


def _pairs(options: Any) -> Iterable[tuple[str, str]]:
    """The options of a person's goal: a list of values in most files, in some an object."""
    if isinstance(options, Mapping):
        return [(str(name).lower(), text_of(value).lower()) for name, value in options.items() if text_of(value)]
    return [("", text.lower()) for text in (texts_of(options) if options else ())]
