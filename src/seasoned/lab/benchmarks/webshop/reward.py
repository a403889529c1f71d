"""What a purchase is worth: WebShop's reward (ExpeL, equation 1).

r = r_type * (attributes matched + options matched + [price <= limit]) / (attributes + options + 1). Always holds: a
reward is from 0 to 1, and the product a goal was made from, with the goal's options, earns 1 unless `upstream_colors`
asks for WebShop's own comparison of colours.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from seasoned.errors import MissingExtraError
from seasoned.lab.benchmarks.base import DATA
from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.goals import Goal

ALIKE = 85
"""A token-set ratio above this is a match."""

SAME_PATH = 2
"""Products with so many parts of their category paths in common are of the same category."""

KIND = "the kind of thing that was asked for"
PRICE = "the price limit"

_COLORS = DATA / "webshop_colors.txt"


class Reward(NamedTuple):
    """A reward and its parts: `kind` is r_type, `attributes` and `options` count matches of the goal's.

    `missing` says in words what is not as the goal has it; it is empty where the reward is 1.
    """

    total: float
    kind: float
    attributes: int
    options: int
    price: bool
    missing: tuple[str, ...]


def reward(
    bought: Product, chosen: Iterable[str], goal: Goal, gold: Product, *, upstream_colors: bool = False
) -> Reward:
    """What it earns to buy a product, with the option values chosen, for a goal that was made from the product `gold`.

    With `upstream_colors`, options are compared as WebShop does, which some goals cannot be won by: see
    `_options_missed`.
    """
    kind = type_reward(bought, gold)
    lacks = [wanted for wanted in goal.attributes if not _has_attribute(bought, wanted)]
    other = [f"{name}: {value}" for name, value in _options_missed(goal, tuple(chosen), upstream_colors)]
    attributes, options = len(goal.attributes) - len(lacks), len(goal.options) - len(other)
    price = bought.price <= goal.limit
    parts = (attributes + options + price) / (len(goal.attributes) + len(goal.options) + 1)
    missing = ([KIND] if kind < 1 else []) + lacks + other + ([] if price else [PRICE])
    return Reward(kind * parts, kind, attributes, options, price, tuple(missing))


def type_reward(bought: Product, gold: Product) -> float:
    """r_type: how far what was bought is the kind of thing that was asked for (ExpeL, equation 2).

    Returns:
        1.0, for the product itself always; 0.5 where query, category and title all speak against it; 0.1 or 0.0 where
        the titles share almost no or no noun.
    """
    # WebShop counts a doubled noun of the gold title twice, and its match once: one noun twelve times gives 1/12.
    if bought.asin == gold.asin:
        return 1.0
    desired = nouns(gold.title)
    shared = len(set(desired) & set(nouns(bought.title)))
    # A title without a noun says nothing, and WebShop then takes the highest overlap that is no match.
    overlap = shared / len(desired) if desired else 0.2
    if overlap == 0.0:
        return 0.0
    if overlap < 0.1:
        return 0.1
    alike = bought.query == gold.query or len(set(bought.path) & set(gold.path)) >= SAME_PATH or overlap > 0.2
    return 1.0 if alike else 0.5


@lru_cache(maxsize=8192)
def nouns(title: str) -> tuple[str, ...]:
    """The nouns of a title in lower case, doubled ones too, by TextBlob's lexicon; WebShop uses a large spaCy model."""
    return tuple(word.lower() for word, kind in _tagger()(title) if kind.startswith("NN"))


@cache
def _tagger() -> Callable[[str], list[tuple[str, str]]]:
    """TextBlob's tagger, with its lexicon loaded; MissingExtraError if it is not installed."""
    with warnings.catch_warnings():
        # TextBlob leaves it to the garbage collector to close its files.
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
    """Whether two texts are equal, or alike by their token-set ratio; MissingExtraError without rapidfuzz."""
    try:
        from rapidfuzz import fuzz, utils
    except ImportError as e:
        raise MissingExtraError("webshop", "rapidfuzz") from e
    # As thefuzz has it, which WebShop uses: ASCII alone counts, and the ratio is rounded before it is compared.
    plain = (utils.default_process(text.encode("ascii", "ignore").decode()) for text in (one, other))
    return one == other or round(fuzz.token_set_ratio(*plain)) > ALIKE


def color_of(text: str) -> str:
    """The first colour word by the alphabet that stands anywhere in a text ("red" in "scattered"); else the text."""
    return next((color for color in _colors() if color in text), text)


@cache
def _colors() -> tuple[str, ...]:
    return tuple(sorted(_COLORS.read_text(encoding="utf-8").split()))


def _has_attribute(product: Product, wanted: str) -> bool:
    if any(alike(own, wanted) for own in product.attributes):
        return True
    texts = (product.title, " ".join(product.features), product.description)
    return any(wanted in text.lower() for text in texts)


def _options_missed(goal: Goal, chosen: tuple[str, ...], upstream_colors: bool) -> list[tuple[str, str]]:
    """The goal's options (name, value) that are like none that was chosen.

    WebShop cuts a chosen "graywash" down to "ash", but leaves the goal's as it is, with the option's name before it, if
    it is not just a colour: what is no word of its own is then never found. The repair cuts both sides down alike.
    """
    have = [color_of(value) for value in chosen]

    def want(name: str, value: str) -> str:
        return f"{name} {value}" if upstream_colors and name and value not in _colors() else color_of(value)

    return [(name, value) for name, value in goal.options if not any(alike(own, want(name, value)) for own in have)]
