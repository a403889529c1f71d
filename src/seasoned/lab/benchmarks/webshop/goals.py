"""WebShop's goals, made from the products or written by people, their tasks, and the reward of a purchase.

r = r_type * (attributes matched + options matched + [price <= limit]) / (attributes + options + 1) (ExpeL, equation 1).
Always holds: a goal has a product of the catalogue, at least one attribute and a price limit above that product's
price; the numbers of goals follow WebShop's own order; a reward is from 0 to 1; the product that a goal was made from
earns 1 with the goal's options, except with WebShop's own comparison of colours (`upstream_colors`).
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from seasoned.errors import DataError, MissingExtraError
from seasoned.lab.benchmarks.base import DATA, check_share, distinct, in_turns, middle_of
from seasoned.lab.benchmarks.webshop.catalogue import Product, text_of, texts_of
from seasoned.lab.benchmarks.webshop.pages import shown, start_page
from seasoned.types import Task

ORDER_SEED = 233
"""The seed with which WebShop shuffles its goals."""

NO_LIMIT = 1_000_000.0
MAX_PER_PRODUCT = 2000
"""The most goals per product, since combinations of options multiply."""

ALIKE = 85
"""Texts with a higher token-set ratio match."""

SAME_PATH = 2
"""Products with this many common parts of their category paths have the same category."""

KIND = "the kind of thing that was asked for"
PRICE = "the price limit"


@dataclass(frozen=True, slots=True)
class Goal:
    """One purchase to make: the shopper's instruction, and the product and conditions that judge it.

    `options` are pairs of name and value; in goals by people the names are "". `limit` is in US dollars.
    """

    asin: str
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    limit: float = NO_LIMIT


_DATA = TypeAdapter(Goal)


def synthetic_goals(
    products: Mapping[str, Product], attributes: Mapping[str, Any], draw: random.Random | None = None
) -> list[Goal]:
    """One goal for each product that has an instruction and each combination of its options.

    `attributes` has objects with `instruction` and `instruction_attributes` by ASIN; untrusted. `draw` is for
    `price_limit`.
    """
    goals: list[Goal] = []
    for asin, product in products.items():
        instruction, wanted = _asked(attributes.get(asin))
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
            instruction, wanted = _asked(row)
            instruction = instruction.strip(".")
            if instruction and wanted:
                limit, price = price_limit(product.price, draw)
                options = tuple(_pairs(row.get("instruction_options")))
                goals.append(Goal(asin, f"{instruction}{price}", wanted, options, limit))
    return goals


def _asked(row: Any) -> tuple[str, tuple[str, ...]]:
    """The instruction of an untrusted row and the attributes that it asks for, empty if it has none."""
    if not isinstance(row, Mapping):
        return "", ()
    return text_of(row.get("instruction")), texts_of(row.get("instruction_attributes"))


def price_limit(price: float, draw: random.Random | None = None) -> tuple[float, str]:
    """The price limit of a purchase in US dollars, and its part of the instruction.

    WebShop draws two of the next four tens above the price and takes the larger one. ExpeL took an average instead
    (appendix D.3); here it is the mean of the four. Near 1,000 dollars and above there is no limit.
    """
    above = [10.0 * tens for tens in range(1, 100) if 10.0 * tens > price][:4]
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
    data = _DATA.dump_python(goal, mode="json")
    return Task(id=f"webshop-{number}", text=start_page(goal.instruction).text, category=section, data=data)


def goal_of(task: Task) -> Goal:
    """The goal of a task; DataError if the task is not from WebShop."""
    try:
        return _DATA.validate_python(task.data)
    except ValidationError as e:
        why = e.errors()[0]["msg"]
        raise DataError(f"the task {task.id!r} is not a task of the benchmark webshop: it has no goal ({why})") from e


def pools(tasks: Sequence[Task], seed: int, share: float) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The training and test pools, which share no product and no text; the seed draws the order.

    The products take turns: the first tasks of a pool are of different products, even if one product has many goals.
    Raises a ConfigError for a wrong `share`, a DataError if fewer than two products have goals.
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


class Reward(NamedTuple):
    """A reward, and the parts of the goal that were not met: none if the reward is 1."""

    total: float
    missing: tuple[str, ...]


def reward(
    bought: Product, chosen: Iterable[str], goal: Goal, gold: Product, *, upstream_colors: bool = False
) -> Reward:
    """The reward for buying a product with the chosen option values; the goal was made from the product `gold`.

    With `upstream_colors`, options are compared as in WebShop, so some goals cannot be won: see `_options_missed`.
    """
    kind = type_reward(bought, gold)
    missing = [wanted for wanted in goal.attributes if not _has_attribute(bought, wanted)]
    missing += [f"{name}: {value}" for name, value in _options_missed(goal, chosen, upstream_colors)]
    if bought.price > goal.limit:
        missing.append(PRICE)
    parts = len(goal.attributes) + len(goal.options) + 1
    total = kind * ((parts - len(missing)) / parts)
    return Reward(total, tuple(missing if kind == 1 else [KIND, *missing]))


def type_reward(bought: Product, gold: Product) -> float:
    """r_type: how similar the kinds of the bought and the gold product are (ExpeL, equation 2).

    It is 1.0, always for the gold product; 0.5 if query, category and title all differ; 0.1 or 0.0 if the titles share
    almost no or no noun.
    """
    # As in WebShop, a repeated noun of the gold title counts each time, but its match once: 12 times one noun: 1/12.
    if bought.asin == gold.asin:
        return 1.0
    gold_nouns = nouns(gold.title)
    shared = len(set(gold_nouns) & set(nouns(bought.title)))
    # For a title without nouns, WebShop takes the highest overlap that is not a match.
    overlap = shared / len(gold_nouns) if gold_nouns else 0.2
    if overlap < 0.1:
        return 0.1 if overlap else 0.0
    same_kind = bought.query == gold.query or len(set(bought.path) & set(gold.path)) >= SAME_PATH or overlap > 0.2
    return 1.0 if same_kind else 0.5


@lru_cache(maxsize=8192)
def nouns(title: str) -> tuple[str, ...]:
    """The nouns of a title in lower case, with repetitions, by TextBlob's lexicon; WebShop uses a large spaCy model."""
    return tuple(word.lower() for word, kind in _tagger()(title) if kind.startswith("NN"))


@cache
def _tagger() -> Callable[[str], list[tuple[str, str]]]:
    """TextBlob's tagger with its lexicon loaded; MissingExtraError if TextBlob is not installed."""
    with warnings.catch_warnings():
        # TextBlob does not close its files.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            from textblob.en import tag
        except ImportError as e:
            raise MissingExtraError("webshop", "textblob") from e
        tagger: Callable[[str], list[tuple[str, str]]] = tag
        tagger("a table")
    return tagger


@lru_cache(maxsize=65536)
def alike(one: str, other: str) -> bool:
    """Whether two texts are equal or match by their token-set ratio; MissingExtraError without rapidfuzz."""
    try:
        from rapidfuzz import fuzz, utils
    except ImportError as e:
        raise MissingExtraError("webshop", "rapidfuzz") from e
    # As in WebShop's library thefuzz: only ASCII counts, and the ratio is rounded before the comparison.
    plain = (utils.default_process(text.encode("ascii", "ignore").decode()) for text in (one, other))
    return one == other or round(fuzz.token_set_ratio(*plain)) > ALIKE


def color_of(text: str) -> str:
    """The alphabetically first colour word anywhere in a text ("red" in "scattered"); else the text."""
    return next((color for color in _colors() if color in text), text)


@cache
def _colors() -> tuple[str, ...]:
    return tuple(sorted((DATA / "webshop_colors.txt").read_text(encoding="utf-8").split()))


def _has_attribute(product: Product, wanted: str) -> bool:
    texts = (product.title, " ".join(product.features), product.description)
    in_text = any(wanted in text.lower() for text in texts)
    return in_text or any(alike(attribute, wanted) for attribute in product.attributes)


def _options_missed(goal: Goal, chosen: Iterable[str], upstream_colors: bool) -> list[tuple[str, str]]:
    """The goal's options (name, value) that match none of the chosen values.

    WebShop reduces a chosen "graywash" to "ash", but keeps the goal's "graywash", with the option's name before it,
    because it is not a colour word; so the two never match. Without `upstream_colors`, both sides are reduced.
    """
    colors = [color_of(value) for value in chosen]

    def want(name: str, value: str) -> str:
        return f"{name} {value}" if upstream_colors and name and value not in _colors() else color_of(value)

    return [(name, value) for name, value in goal.options if not any(alike(one, want(name, value)) for one in colors)]
