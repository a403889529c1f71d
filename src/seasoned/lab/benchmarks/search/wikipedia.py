"""Live Wikipedia as a docstore, through the MediaWiki API; used only if a recipe has `docstore = "wikipedia"`.

Always holds: for any behaviour of server and network, a search ends in a page, a miss or an InfrastructureError;
replies are untrusted and limited in size, and only their text is used; repeated searches come from a cache.
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
"""The most seconds to wait before a retry, even if the server asks for more."""

_KEPT_PAGES = 2000
_TITLE_BYTES = 255  # MediaWiki's limit
_QUERY_CHARS = 300  # MediaWiki's limit
_NO_TITLE = re.compile(r"[#<>\[\]{}|\x00-\x1f\x7f]")
_HEADING = re.compile(r"^=+[^\n]*=+[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Wikipedia:
    """A MediaWiki with the TextExtracts extension, such as Wikipedia; `api` is the address of its `api.php`.

    A try fails after `timeout` seconds without data; the second of `tries` waits `pause` seconds, and each further one
    twice as long.
    """

    api: str = API
    timeout: float = 20.0
    tries: int = 4
    pause: float = 1.0

    def __post_init__(self) -> None:
        if urlsplit(self.api).scheme not in ("http", "https") or not urlsplit(self.api).hostname:
            raise ConfigError(f"benchmark.api should be the http address of an api.php, but is {self.api!r}")

    def search(self, query: str) -> Page | Miss:
        """The page with this title, after redirects, or else the titles that a full-text search finds.

        A disambiguation page counts as not found, as in ReAct's environment. InfrastructureError if the server cannot
        be reached, refuses, or does not answer as a MediaWiki does.
        """
        name = " ".join(query.encode("utf-8", "ignore").decode("utf-8").split())
        if not name:
            return Miss()
        fits = len(name.encode("utf-8")) <= _TITLE_BYTES and not _NO_TITLE.search(name)
        if fits and (page := self._page(name)):
            return page
        return Miss(self._similar(name))

    def _page(self, title: str) -> Page | None:
        parameters = {"prop": "extracts|pageprops", "explaintext": 1, "ppprop": "disambiguation", "redirects": 1}
        for page in self._entries("pages", {**parameters, "titles": title}):
            text, name = page.get("extract"), page.get("title")
            if isinstance(text, str) and isinstance(name, str) and not page.get("pageprops"):
                try:
                    return make_page(name, _HEADING.sub("", text))
                except ValueError:
                    return None
        return None

    def _similar(self, words: str) -> tuple[str, ...]:
        parameters = {"list": "search", "srprop": "", "srlimit": SIMILAR, "srsearch": words[:_QUERY_CHARS]}
        titles = (hit.get("title") for hit in self._entries("search", parameters))
        return tuple(title for title in titles if isinstance(title, str))[:SIMILAR]

    def _entries(self, name: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
        """The objects under `query.<name>` of the reply to a query."""
        parameters = {"action": "query", "format": "json", "formatversion": 2, **parameters}
        reply = self._fetch(f"{self.api}?{urlencode(parameters)}")
        reply = reply if isinstance(reply, dict) else {"reply": reply}
        query = reply.get("query", {})
        # A complete reply may lack the list, as for the title of another wiki ("fr:Encre").
        default: list[Any] | None = [] if reply.get("batchcomplete") else None
        entries = query.get(name, default) if isinstance(query, dict) else None
        if not isinstance(entries, list):
            beginning = json.dumps(reply, ensure_ascii=False)[:200]
            raise InfrastructureError(f"{self.api} should answer with query.{name}, but answered {beginning}")
        return [entry for entry in entries if isinstance(entry, dict)]

    def _fetch(self, url: str) -> Any:
        request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT, "Accept": "application/json"})
        wait = self.pause
        for left in reversed(range(max(self.tries, 1))):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    body = response.read(MAX_BYTES + 1)
                break
            except urllib.error.HTTPError as error:
                with error:
                    fault, retry_after = f"HTTP status {error.code}", error.headers.get("Retry-After", "")
                if left == 0 or (error.code != 429 and error.code < 500):
                    raise self._unreachable(fault) from None
                wait = max(wait, float(retry_after) if retry_after.isdecimal() else 0.0)
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
    """A cached search of the Wikipedia at this address; ConfigError if it is not an address."""
    return lru_cache(_KEPT_PAGES)(Wikipedia(api).search)
