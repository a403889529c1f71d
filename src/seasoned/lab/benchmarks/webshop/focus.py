"""The clicks that lead on to a purchase: what `benchmark.focus` offers of those on a page.

A small model that may click anything turns pages, or opens one product after the other and goes back each time. Always
holds: what is offered stands on the page, and there is something to click wherever the page has it; the shop itself
takes every other click as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seasoned.lab.benchmarks.webshop.catalogue import Product
from seasoned.lab.benchmarks.webshop.pages import BACK, BUY, NEXT, PREVIOUS, shown


def leading_on(clicks: Sequence[str], product: Product | None, chosen: Mapping[str, str]) -> list[str]:
    """The clicks to offer: among results the products; of a product the values of its first open option, or buying it.

    Args:
        clicks: those of the page.
        product: whose page it is, or None.
        chosen: its options so far, by name.
    """
    if product is None:
        return [click for click in clicks if click not in (BACK, NEXT, PREVIOUS)] or list(clicks)
    values = next((values for name, values in product.options.items() if name not in chosen), ())
    return list(dict.fromkeys(map(shown, values))) or [BUY]
