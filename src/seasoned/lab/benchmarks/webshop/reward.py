"""WebShop's reward of a purchase (ExpeL, equation 1).

r = r_type * (attributes matched + options matched + [price <= limit]) / (attributes + options + 1). Always holds: a
reward is from 0 to 1; the product that a goal was made from earns 1 with the goal's options, except with WebShop's own
comparison of colours (`upstream_colors`).
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
"""Texts with a higher token-set ratio match."""

SAME_PATH = 2
"""Products with this many common parts of their category paths have the same category."""

KIND = "the kind of thing that was asked for"
PRICE = "the price limit"

_COLORS = DATA / "webshop_colors.txt"


class Reward(NamedTuple):
    """A reward and its parts: `kind` is r_type, `attributes` and `options` count the goal's that match.

    `missing` names the parts of the goal that were not met; it is empty if the reward is 1.
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
    """The reward for buying a product with the chosen option values; the goal was made from the product `gold`.

    With `upstream_colors`, options are compared as in WebShop, so some goals cannot be won: see `_options_missed`.
    """
    kind = type_reward(bought, gold)
    no_attributes = [wanted for wanted in goal.attributes if not _has_attribute(bought, wanted)]
    no_options = [f"{name}: {value}" for name, value in _options_missed(goal, tuple(chosen), upstream_colors)]
    attributes, options = len(goal.attributes) - len(no_attributes), len(goal.options) - len(no_options)
    price = bought.price <= goal.limit
    parts = (attributes + options + price) / (len(goal.attributes) + len(goal.options) + 1)
    missing = ([KIND] if kind < 1 else []) + no_attributes + no_options + ([] if price else [PRICE])
    return Reward(kind * parts, kind, attributes, options, price, tuple(missing))


def type_reward(bought: Product, gold: Product) -> float:
    """r_type: how similar the kinds of the bought and the gold product are (ExpeL, equation 2).

    Returns:
        1.0, always for the gold product; 0.5 if query, category and title all differ; 0.1 or 0.0 if the titles share
        almost no or no noun.
    """
    # As in WebShop, a repeated noun of the gold title counts each time, but its match once: 12 times one noun: 1/12.
    if bought.asin == gold.asin:
        return 1.0
    gold_nouns = nouns(gold.title)
    shared = len(set(gold_nouns) & set(nouns(bought.title)))
    # For a title without nouns, WebShop takes the highest overlap that is not a match.
    overlap = shared / len(gold_nouns) if gold_nouns else 0.2
    if overlap == 0.0:
        return 0.0
    if overlap < 0.1:
        return 0.1
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
    return tuple(sorted(_COLORS.read_text(encoding="utf-8").split()))


def _has_attribute(product: Product, wanted: str) -> bool:
    if any(alike(attribute, wanted) for attribute in product.attributes):
        return True
    texts = (product.title, " ".join(product.features), product.description)
    return any(wanted in text.lower() for text in texts)


def _options_missed(goal: Goal, chosen: tuple[str, ...], upstream_colors: bool) -> list[tuple[str, str]]:
    """The goal's options (name, value) that match none of the chosen values.

    WebShop reduces a chosen "graywash" to "ash", but keeps the goal's "graywash", with the option's name before it,
    because it is not a colour word; so the two never match. Without `upstream_colors`, both sides are reduced.
    """
    colors = [color_of(value) for value in chosen]

    def want(name: str, value: str) -> str:
        return f"{name} {value}" if upstream_colors and name and value not in _colors() else color_of(value)

    return [(name, value) for name, value in goal.options if not any(alike(one, want(name, value)) for one in colors)]
