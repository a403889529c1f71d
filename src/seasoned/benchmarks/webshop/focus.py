"""The clicks that lead on to a purchase: what `benchmark.focus` offers of those on a page.

A small model that may click anything turns pages and opens nothing. Always holds: what is offered stands on the page,
and there is something to click wherever the page has it; the shop itself takes every other click as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from seasoned.benchmarks.webshop.catalogue import Product
from seasoned.benchmarks.webshop.pages import BACK, BUY, NEXT, PREVIOUS, shown

LOOKS = 3
"""Products that are opened before one of them has to be bought."""


def leading_on(
    clicks: Sequence[str], product: Product | None, chosen: Mapping[str, str], opened: Collection[str]
) -> list[str]:
    """The clicks to offer.

    Among results: the products that were not opened yet, then the next page. With a product: the values of its first
    option without a choice, or buying it; and the way back while fewer than `LOOKS` were opened.

    Args:
        clicks: those of the page.
        product: whose page it is, or None.
        chosen: its options so far, by name.
        opened: the ASINs of all products that were opened.
    """
    if product is None:
        fresh = [click for click in clicks if click not in (BACK, NEXT, PREVIOUS) and click not in opened]
        return fresh or [click for click in clicks if click == NEXT] or list(clicks)
    values = next((values for name, values in product.options.items() if name not in chosen), ())
    onward = list(dict.fromkeys(map(shown, values))) or [BUY]
    back = [PREVIOUS] if len(opened) < LOOKS else []
    return [click for click in (*onward, *back) if click in clicks] or list(clicks)
