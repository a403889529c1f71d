"""WebShop's goals, made from the products or written by people, and their tasks.

Always holds: a goal has a product of the catalogue, at least one attribute and a price limit above that product's
price; the numbers of goals follow WebShop's own order.
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
"""The seed with which WebShop shuffles its goals."""

NO_LIMIT = 1_000_000.0
STEPS_OF_PRICE = tuple(10.0 * i for i in range(1, 100))
MAX_PER_PRODUCT = 2000
"""The most goals per product, since combinations of options multiply."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One purchase to make: the shopper's instruction, and the product and conditions that judge it.

    `options` are pairs of name and value; in goals by people the names are "". `limit` is in US dollars.
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

    `attributes` has objects with `instruction` and `instruction_attributes` by ASIN; untrusted. `draw` is for
    `price_limit`.
    """
    goals: list[Goal] = []
    for asin, product in products.items():
        row = attributes.get(asin)
        if not isinstance(row, Mapping):
            continue
        instruction, wanted = text_of(row.get("instruction")), texts_of(row.get("instruction_attributes"))
        if not instruction or not wanted:
            continue
        limit, price = price_limit(product.price, draw)
        names = sorted(product.options)
        for values in itertools.islice(itertools.product(*(product.options[n] for n in names)), MAX_PER_PRODUCT):
            options = tuple(zip(names, values, strict=True))
            with_options = ", and ".join(f"{name}: {shown(value)}" for name, value in options)
            text = f"{instruction} with {with_options}{price}" if options else f"{instruction}{price}"
            goals.append(Goal(asin, text, wanted, options, limit))
    return goals


def human_goals(
    products: Mapping[str, Product], instructions: Mapping[str, Any], draw: random.Random | None = None
) -> list[Goal]:
    """The goals written by people, for the products of the catalogue.

    `instructions` has lists of objects with `instruction`, `instruction_attributes` and `instruction_options` by ASIN;
    untrusted. Goals without attributes are left out, as in WebShop.
    """
    goals: list[Goal] = []
    for asin, product in products.items():
        rows = instructions.get(asin)
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, Mapping):
                continue
            instruction = text_of(row.get("instruction")).strip(".")
            wanted = texts_of(row.get("instruction_attributes"))
            if instruction and wanted:
                limit, price = price_limit(product.price, draw)
                options = tuple(_pairs(row.get("instruction_options")))
                goals.append(Goal(asin, f"{instruction}{price}", wanted, options, limit))
    return goals


def price_limit(price: float, draw: random.Random | None = None) -> tuple[float, str]:
    """The price limit of a purchase in US dollars, and its part of the instruction.

    WebShop draws two of the next four tens above the price and takes the larger one. ExpeL took an average instead
    (appendix D.3); here it is the mean of the four. Near 1,000 dollars and above there is no limit.
    """
    above = [step for step in STEPS_OF_PRICE if step > price][:4]
    if len(above) < 2:
        return NO_LIMIT, ""
    limit = sum(above) / len(above) if draw is None else max(draw.sample(above, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def numbered(goals: Sequence[Goal]) -> list[Goal]:
    """The goals in WebShop's own order, in which its sessions number them."""
    order = list(goals)
    random.Random(ORDER_SEED).shuffle(order)
    return order


def as_task(number: int, goal: Goal, section: str) -> Task:
    """The task of a goal; the id contains its number in WebShop's order."""
    data = {
        "asin": goal.asin,
        "instruction": goal.text,
        "attributes": list(goal.attributes),
        "options": [list(pair) for pair in goal.options],
        "limit": goal.limit,
    }
    return Task(id=f"webshop-{number}", text=start_page(goal.text).text, category=section, data=data)


def goal_of(task: Task) -> Goal:
    """The goal of a task; DataError if the task is not from WebShop."""
    data = task.data
    try:
        options = tuple((str(name), str(value)) for name, value in data["options"])
        attributes = tuple(str(a) for a in data["attributes"])
        return Goal(str(data["asin"]), str(data["instruction"]), attributes, options, float(data["limit"]))
    except (KeyError, TypeError, ValueError) as e:
        raise DataError(f"the task {task.id!r} is not a task of the benchmark webshop: it has no goal ({e!r})") from e


def pools(tasks: Sequence[Task], seed: int, share: float) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The training and test pools, which share no product and no text; the seed draws the order.

    The products take turns: the first tasks of a pool are of different products, even if one product has many goals.

    Raises:
        ConfigError: `share` is not between 0 and 1.
        DataError: fewer than two products have goals.
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
    """The options of a goal by people: a list of values in most files, an object in some."""
    if isinstance(options, Mapping):
        return [(str(name).lower(), text_of(value).lower()) for name, value in options.items() if text_of(value)]
    return [("", text.lower()) for text in (texts_of(options) if options else ())]
