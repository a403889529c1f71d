"""The pages of the shop as text, in the form that ReAct and ExpeL show: what stands in brackets can be clicked.

Always holds: a page shows everything that can be clicked on it, an option that was chosen stands in double brackets,
and no page shows the attributes that a purchase is judged by unless the seller wrote them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.text import prompt_line

PER_PAGE = 10
"""Products on a page of results (ExpeL, table 4)."""

MAX_SHOWN = 2000
"""Characters of a description, of all features or of all reviews that are shown; the reward reads them whole."""

SEARCH, BACK, NEXT, PREVIOUS, BUY = "Search", "Back to Search", "Next >", "< Prev", "Buy Now"
DESCRIPTION, FEATURES, REVIEWS = "Description", "Features", "Reviews"
NOTHING_THERE = "Nothing is written here."


class Page(NamedTuple):
    """A page: its text, and what can be clicked on it."""

    text: str
    clicks: tuple[str, ...] = ()


def shown(value: str) -> str:
    """An option's value as a page shows it: every kind of space is one plain space."""
    return " ".join(value.split())


def start_page(instruction: str) -> Page:
    """The instruction and the search box, which is no button: a search is `search[words]`."""
    return Page(f"WebShop\nInstruction:\n{instruction}\n[{SEARCH}]")


def results_page(products: Sequence[Product], page: int, note: str = "") -> Page:
    """A page, counted from 1, of a search's results, best first, with a line about the search if there is one."""
    listed = products[(page - 1) * PER_PAGE : page * PER_PAGE]
    turns = [PREVIOUS] if page > 1 else []
    turns += [NEXT] if len(products) > page * PER_PAGE else []
    lines = [f"[{BACK}]", *([note] if note else []), f"Page {page} (Total results: {len(products)})"]
    lines += [f"[{turn}]" for turn in turns]
    for product in listed:
        lines += [f"[{product.asin}]", product.title, product.tag]
    return Page("\n".join(lines), (BACK, *turns, *(product.asin for product in listed)))


def item_page(product: Product, chosen: Mapping[str, str]) -> Page:
    """The page of a product; `chosen` are option values by option name."""
    lines = [f"[{BACK}]", f"[{PREVIOUS}]"]
    for name, values in product.options.items():
        picked = shown(chosen.get(name, ""))
        texts = dict.fromkeys(shown(value) for value in values)
        lines.append(f"{name} {''.join(f'[[{text}]]' if text == picked else f'[{text}]' for text in texts)}")
    lines += [product.title, f"Price: {product.tag}", f"Rating: {product.rating}"]
    buttons = (DESCRIPTION, FEATURES, REVIEWS, BUY)
    lines += [f"[{button}]" for button in buttons]
    offers = (shown(value) for values in product.options.values() for value in values)
    return Page("\n".join(lines), tuple(dict.fromkeys((BACK, PREVIOUS, *offers, *buttons))))


def text_page(product: Product, part: str) -> Page:
    """A product's description, features or reviews; `part` is the name of the button."""
    texts = {
        DESCRIPTION: [product.description] if product.description else [],
        FEATURES: [f"- {feature}" for feature in product.features],
        REVIEWS: [f"- {review}" for review in product.reviews],
    }[part]
    kept: list[str] = []
    room = MAX_SHOWN
    for text in texts:
        if room <= 1:
            break
        kept.append(prompt_line(text, room))
        room -= len(kept[-1])
    return Page("\n".join([f"[{BACK}]", f"[{PREVIOUS}]", *(kept or [NOTHING_THERE])]), (BACK, PREVIOUS))


def leading_on(clicks: Sequence[str], product: Product | None, chosen: Mapping[str, str]) -> list[str]:
    """The clicks of a page that lead on to a purchase: what the option `focus` offers.

    A small model that may click anything turns pages, or opens one product after the other and goes back each time.
    Among results these are the products; on a product's page, the values of its first open option, or buying it.
    """
    if product is None:
        return [click for click in clicks if click not in (BACK, NEXT, PREVIOUS)] or list(clicks)
    values = next((values for name, values in product.options.items() if name not in chosen), ())
    return list(dict.fromkeys(map(shown, values))) or [BUY]
