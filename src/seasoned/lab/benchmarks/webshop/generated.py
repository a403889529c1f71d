"""A small generated catalogue for WebShop in the public format, from our own words.

Always holds: the same number and seed give the same rows; the attributes in an instruction are among the product's
attributes and in its title or a feature; as in real data, some rows have a price range, no price, or HTML in a text.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping
from typing import Any

from seasoned.lab.benchmarks.base import DATA, read_toml

MOST = 20_000
OPTION_NAMES = ("color", "size", "style", "scent", "flavor")
ASKED = 0.7
"""The share of products that get a goal; the others are distractors."""

_GOODS = read_toml(DATA / "webshop_goods.toml")


def make_catalogue(count: int, seed: int) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Rows of products, and their attributes and instructions by ASIN, both in WebShop's public format.

    The kinds of goods take turns. `count` is from 2 to `MOST`.
    """
    rng = random.Random(f"webshop-goods-{seed}")
    kinds = list(_GOODS["kind"])
    rng.shuffle(kinds)
    rows: list[dict[str, Any]] = []
    about: dict[str, dict[str, Any]] = {}
    for i in range(count):
        kind = kinds[i % len(kinds)]
        asin = _asin(rng, about)
        has = rng.sample(sorted(_GOODS["group"][kind["group"]]["attributes"]), rng.randint(3, 5))
        rows.append(_row(asin, kind, has, rng))
        about[asin] = {"attributes": has}
        # The first two always have a goal, so that the smallest catalogue has two goals.
        if i < 2 or rng.random() < ASKED:
            asked = rng.sample(has, rng.randint(2, 3))
            instruction = f"{rng.choice(_GOODS['openers'])} {kind['query']}: {', '.join(asked)}"
            about[asin] |= {"instruction": instruction, "instruction_attributes": asked}
    return rows, about


def _row(asin: str, kind: Mapping[str, Any], has: list[str], rng: random.Random) -> dict[str, Any]:
    """The row of one product; only its first attribute is in the title, all are in the features."""
    group = _GOODS["group"][kind["group"]]
    brand, word, use = rng.choice(_GOODS["brands"]), rng.choice(kind["words"]), rng.choice(_GOODS["uses"])
    features = [group["attributes"][attribute] for attribute in has]
    rng.shuffle(features)
    description = f"The {word} {kind['noun']} by {brand} for {use}."
    if rng.random() < 0.1:
        description = f"<p>{description}</p><br/>Looked after &amp; guaranteed for <b>two years</b>."
    return {
        "asin": asin,
        "name": f"{brand} {word.capitalize()} {kind['noun'].title()}, {has[0].title()}, for {use.title()}",
        "pricing": _price(kind["price"], rng),
        "full_description": description,
        "small_description": features,
        "customization_options": _choices(kind, rng),
        "category": group["section"],
        "query": kind["query"],
        "product_category": " › ".join([*group["path"], kind["query"].title()]),
    }


def _price(span: list[int], rng: random.Random) -> str:
    low, high = span
    price = rng.uniform(low, high)
    chance = rng.random()
    if chance < 0.04:
        return ""
    return f"${price:.2f} - ${price * 1.3:.2f}" if chance < 0.16 else f"${price:.2f}"


def _choices(kind: Mapping[str, Any], rng: random.Random) -> dict[str, list[dict[str, str]]]:
    """Two or more random values of each option."""
    names = [name for name in OPTION_NAMES if name in kind]
    chosen = {name: rng.sample(kind[name], rng.randint(2, len(kind[name]))) for name in names}
    return {name.title(): [{"value": value.title()} for value in values] for name, values in chosen.items()}


def _asin(rng: random.Random, taken: Mapping[str, Any]) -> str:
    while True:
        asin = "S" + "".join(rng.choices(string.ascii_uppercase + string.digits, k=9))
        if asin not in taken:
            return asin
