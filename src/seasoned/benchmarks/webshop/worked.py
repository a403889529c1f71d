"""The worked attempts of WebShop, each played in a small shop of its own, which `prompts/webshop.toml` holds.

Always holds: none of their products is sold in the generated shop.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from seasoned.benchmarks.webshop.catalogue import read_products
from seasoned.benchmarks.webshop.goals import Goal, as_task
from seasoned.benchmarks.webshop.search import make_search
from seasoned.benchmarks.webshop.shop import Shop, ShopEnvironment
from seasoned.benchmarks.worked import Worked, play_worked
from seasoned.types import Outcome, Task


@cache
def worked() -> Worked:
    """The words of the prompts.

    Raises:
        MissingExtraError: A library of the extra `webshop` is not installed.
    """
    return play_worked("webshop", _begin, _ended)


def _begin(attempt: Mapping[str, Any]) -> tuple[ShopEnvironment, Task]:
    products, _ = read_products(attempt["product"], {})
    options = tuple((name, value) for name, value in attempt["options"])
    goal = Goal(attempt["asin"], attempt["instruction"], tuple(attempt["attributes"]), options, attempt["limit"])
    return ShopEnvironment(Shop(products, make_search(products)), reveal=True), as_task(0, goal, "")


def _ended(info: Mapping[str, Any]) -> Outcome:
    return Outcome(success=info["success"], reward=info["reward"], reason="won" if info["success"] else "halted")
