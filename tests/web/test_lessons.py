import threading
import time

import pytest

from seasoned.memory import Memory
from seasoned.types import Lesson
from seasoned.web.show import COMPARED
from seasoned.web.site import PAGE

pytestmark = pytest.mark.usefixtures("fixed_coins")


def test_the_list_shows_newest_first_and_counts(client):
    page = client.get("/lessons").text
    assert page.index("Ask twice.") < page.index("It was shipped.") < page.index("Look an order up")
    assert "2 active" in page
    assert "1 waits in quarantine" in page


def test_search_and_filters(client):
    assert "It was shipped." in client.get("/lessons?q=ORDER+shipped").text
    assert "Ask twice." not in client.get("/lessons?q=ORDER+shipped").text
    assert "No lesson matches" in client.get("/lessons?q=zzz").text
    assert "Ask twice." in client.get("/lessons?status=quarantined").text
    assert "It was shipped." not in client.get("/lessons?kind=insight").text
    assert "No lesson matches" in client.get("/lessons?scope=other").text
    assert client.get("/lessons?kind=opinion").status_code == 400
    assert client.get("/lessons?before=x").status_code == 400


def test_pages_follow_one_another_without_gaps(client, store):
    store.add_lessons(
        "many", [Lesson(kind="note", text=f"text number {i:03}") for i in range(PAGE * 2 + 5)], who="rule"
    )
    seen, path = [], "/lessons?scope=many"
    while path:
        page = client.get(path, headers={"hx-request": "true", "hx-request-type": "partial"}).text
        assert "<html" not in page
        seen += [int(part[:3]) for part in page.split('dir="auto">text number ')[1:]]
        path = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&") if "hx-get" in page else ""
    assert seen == list(range(PAGE * 2 + 5))[::-1]


def test_one_lesson_with_all_that_is_known(client):
    page = client.get("/lesson?id=les-1").text
    assert "Look an order up before you refund it." in page
    assert 'href="/attempt?id=tra-1"' in page
    assert "is not in this store" in page  # its second source
    assert 'href="/attempt?id=tra-2"' in page
    assert "<b>1</b><span>solved</span>" in page
    assert "learned from tra-1" in page
    assert "by model" in page
    assert "<dt>trust</dt><dd>imported: an imported log, or an unknown source</dd>" in page  # the source is not here


def test_only_the_newest_versions_are_compared_word_by_word(client, store):
    [lesson] = store.add_lessons("h", [Lesson(kind="note", text="word 0")], who="person")
    for n in range(1, COMPARED + 3):
        lesson = store.update_lesson(lesson.model_copy(update={"text": f"word {n}"}), who="person")
    page = client.get(f"/lesson?id={lesson.id}&all=1").text
    assert page.count("<ins>") == COMPARED
    assert f"<del>{COMPARED + 1}</del><ins>{COMPARED + 2}</ins>" in page
    assert "word 1</div>" in page


def test_quarantine_says_why(client):
    page = client.get("/lesson?id=les-3").text
    assert "Why: odd words" in page
    assert 'value="release"' in page


def test_what_is_not_there_is_a_sentence(client):
    answer = client.get("/lesson?id=les-9")
    assert answer.status_code == 404
    assert "There is no lesson" in answer.text
    assert client.get("/lesson").status_code == 404
    assert client.get("/lesson?id=%00%ff%F0%9F").status_code == 404


def test_hostile_text_is_harmless(client, store):
    text = "<script>alert(1)</script>\u202egnp.exe\x07\x1b[31m<img src=x onerror=alert(1)>"
    lesson = Lesson(
        id='les-"><b>', kind="note", key="<b>k</b>", category="<i>", text=text, method="<u>", sources=("<s>",)
    )
    store.add_lessons("<p>", [lesson], who="<who>", why="<why>")
    for path in ("/lessons", "/lesson?id=les-%22%3E%3Cb%3E", "/lesson/edit?id=les-%22%3E%3Cb%3E"):
        answer = client.get(path)
        assert answer.status_code == 200
        page = answer.text
        for bad in (
            "<script>alert",
            "<img src=x",
            "\u202e",
            "\x07",
            "\x1b",
            "<b>k",
            "<who>",
            "<why>",
            '<p>"',
            '<s>"',
            'les-">',
        ):
            assert bad not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_megabyte_is_cut_and_shown_whole_on_request(client, store):
    store.add_lessons("big", [Lesson(id="big", kind="note", text="word " * 210_000)], who="model")
    assert len(client.get("/lessons").content) < 20_000
    short = client.get("/lesson?id=big")
    assert len(short.content) < 30_000
    assert "Show all 1,050,000 characters" in short.text
    assert len(client.get("/lesson?id=big&all=1").content) > 1_050_000


def test_search_by_meaning(store, runs):
    from starlette.testclient import TestClient

    from seasoned.embed import embedder
    from seasoned.web.app import make_app

    app = make_app(store, token="t" * 16, runs_folder=runs, embedder=embedder("hashing"))
    client = TestClient(app, base_url="http://localhost")
    client.get(f"/?token={'t' * 16}")
    page = client.get("/lessons?by=meaning&q=look+an+order+up&scope=memory/default").text
    assert "nearest in meaning" in page
    assert page.index("Look an order up") < page.index("It was shipped.")
    assert "Ask twice." not in page  # quarantined


def test_a_search_by_meaning_does_not_wait_for_the_start(store, runs):
    from starlette.testclient import TestClient

    from seasoned.embed import embedder
    from seasoned.web.app import make_app
    from seasoned.web.site import Site

    started = threading.Event()
    held = threading.Event()

    class Slow:
        name, dim = "slow", 256

        def embed(self, texts):
            started.set()
            assert held.wait(20)
            return embedder("hashing").embed(texts)

    app = make_app(store, token="t" * 16, runs_folder=runs, embedder=Slow())
    with TestClient(app, base_url="http://localhost") as client:
        assert started.wait(20)
        client.get(f"/?token={'t' * 16}")
        page = client.get("/lessons?by=meaning&q=shipped").text
        held.set()
        assert "1 found by words: search by meaning is still loading" in page
        deadline = time.monotonic() + 20
        while "nearest in meaning" not in client.get("/lessons?by=meaning&q=shipped").text:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert not Site(store, runs).warming
    assert "by meaning" in client.get("/lessons").text


def test_sorted_by_use(client, store):
    page = client.get("/lessons?sort=use").text
    assert page.index("Look an order up") < page.index("Ask twice.") < page.index("It was shipped.")
    assert page.count("never used") == 2
    assert "used once" in page
    store.add_lessons("many", [Lesson(kind="note", text=f"text number {i:03}") for i in range(PAGE + 5)], who="rule")
    first = client.get("/lessons?sort=use").text
    more = first.split('hx-get="')[2].split('"')[0].replace("&amp;", "&")
    rest = client.get(more, headers={"hx-request-type": "partial"}).text
    assert sum(page.count("text number ") for page in (first, rest)) >= PAGE + 5
    assert "It was shipped." in rest
    assert client.get("/lessons?sort=beauty").status_code == 400


def test_sorted_by_effect(client, store):
    assert "No lesson has an estimate" in client.get("/lessons?sort=effect").text
    with Memory(store, method="nearest", embedder="hashing", withhold=0.5) as memory:
        good, bad = (memory.add(text, who="model") for text in ("Refund with care.", "Refund at once."))
        for _ in range(60):
            with memory.attempt("Refund with care at once") as attempt:
                attempt.finish(success="with care." in attempt.guidance.text)
    page = client.get("/lessons?sort=effect").text
    assert page.index("Refund with care.") < page.index("Refund at once.")
    assert " points</b>" in page
    assert "Refund with care." in client.get("/lessons?sort=effect&q=CARE").text
    assert "Refund at once." not in client.get("/lessons?sort=effect&q=CARE").text
    del good, bad
