"""Live Wikipedia, played by a server on loopback."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from seasoned.errors import ConfigError, InfrastructureError
from seasoned.lab.benchmarks.search.docstore import Miss, Page
from seasoned.lab.benchmarks.search.wikipedia import MAX_BYTES, MAX_WAIT, USER_AGENT, Wikipedia, live

TEXT = "Ink is a fluid. It is dark.\n\n\n== History ==\nIt is old. Dr. Oak made it.\n"
MISSING = {"batchcomplete": True, "query": {"pages": [{"title": "x", "missing": True}]}}
FOUND = {"batchcomplete": True, "query": {"search": [{"title": f"Ink {i}"} for i in range(7)]}}


def page(text: str = TEXT, **more: Any) -> dict[str, Any]:
    return {"batchcomplete": True, "query": {"pages": [{"title": "Ink", "extract": text, **more}]}}


class Server:
    """Answers each request with the next of `turns`: a value as JSON, bytes as they are, or a status."""

    def __init__(self) -> None:
        self.turns: list[Any] = []
        self.asked: list[dict[str, str]] = []
        self.agents: list[str] = []
        self.waits: list[float] = []
        self.api = ""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    play = Server()
    monkeypatch.setattr("seasoned.lab.benchmarks.search.wikipedia.time.sleep", play.waits.append)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            play.asked.append({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})
            play.agents.append(self.headers["User-Agent"])
            turn = play.turns.pop(0)
            status, turn = (turn, {}) if isinstance(turn, int) else (200, turn)
            body = turn if isinstance(turn, bytes) else json.dumps(turn).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "999")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        play.api = f"http://127.0.0.1:{http.server_address[1]}/w/api.php"
        yield play
        http.shutdown()
        thread.join()


def search(server: Server, query: str, *turns: Any, **settings: Any) -> Page | Miss:
    server.turns = list(turns)
    return Wikipedia(server.api, timeout=2.0, **settings).search(query)


def test_a_page_comes_whole_without_headings(server: Server) -> None:
    found = search(server, " ink ", page())
    assert found == Page("Ink", ("Ink is a fluid.", "It is dark.", "It is old.", "Dr. Oak made it."))
    (asked,) = server.asked
    assert {"action": "query", "format": "json", "titles": "ink", "explaintext": "1", "redirects": "1"}.items() <= (
        asked.items()
    )
    assert server.agents == [USER_AGENT]


@pytest.mark.parametrize("first", [MISSING, page("See also.", pageprops={"disambiguation": ""}), page("")])
def test_without_a_page_the_search_names_five(server: Server, first: Any) -> None:
    assert search(server, "ink", first, FOUND) == Miss(tuple(f"Ink {i}" for i in range(5)))
    assert server.asked[1]["srsearch"] == "ink"


@pytest.mark.parametrize("query", ["x" * 10_000, "a|b", "[ink]", "ü" * 200])
def test_what_can_be_no_title_is_only_searched_for(server: Server, query: str) -> None:
    assert search(server, query, FOUND).similar  # type: ignore[union-attr]
    (asked,) = server.asked
    assert asked["srsearch"] == query[:300]


def test_odd_queries(server: Server) -> None:
    assert search(server, " \n") == Miss()
    assert search(server, "\ud800") == Miss()
    assert search(server, "a\ud800b", MISSING, {"batchcomplete": True}) == Miss()
    assert server.asked[0]["titles"] == "ab"
    elsewhere = {"batchcomplete": True, "query": {"interwiki": [{"title": "fr:Encre", "iw": "fr"}]}}
    assert search(server, "fr:Encre", elsewhere, {"batchcomplete": True, "query": {"search": []}}) == Miss()


@pytest.mark.parametrize(("fault", "waits"), [(503, [1.5, 3.0]), (500, [1.5, 3.0]), (429, [MAX_WAIT] * 2)])
def test_a_passing_fault_is_tried_again_after_a_pause(server: Server, fault: int, waits: list[float]) -> None:
    assert isinstance(search(server, "ink", fault, fault, page(), pause=1.5), Page)
    assert len(server.asked) == 3
    assert server.waits == waits


@pytest.mark.parametrize(
    ("turns", "says", "tries"),
    [
        ((503, 503, 503, 503), "HTTP status 503", 4),
        ((404,), "HTTP status 404", 1),
        ((b"<html>",), "not JSON: b'<html>'", 1),
        (({"error": {"code": "ratelimited"}},), "should answer with query.pages, but answered .*ratelimited", 1),
        (([],), "should answer with query.pages", 1),
        (({"query": {"pages": {"1": {}}}},), "should answer with query.pages", 1),
        ((b" " * (MAX_BYTES + 1),), "more than 8388608 bytes", 1),
    ],
)
def test_a_lasting_fault_is_an_infrastructure_error(
    server: Server, turns: tuple[Any, ...], says: str, tries: int
) -> None:
    with pytest.raises(InfrastructureError, match=says):
        search(server, "ink", *turns)
    assert len(server.asked) == tries


def test_a_server_that_is_not_there(server: Server) -> None:
    with pytest.raises(InfrastructureError, match=r"could not be searched .*docstore to offline"):
        Wikipedia("http://127.0.0.1:9/w/api.php", timeout=1.0, tries=2).search("ink")


@pytest.mark.parametrize("api", ["file:///etc/passwd", "en.wikipedia.org", "", "http://"])
def test_only_an_http_address_will_do(api: str) -> None:
    with pytest.raises(ConfigError, match=r"benchmark\.api"):
        live(api)


def test_what_was_found_is_not_fetched_again(server: Server) -> None:
    find: Callable[[str], Page | Miss] = live(server.api)
    server.turns = [page(), MISSING, FOUND]
    assert [find(query) for query in ("ink", "no", "ink", "no")] == [
        find(query) for query in ("ink", "no", "ink", "no")
    ]
    assert len(server.asked) == 3
