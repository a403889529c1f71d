"""The shop as an Environment: search[words] and click[text in brackets], until a purchase.

Always holds: for any action, a step returns Gymnasium's five values and raises nothing; `info["choices"]` are the
clicks of the current page, with `focus` only some of them; no observation names the right product.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from seasoned.errors import ContractError, DataError
from seasoned.lab.benchmarks.act import Words, play_words
from seasoned.lab.benchmarks.action import Calls, form, read_action
from seasoned.lab.benchmarks.webshop import pages
from seasoned.lab.benchmarks.webshop.catalogue import MAX_QUERY, Product, Search, make_search, read_products
from seasoned.lab.benchmarks.webshop.goals import Goal, as_task, goal_of, reward
from seasoned.types import Outcome, Task

STEPS = 15
"""Steps of an attempt: H of WebShop (ExpeL, table 4)."""

ACTIONS = ("search", "click", "think")
CALLS = Calls(
    (
        form("search", "Looks for products, where the page shows [Search].", "search[{words}]", words="to find"),
        form("click", "Clicks on something in brackets on the page.", "click[{what}]", what="what the brackets hold"),
    )
)

SEARCH_FIRST = "That cannot be done here. Send search[words]."
CLICK_HERE = "That cannot be done here. Send click[..] with something that stands in brackets on this page."
CHOSEN = "You have clicked {value}."
CUT = f"Only the first {MAX_QUERY} characters were searched."
SCORE = "You have bought it. Your score (0 to 1): {score:.2f}"
MISSING = "\nNot as asked for: {missing}"
BOUGHT = "You have bought it."
THOUGHT = "OK."

_ALL = re.compile(r"(?:search|click)\[([^\n]*)\]", re.IGNORECASE)
_ANOTHER = re.compile(r"\b(?:search|click|think)\[", re.IGNORECASE)
_BRACKETS = re.compile(r"[\[\]()]")


@dataclass(frozen=True)
class Shop:
    """The immutable part that all visits share: the products by ASIN, the search, and how options are compared."""

    products: Mapping[str, Product]
    search: Search
    upstream_colors: bool = False


@dataclass
class _Visit:
    """One visit: the goal and the shopper's position; `page` is the page of results, `part` the open text."""

    goal: Goal
    steps: int = 0
    results: tuple[str, ...] | None = None
    note: str = ""
    page: int = 1
    product: Product | None = None
    chosen: dict[str, str] = field(default_factory=dict)
    part: str = ""


@dataclass(eq=False)
class ShopEnvironment:
    """Plays one goal at a time: the instruction, then actions until a purchase or the last of `max_turns`.

    Without a purchase, the reward is 0. Environments and threads may share a `shop`. With `reveal`, the last
    observation shows the score, and with `told` also the parts of the goal that were not met. With `focus`, only the
    clicks that lead towards a purchase are offered, but all are accepted.
    """

    shop: Shop
    reveal: bool
    max_turns: int = STEPS
    focus: bool = False
    told: bool = False
    _visit: _Visit | None = field(default=None, init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an attempt: return the page with the instruction, and the info of `step` with tools.

        Raises a DataError if the task is not from WebShop, or from another catalogue.
        """
        goal = goal_of(task)
        if goal.asin not in self.shop.products:
            raise DataError(f"the task {task.id!r} asks for the product {goal.asin}, which is not in this catalogue")
        self._visit = _Visit(goal)
        return self._show(self._visit).text, {**self._offered(self._visit), **CALLS.info}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action.

        The info has "choices", the clicks that are offered, and "free": "search" if a search is possible, else "".
        After a purchase, "answer" is the ASIN of the product. Raises a ContractError before `reset` and after the end.
        """
        visit = self._visit
        if visit is None:
            raise ContractError("step was called before reset or after the end: call reset(task) first")
        action = CALLS.action(action)
        name, argument = read_action(action, ACTIONS) or ("", "")
        if name == "think":
            return THOUGHT, 0.0, False, False, self._offered(visit)
        visit.steps += 1
        content, clicks = _content(action), self._show(visit).clicks
        clicked = (_match(content, clicks) or _match(argument, clicks)) if name == "click" else ""
        if clicked == pages.BUY and visit.product is not None:
            return self._buy(visit, visit.product)
        if name == "search" and content.count("[") < content.count("]"):
            argument = content.strip("[] ")
        observation = self._search(visit, argument) if name == "search" else _click(visit, clicked, self.shop)
        page = self._show(visit)
        info = self._offered(visit)
        if observation is None:
            observation = CLICK_HERE if page.clicks else SEARCH_FIRST
            info["invalid"] = True
        truncated = visit.steps >= self.max_turns
        if truncated:
            self._visit = None
            info |= {"success": False, "reward": 0.0}
        return observation or page.text, 0.0, False, truncated, info

    def close(self) -> None:
        """End the attempt, if there is one. Calling it again does nothing."""
        self._visit = None

    def _show(self, visit: _Visit) -> pages.Page:
        """The shopper's current page."""
        if visit.results is None:
            return pages.start_page(visit.goal.instruction)
        if visit.product is None:
            return pages.results_page([self.shop.products[asin] for asin in visit.results], visit.page, visit.note)
        if visit.part:
            return pages.text_page(visit.product, visit.part)
        return pages.item_page(visit.product, visit.chosen)

    def _offered(self, visit: _Visit) -> dict[str, Any]:
        clicks: Sequence[str] = self._show(visit).clicks
        if self.focus and clicks and not visit.part:
            clicks = pages.leading_on(clicks, visit.product, visit.chosen)
        return {"choices": [f"click[{click}]" for click in clicks], "free": "" if clicks else "search"}

    def _search(self, visit: _Visit, words: str) -> str | None:
        """Search; "" if the page of results is the observation, None if a search is impossible."""
        if visit.results is not None or not words:
            return None
        visit.results, visit.page, visit.note = self.shop.search(words), 1, CUT if len(words) > MAX_QUERY else ""
        return ""

    def _buy(self, visit: _Visit, product: Product) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._visit = None
        gold = self.shop.products[visit.goal.asin]
        chosen = visit.chosen.values()
        score, missing = reward(product, chosen, visit.goal, gold, upstream_colors=self.shop.upstream_colors)
        observation = SCORE.format(score=score) if self.reveal else BOUGHT
        if self.reveal and self.told and missing:
            observation += MISSING.format(missing="; ".join(map(pages.shown, missing)))
        info = {"success": score == 1.0, "reward": score, "answer": product.asin, "choices": [], "free": ""}
        return observation, score, True, False, info


def _click(visit: _Visit, clicked: str, shop: Shop) -> str | None:
    """Follow a click; return its observation, "" for the page that is then open, None for an impossible click."""
    product = visit.product
    if not clicked:
        return None
    if clicked == pages.BACK:
        visit.results, visit.product, visit.part = None, None, ""
    elif product is None:
        visit.page += {pages.NEXT: 1, pages.PREVIOUS: -1}.get(clicked, 0)
        if clicked not in (pages.NEXT, pages.PREVIOUS):
            visit.product, visit.chosen = shop.products[clicked], {}
    elif clicked == pages.PREVIOUS and visit.part:
        visit.part = ""
    elif clicked == pages.PREVIOUS:
        visit.product = None
    elif clicked in (pages.DESCRIPTION, pages.FEATURES, pages.REVIEWS):
        visit.part = clicked
    else:
        _choose(visit.chosen, product, clicked)
        return CHOSEN.format(value=clicked)
    return ""


def _choose(chosen: dict[str, str], product: Product, clicked: str) -> None:
    """Choose a value; if two options offer it, prefer one without a choice, then one with another choice."""
    offers = {n: value for n, values in product.options.items() for value in values if pages.shown(value) == clicked}
    name = min(offers, key=lambda n: (chosen.get(n) == offers[n], n in chosen))
    chosen[name] = offers[name]


def _content(action: str) -> str:
    """The text between the first and last bracket of an action with nothing around it; else ""."""
    match = _ALL.fullmatch(action.strip())
    return " ".join(match[1].split()) if match and not _ANOTHER.search(match[1]) else ""


def _match(wanted: str, clicks: tuple[str, ...]) -> str:
    """The intended click: the same text, else the only one that differs in case, spaces, marks or brackets, or ""."""
    if wanted in clicks:
        return wanted
    for plain in (_spaced, lambda text: _spaced(text).strip("*`\"'[] "), lambda text: _spaced(_BRACKETS.sub("", text))):
        same = [click for click in clicks if plain(click) == plain(wanted)]
        if len(same) == 1 and plain(wanted):
            return same[0]
    return ""


def _spaced(text: str) -> str:
    return " ".join(text.split()).casefold()


@cache
def read_words(told: bool = False) -> Words:
    """The words of the prompts; each worked attempt has its own shop, whose products are in no other.

    With `told`, a failed attempt shows which parts of the goal were not met.
    """

    def begin(attempt: Mapping[str, Any]) -> tuple[ShopEnvironment, Task]:
        products, _ = read_products(attempt["product"], {})
        options = tuple((name, value) for name, value in attempt["options"])
        goal = Goal(attempt["asin"], attempt["instruction"], tuple(attempt["attributes"]), options, attempt["limit"])
        return ShopEnvironment(Shop(products, make_search(products)), reveal=True, told=told), as_task(0, goal, "")

    def ended(info: Mapping[str, Any]) -> Outcome:
        success = info["success"]
        return Outcome(success=success, reward=info["reward"], reason="won" if success else "halted")

    return play_words("webshop", begin, ended)
