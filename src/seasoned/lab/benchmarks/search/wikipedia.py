"""Live Wikipedia as a docstore, through the MediaWiki API. Used only where a recipe says `docstore = "wikipedia"`.

Always holds: whatever the server or the network does ends in a page, a miss or an InfrastructureError; what comes back
is untrusted, capped in size and read for its text alone; a page that was fetched is not fetched again by this process.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit

from seasoned import __version__
from seasoned.errors import ConfigError, InfrastructureError
from seasoned.lab.benchmarks.search.docstore import SIMILAR, Miss, Page, Search, make_page

API = "https://en.wikipedia.org/w/api.php"
USER_AGENT = f"seasoned/{__version__} (https://github.com/seasoned-ai/seasoned)"
MAX_BYTES = 8 * 1024 * 1024
MAX_WAIT = 60.0
"""Seconds that a server is waited for, even if it asks for more."""

_KEPT_PAGES = 2000
_TITLE_BYTES = 255  # as MediaWiki has it
_SEARCH_CHARACTERS = 300  # as MediaWiki has it
_NO_TITLE = re.compile(r"[#<>\[\]{}|\x00-\x1f\x7f]")
_HEADING = re.compile(r"^=+[^\n]*=+[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Wikipedia:
    """A MediaWiki with the TextExtracts extension, as Wikipedia is; `api` is the address of its `api.php`.

    A try fails after `timeout` seconds without a sign of the server. Before the second of `tries` it waits `pause`
    seconds, twice as long before each further one.
    """

    api: str = API
    timeout: float = 20.0
    tries: int = 4
    pause: float = 1.0

    def __post_init__(self) -> None:
        if urlsplit(self.api).scheme not in ("http", "https") or not urlsplit(self.api).hostname:
            raise ConfigError(f"benchmark.api should be the http address of an api.php, but is {self.api!r}")

    def search(self, query: str) -> Page | Miss:
        """The page of this title, redirects followed, or else the titles that a full-text search finds.

        A page that only lists the meanings of its title counts as not found, as in ReAct's environment.

        Raises:
            InfrastructureError: The server cannot be reached, refuses, or does not answer as a MediaWiki does.
        """
        name = " ".join(query.encode("utf-8", "ignore").decode("utf-8").split())
        if not name:
            return Miss()
        if len(name.encode("utf-8")) <= _TITLE_BYTES and not _NO_TITLE.search(name):
            page = self._page(name)
            if page is not None:
                return page
        return Miss(self._similar(name))

    def _page(self, title: str) -> Page | None:
        wanted = {"prop": "extracts|pageprops", "explaintext": 1, "ppprop": "disambiguation", "redirects": 1}
        for page in self._listed("pages", {**wanted, "titles": title}):
            text, name = page.get("extract"), page.get("title")
            if isinstance(text, str) and isinstance(name, str) and not page.get("pageprops"):
                try:
                    return make_page(name, _HEADING.sub("", text))
                except ValueError:
                    return None
        return None

    def _similar(self, words: str) -> tuple[str, ...]:
        wanted = {"list": "search", "srprop": "", "srlimit": SIMILAR, "srsearch": words[:_SEARCH_CHARACTERS]}
        titles = (hit.get("title") for hit in self._listed("search", wanted))
        return tuple(title for title in titles if isinstance(title, str))[:SIMILAR]

    def _listed(self, name: str, wanted: Mapping[str, object]) -> list[dict[str, Any]]:
        """The objects under `query.<name>` of a reply."""
        parameters = {"action": "query", "format": "json", "formatversion": 2, **wanted}
        reply = self._asked(f"{self.api}?{urlencode(parameters)}")
        reply = reply if isinstance(reply, dict) else {"reply": reply}
        query = reply.get("query", {})
        # A complete reply without the list has nothing of the kind, as for the title of another wiki ("fr:Encre").
        nothing: list[Any] | None = [] if reply.get("batchcomplete") else None
        listed = query.get(name, nothing) if isinstance(query, dict) else None
        if not isinstance(listed, list):
            said = json.dumps(reply, ensure_ascii=False)[:200]
            raise InfrastructureError(f"{self.api} should answer with query.{name}, but answered {said}")
        return [entry for entry in listed if isinstance(entry, dict)]

    def _asked(self, url: str) -> Any:
        request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT, "Accept": "application/json"})
        wait = self.pause
        for left in reversed(range(max(self.tries, 1))):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    body = response.read(MAX_BYTES + 1)
                break
            except urllib.error.HTTPError as error:
                with error:
                    fault, asked_for = f"HTTP status {error.code}", error.headers.get("Retry-After", "")
                if left == 0 or (error.code != 429 and error.code < 500):
                    raise self._unreachable(fault) from None
                wait = max(wait, float(asked_for) if asked_for.isdecimal() else 0.0)
            except (OSError, HTTPException, ValueError) as error:
                if left == 0:
                    raise self._unreachable(str(getattr(error, "reason", error) or type(error).__name__)) from error
            time.sleep(min(wait, MAX_WAIT))
            wait *= 2
        if len(body) > MAX_BYTES:
            raise self._unreachable(f"a reply of more than {MAX_BYTES} bytes")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise self._unreachable(f"a reply that is not JSON: {body[:80]!r}") from None

    def _unreachable(self, fault: str) -> InfrastructureError:
        return InfrastructureError(
            f"{self.api} could not be searched ({fault}): check the network, or set benchmark.docstore to offline"
        )


def live(api: str) -> Search:
    """A search of the Wikipedia at this address that caches the last pages; ConfigError if it is not an address."""
    return lru_cache(_KEPT_PAGES)(Wikipedia(api).search)
