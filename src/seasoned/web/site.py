"""What all routes share: the store, search by meaning, parts of requests, and the templates with their functions.

Always holds: a missing or wrong part of an address or form raises an error with a sentence; no lesson, attempt or
setting of the process is changed here; values on a page are escaped, cut to a readable length, and cannot change the
direction of the text around them; a link is built only from its parts.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from seasoned.errors import ConfigError, SeasonedError
from seasoned.plugins import plugins
from seasoned.pool import ExperiencePool
from seasoned.protocols import Embedder
from seasoned.store.body import clean_text
from seasoned.store.pages import LessonLine
from seasoned.store.sql import Store
from seasoned.store.tokens import Visitor
from seasoned.text import UNKNOWN, clean, count, cut, label, one_line
from seasoned.trust import mask
from seasoned.types import Lesson
from seasoned.web.guard import FORM, VISITOR

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
    """The place in the list where the previous page ended; ConfigError if it is not a number."""
    before = asked(request, "before")
    if before and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise ConfigError(f"`before` should be a whole number, but was {before[:40]!r}")
    return int(before) if before else None


def form(request: Request) -> dict[str, str]:
    """The fields of a form, with line feeds as line ends."""
    fields: dict[str, str] = request.scope.get(FORM, {})
    return {name: text.replace("\r\n", "\n").replace("\r", "\n") for name, text in fields.items()}


def reason(fields: Mapping[str, str], default: str = "") -> str:
    """The reason of a change in a form, masked."""
    return mask(" ".join(fields.get("why", "").split()))[:500] or default


def with_name(request: Request, why: str) -> str:
    """The reason of a change, with the token's name."""
    name = visitor(request).name
    return " ".join(why.split())[:500] + (f" ({name})" if name else "")


def partial(request: Request) -> bool:
    """Whether the script asks only for the lines of a list."""
    return request.headers.get("hx-request-type") == "partial"


LONG = 4000
"""Characters of a text that are shown unless the visitor asks for all."""
COMPARED = 10
"""The newest versions of a lesson, which are compared word by word with their predecessors."""
_MAX_WORDS = 600  # of a text that is compared
_MAX_WORK = 2_000_000  # words times pairs of equal words: a comparison takes at most about 0.1 s
_BULK = re.compile(r"bulk-(\d{1,6})-(\d{1,6})")
_DONE = {
    "added": "The lesson was added.",
    "waits": "The lesson was added to quarantine: its text looks like an instruction to the model.",
    "edited": "The change was saved as a new version.",
    "same": "No change, so nothing was saved.",
    "pin": "Pinned: learning does not change this lesson.",
    "unpin": "Unpinned: learning may change this lesson.",
    "disable": "Disabled: kept, but not recalled.",
    "enable": "Enabled: recalled again.",
    "release": "Released from quarantine: recalled from now on.",
    "delete": "Deleted. You can restore it below.",
    "restore": "Restored.",
    "rollback": "The earlier version was restored as a new version.",
    "purge": "The lesson and its history were deleted permanently.",
    "purge-later": "The lesson and its history were deleted. Another program has the store open: until it closes "
    "the store, the log file beside it still contains the text.",
    "snapshot": "The snapshot was saved.",
    "resumed": "Guidance is shown again. Evidence of harm is counted from zero.",
    "outcome": "The outcome was saved. Earlier verdicts stay in the record.",
    "rolled": "The earlier state was restored; each changed lesson has a new version.",
}


@cache
def templates() -> jinja2.Environment:
    """The page's templates."""
    homes = [point.module for point in plugins("pages").values()]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(home) for home in ["seasoned.web", *homes]]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )
    functions = {"link": link, "difference": difference, "moved": moved, "verdict": verdict}
    environment.globals.update(functions, LONG=LONG, COMPARED=COMPARED, version=_static_version())
    environment.filters.update(line=one_line, cut=_beginning, clock=clock, label=label, count=count)
    return environment


def show(request: Request, name: str, status: int = 200, /, **values: Any) -> Response:
    """Render a template as a page."""
    done = _done(request.query_params.get("done", ""))
    page = templates().get_template(name).render(path=request.url.path, done=done, visitor=visitor(request), **values)
    return HTMLResponse(page, status)


def _done(name: str) -> str:
    """A sentence about the change that led to this page."""
    if counts := _BULK.fullmatch(name):
        unchanged = int(counts[2])
        rest = f" {unchanged:,} not changed: in another state, or edited meanwhile." if unchanged else ""
        return f"{int(counts[1]):,} changed.{rest}"
    return _DONE.get(name, "")


def redirect(path: str, /, **parts: object) -> Response:
    """Send the browser to another address of this page, after a change."""
    return RedirectResponse(link(path, **parts), 303)


def link(path: str, /, **parts: object) -> str:
    """An address of this page; empty parts are left out."""
    kept = {name: clean_text(str(part)) for name, part in parts.items() if part not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def clock(stamp: str) -> str:
    """A time of the store, UTC, to the minute."""
    return one_line(stamp[:16].replace("T", " "), 40)


def verdict(success: bool | None) -> tuple[str, str]:
    """An attempt's outcome: a word for people, and one for the stylesheet."""
    return {True: ("solved", "yes"), False: ("failed", "no"), None: ("unknown", "open")}[success]


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """The difference between two texts: parts marked "same", "gone" or "new"; long texts are not compared."""
    old, new = (re.findall(r"\s+|\S+", clean(text)) for text in (before, after))
    left, right = ([part for part in parts if not part.isspace()] for parts in (old, new))
    counts = Counter(left)
    pairs = sum(counts[word] for word in right)
    if max(len(left), len(right)) > _MAX_WORDS or pairs * min(len(left), len(right)) > _MAX_WORK:
        return [("gone", cut(before, 600)), ("new", cut(after, 600))]
    parts: list[tuple[str, str]] = []
    # Whitespace is the same only beside a word that is the same.
    for tag, i, j, k, m in difflib.SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(("same", "".join(old[i:j])))
        else:
            parts += [("gone", "".join(old[i:j])), ("new", "".join(new[k:m]))]
    return [(mark, text) for mark, text in parts if text]


def moved(before: Lesson, after: Lesson) -> list[str]:
    """The changes between two versions of a lesson, except of its text, in a few words each."""
    changes = []
    for name in ("status", "kind", "key", "category", "importance"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            words = [f"{one:g}" if name == "importance" else one_line(one, 60) or UNKNOWN for one in (old, new)]
            changes.append(f"{name}: {' → '.join(words)}")
    if before.pinned != after.pinned:
        changes.append("pinned" if after.pinned else "no longer pinned")
    if before.sources != after.sources:
        changes.append(f"sources: {len(before.sources)} → {len(after.sources)}")
    return changes


def _beginning(text: str, whole: bool = False, limit: int = LONG) -> str:
    return clean(text) if whole or len(text) <= limit else clean(text[:limit]) + "…"


def _static_version() -> str:
    from hashlib import sha256

    files = (one for one in (resources.files("seasoned.web") / "static").iterdir() if one.is_file())
    return sha256(b"".join(one.read_bytes() for one in sorted(files, key=lambda one: one.name))).hexdigest()[:10]
