"""The worked attempts of WebShop, each played in a small shop of its own, which `prompts/webshop.toml` holds.

Always holds: none of their products is sold in the generated shop.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from seasoned.lab.benchmarks.webshop.catalogue import read_products
from seasoned.lab.benchmarks.webshop.goals import Goal, as_task
from seasoned.lab.benchmarks.webshop.search import make_search
from seasoned.lab.benchmarks.webshop.shop import Shop, ShopEnvironment
from seasoned.lab.benchmarks.worked import Worked, play_worked
from seasoned.types import Outcome, Task


@cache
def worked(told: bool = False) -> Worked:
    """The words of the prompts.

    Args:
        told: Whether a failed attempt is told what was not as asked for.

    Raises:
        MissingExtraError: A library of the extra `webshop` is not installed.
    """
    return play_worked("webshop", partial(_begin, told), _ended)


def _begin(told: bool, attempt: Mapping[str, Any]) -> tuple[ShopEnvironment, Task]:
    products, _ = read_products(attempt["product"], {})
    options = tuple((name, value) for name, value in attempt["options"])
    goal = Goal(attempt["asin"], attempt["instruction"], tuple(attempt["attributes"]), options, attempt["limit"])
    shop = Shop(products, make_search(products))
    return ShopEnvironment(shop, reveal=True, told=told), as_task(0, goal, "")


def _ended(info: Mapping[str, Any]) -> Outcome:
    return Outcome(success=info["success"], reward=info["reward"], reason="won" if info["success"] else "halted")
