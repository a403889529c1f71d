"""The context of the routes: the store, the runs, search by meaning, and parts of requests.

Always holds: a missing or wrong part of an address or form raises an error with a sentence; no lesson, attempt or
setting of the process is changed here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.errors import ConfigError, SeasonedError
from seasoned.pool import ExperiencePool
from seasoned.protocols import Embedder
from seasoned.store.pages import LessonLine
from seasoned.store.sql import Store
from seasoned.store.tokens import Visitor
from seasoned.web.guard import FORM, VISITOR

if TYPE_CHECKING:
    from starlette.requests import Request

PAGE = 50
"""Lines of one page of a list."""


@dataclass
class Site:
    """A store with the folder of its runs. Without an embedder, there is no search by meaning.

    While `warming`, the vectors are read for the first time, within the context that `around` makes, and a search by
    meaning would wait.
    """

    store: Store
    runs: Path
    embedder: Embedder | None = None
    warming: bool = False
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    _pools: dict[str, ExperiencePool] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def nearest(self, text: str, scope: str | None, kind: Any = None) -> list[LessonLine]:
        """The active lessons nearest in meaning, best first; of all scopes if none is given."""
        scored: list[tuple[float, LessonLine]] = []
        for name in [scope] if scope else self.store.scopes():
            with self._lock:
                pool = self._pools.setdefault(name, ExperiencePool(self.store, name, embedder=self.embedder))
            scored += [(score, LessonLine(0, name, lesson)) for lesson, score in pool.nearest_lessons(text, PAGE, kind)]
        scored.sort(key=lambda one: -one[0])
        return [line for _, line in scored[:PAGE]]

    def warm(self) -> None:
        """Make a first search by meaning; if it fails, a visitor's first search shows the error."""
        try:
            with self.around(), suppress(SeasonedError):
                self.nearest("anything", None)
        finally:
            self.warming = False


def site_of(request: Request) -> Site:
    """The site of a request's app."""
    site: Site = request.app.state.site
    return site


def visitor(request: Request) -> Visitor:
    """The sender of a request."""
    return request.scope.get(VISITOR) or Visitor()


HOME = "memory/"
"""The prefix of a namespace's pool."""


def namespaces(store: Store) -> list[str]:
    """The namespaces of a store, sorted."""
    return [scope.removeprefix(HOME) for scope in store.scopes() if scope.startswith(HOME)]


def namespace_of(request: Request, names: Sequence[str]) -> str:
    """The namespace in the address, else `default`, else the first one."""
    return asked(request, "namespace") or ("default" if "default" in names or not names else names[0])


def asked(request: Request, name: str) -> str:
    """A parameter of the address; "" if missing."""
    return request.query_params.get(name, "")[:2000]


def place(request: Request) -> int | None:
    """The place in the list where the previous page ended.

    Raises:
        ConfigError: it is not a number.
    """
    before = asked(request, "before")
    if before and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise ConfigError(f"`before` should be a whole number, but was {before[:40]!r}")
    return int(before) if before else None


def form(request: Request) -> dict[str, str]:
    """The fields of a form, with line feeds as line ends."""
    fields: dict[str, str] = request.scope.get(FORM, {})
    return {name: text.replace("\r\n", "\n").replace("\r", "\n") for name, text in fields.items()}


def partial(request: Request) -> bool:
    """Whether the script asks only for the lines of a list."""
    return request.headers.get("hx-request-type") == "partial"
