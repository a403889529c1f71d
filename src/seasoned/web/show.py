"""Renders pages: the templates with their functions, and differences between two texts.

Always holds: values are escaped, cut to a readable length, and cannot change the direction of the text around them; a
link is built only from its parts.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from seasoned.plugins import plugins
from seasoned.store.body import clean_text
from seasoned.text import UNKNOWN, clean, count, cut, label, one_line
from seasoned.web.site import visitor

if TYPE_CHECKING:
    import jinja2
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.types import Lesson

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
    import jinja2
    from markupsafe import Markup

    homes = [point.module for point in plugins("pages").values()]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(home) for home in ["seasoned.web", *homes]]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )
    environment.globals.update(
        link=link,
        LONG=LONG,
        COMPARED=COMPARED,
        difference=difference,
        moved=moved,
        verdict=verdict,
        version=_static_version(),
    )
    environment.filters.update(line=one_line, cut=_beginning, clock=clock, label=label, count=count, or_none=_or_none)
    return environment


def show(request: Request, name: str, status: int = 200, /, **values: Any) -> Response:
    """Render a template as a page."""
    from starlette.responses import HTMLResponse

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
    from starlette.responses import RedirectResponse

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
    old, new = _words(before), _words(after)
    left, right = ([word for _, word in words] for words in (old, new))
    counts = Counter(left)
    pairs = sum(counts[word] for word in right)
    if max(len(old), len(new)) > _MAX_WORDS or pairs * min(len(old), len(new)) > _MAX_WORK:
        return [("gone", cut(before, 600)), ("new", cut(after, 600))]
    parts: list[tuple[str, str]] = []

    def add(mark: str, text: str) -> None:
        if text and parts and parts[-1][0] == mark:
            parts[-1] = (mark, parts[-1][1] + text)
        elif text:
            parts.append((mark, text))

    for tag, i, j, k, m in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        both = zip(old[i:j], new[k:m], strict=True) if tag == "equal" else [(_joined(old[i:j]), _joined(new[k:m]))]
        for (gap, gone), (other, word) in both:
            add("same" if gap == other else "gone", gap)
            add("new", "" if gap == other else other)
            add("same" if tag == "equal" else "gone", gone)
            add("new", "" if tag == "equal" else word)
    return parts


def _words(text: str) -> list[tuple[str, str]]:
    """The words of a text, each after the whitespace before it; at the end, the last whitespace with no word."""
    shown = clean(text)
    return [*re.findall(r"(\s*)(\S+)", shown), (shown[len(shown.rstrip()) :], "")]


def _joined(words: list[tuple[str, str]]) -> tuple[str, str]:
    """Several words as one, with the whitespace before the first."""
    text = "".join(gap + word for gap, word in words)
    gap = words[0][0] if words else ""
    return gap, text[len(gap) :]


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


def _or_none(text: object) -> str:
    return one_line(text, 200) or UNKNOWN


def _static_version() -> str:
    from hashlib import sha256

    files = (one for one in (resources.files("seasoned.web") / "static").iterdir() if one.is_file())
    return sha256(b"".join(one.read_bytes() for one in sorted(files, key=lambda one: one.name))).hexdigest()[:10]
