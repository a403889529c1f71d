"""The pages of the shop as text, in the form of ReAct and ExpeL: text in brackets can be clicked.

Always holds: a page shows everything that can be clicked on it; a chosen option is in double brackets; no page shows
the attributes that a purchase is judged by, unless the seller wrote them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.text import prompt_line

PER_PAGE = 10
"""Products on a page of results (ExpeL, table 4)."""
MAX_SHOWN = 2000
"""Shown characters of a description, of all features or of all reviews; the reward uses all of them."""
SEARCH, BACK, NEXT, PREVIOUS, BUY = "Search", "Back to Search", "Next >", "< Prev", "Buy Now"
DESCRIPTION, FEATURES, REVIEWS = "Description", "Features", "Reviews"
NOTHING_THERE = "Nothing is written here."


class Page(NamedTuple):
    """A page: its text and its clicks."""

    text: str
    clicks: tuple[str, ...] = ()


def shown(value: str) -> str:
    """An option's value as a page shows it, with single plain spaces."""
    return " ".join(value.split())


def start_page(instruction: str) -> Page:
    """The instruction and the search box, which is not a click: the action is `search[words]`."""
    return Page(f"WebShop\nInstruction:\n{instruction}\n[{SEARCH}]")


def results_page(products: Sequence[Product], page: int, note: str = "") -> Page:
    """A page of a search's results, best first; pages count from 1, `note` is a line about the search."""
    listed = products[(page - 1) * PER_PAGE : page * PER_PAGE]
    paging = [PREVIOUS] if page > 1 else []
    paging += [NEXT] if len(products) > page * PER_PAGE else []
    lines = [f"[{BACK}]", *([note] if note else []), f"Page {page} (Total results: {len(products)})"]
    lines += [f"[{click}]" for click in paging]
    for product in listed:
        lines += [f"[{product.asin}]", product.title, product.tag]
    return Page("\n".join(lines), (BACK, *paging, *(product.asin for product in listed)))


def item_page(product: Product, chosen: Mapping[str, str]) -> Page:
    """The page of a product; `chosen` has the chosen values by option name."""
    lines = [f"[{BACK}]", f"[{PREVIOUS}]"]
    for name, values in product.options.items():
        choice = shown(chosen.get(name, ""))
        texts = dict.fromkeys(shown(value) for value in values)
        lines.append(f"{name} {''.join(f'[[{text}]]' if text == choice else f'[{text}]' for text in texts)}")
    lines += [product.title, f"Price: {product.tag}", f"Rating: {product.rating}"]
    buttons = (DESCRIPTION, FEATURES, REVIEWS, BUY)
    lines += [f"[{button}]" for button in buttons]
    options = (shown(value) for values in product.options.values() for value in values)
    return Page("\n".join(lines), tuple(dict.fromkeys((BACK, PREVIOUS, *options, *buttons))))


def text_page(product: Product, part: str) -> Page:
    """A product's description, features or reviews; `part` is the click that opens it."""
    texts = {
        DESCRIPTION: [product.description] if product.description else [],
        FEATURES: [f"- {feature}" for feature in product.features],
        REVIEWS: [f"- {review}" for review in product.reviews],
    }[part]
    lines: list[str] = []
    for text in texts:
        room = MAX_SHOWN - sum(map(len, lines))
        if room > 1:
            lines.append(prompt_line(text, room))
    return Page("\n".join([f"[{BACK}]", f"[{PREVIOUS}]", *(lines or [NOTHING_THERE])]), (BACK, PREVIOUS))


def leading_on(clicks: Sequence[str], product: Product | None, chosen: Mapping[str, str]) -> list[str]:
    """The clicks of a page that lead towards a purchase, for the option `focus`.

    Small models need them: with all clicks, they turn pages, or open one product after the other. On a results page
    these are the products; on a product's page, the values of its first open option, or else the purchase.
    """
    if product is None:
        return [click for click in clicks if click not in (BACK, NEXT, PREVIOUS)] or list(clicks)
    values = next((values for name, values in product.options.items() if name not in chosen), ())
    return list(dict.fromkeys(map(shown, values))) or [BUY]
