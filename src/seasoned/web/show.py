"""How things are shown: the templates, what they may call, and differences between two texts.

Always holds: whatever comes from outside is escaped, cut to a readable length, and cannot turn the direction of the
text around it; a link is built from its parts and nothing else.
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
"""Characters of a text that are shown before somebody asks for all of it."""
COMPARED = 10
"""Versions of a lesson, newest first, that are compared word by word with the ones before them."""
_WORDS = 600  # of a text that are compared
_WORK = 2_000_000  # words times pairs of equal words: a comparison takes no longer than about 0.1 s
_SEVERAL = re.compile(r"bulk-(\d{1,6})-(\d{1,6})")
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
    "purge": "The lesson and its history were deleted for good.",
    "purge-later": "The lesson and its history were deleted. Another program has the store open: until it closes it, "
    "the log file beside the store still holds the text.",
    "snapshot": "The snapshot was saved.",
    "resumed": "Guidance is shown again; the evidence against it begins anew.",
    "outcome": "The verdict was kept, beside the earlier one.",
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
        link=link, LONG=LONG, COMPARED=COMPARED, difference=difference, moved=moved, verdict=verdict, version=_mark()
    )
    environment.filters.update(line=one_line, cut=_beginning, clock=clock, label=label, count=count, or_none=_or_none)
    return environment


def show(request: Request, name: str, status: int = 200, /, **values: Any) -> Response:
    """A page made of a template."""
    from starlette.responses import HTMLResponse

    done = _done(request.query_params.get("done", ""))
    page = templates().get_template(name).render(path=request.url.path, done=done, visitor=visitor(request), **values)
    return HTMLResponse(page, status)


def _done(name: str) -> str:
    """What a change that led here did, as a sentence."""
    if several := _SEVERAL.fullmatch(name):
        left = int(several[2])
        rest = f" {left:,} stayed: in another state, or changed meanwhile." if left else ""
        return f"{int(several[1]):,} changed.{rest}"
    return _DONE.get(name, "")


def redirect(path: str, /, **parts: object) -> Response:
    """Send the browser to another address of this page, after a change."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(link(path, **parts), 303)


def link(path: str, /, **parts: object) -> str:
    """An address of this page; parts that are empty are left out."""
    kept = {name: clean_text(str(part)) for name, part in parts.items() if part not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def clock(stamp: str) -> str:
    """A time of the store, UTC, as far as a person reads it."""
    return one_line(stamp[:16].replace("T", " "), 40)


def verdict(success: bool | None) -> tuple[str, str]:
    """How an attempt ended: a word for people, and one for the stylesheet."""
    return {True: ("solved", "yes"), False: ("failed", "no"), None: ("unknown", "open")}[success]


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """What became of a text: parts marked "same", "gone" or "new", in order; long texts give their ends alone."""
    old, new = _words(before), _words(after)
    left, right = ([word for _, word in words] for words in (old, new))
    often = Counter(left)
    pairs = sum(often[word] for word in right)
    if max(len(old), len(new)) > _WORDS or pairs * min(len(old), len(new)) > _WORK:
        return [("gone", cut(before, 600)), ("new", cut(after, 600))]
    parts: list[tuple[str, str]] = []

    def tell(mark: str, text: str) -> None:
        if text and parts and parts[-1][0] == mark:
            parts[-1] = (mark, parts[-1][1] + text)
        elif text:
            parts.append((mark, text))

    for what, i, j, k, m in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        both = zip(old[i:j], new[k:m], strict=True) if what == "equal" else [(_joined(old[i:j]), _joined(new[k:m]))]
        for (gap, gone), (other, came) in both:
            tell("same" if gap == other else "gone", gap)
            tell("new", "" if gap == other else other)
            tell("same" if what == "equal" else "gone", gone)
            tell("new", "" if what == "equal" else came)
    return parts


def _words(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with the gap before it; after them the last gap, before no word."""
    shown = clean(text)
    return [*re.findall(r"(\s*)(\S+)", shown), (shown[len(shown.rstrip()) :], "")]


def _joined(words: list[tuple[str, str]]) -> tuple[str, str]:
    """Several words as one; the gap before the first is that before all."""
    text = "".join(gap + word for gap, word in words)
    gap = words[0][0] if words else ""
    return gap, text[len(gap) :]


def moved(before: Lesson, after: Lesson) -> list[str]:
    """What changed from one version of a lesson to the next beside its text, a few words each."""
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


def _mark() -> str:
    from hashlib import sha256

    files = (one for one in (resources.files("seasoned.web") / "static").iterdir() if one.is_file())
    return sha256(b"".join(one.read_bytes() for one in sorted(files, key=lambda one: one.name))).hexdigest()[:10]
