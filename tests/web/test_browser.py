"""A person's journey through the page, in a real Chromium: keyboard, search, edit, history, dark and phone."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store
from seasoned.types import Lesson
from seasoned.web.app import make_app

pytestmark = pytest.mark.browser

TOKEN = "a-token-of-a-test-0123456789"
# What follows a key or a swap that was asked for is no jump. A busy machine's answer comes later than the half second
# after a key that a browser knows as an answer to it, and is drawn later still: a swap lasts until it was drawn.
JUMPS = """
window.jumps = 0;
const swaps = [];
document.addEventListener("htmx:beforeSwap", () => swaps.push({ from: performance.now() - 500, to: Infinity }));
const drawn = () => swaps.forEach((one) => { one.to = Math.min(one.to, performance.now() + 500); });
document.addEventListener("htmx:afterSettle", () => requestAnimationFrame(() => requestAnimationFrame(drawn)));
new PerformanceObserver((list) => {
  const asked = (e) => e.hadRecentInput || swaps.some((one) => one.from < e.startTime && e.startTime < one.to);
  for (const e of list.getEntries()) if (!asked(e)) window.jumps += e.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture
def address(store: Store, runs):
    with served(make_app(store, token=TOKEN, runs_folder=runs)) as address:
        yield address


@contextmanager
def served(app):
    """Serves the page on loopback; gives its address."""
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
        thread.start()
        yield f"http://127.0.0.1:{held.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("there is no Chromium here: install Debian's chromium and chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    more = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1100,900")
    for argument in (
        *more,
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
        "--no-first-run",
        "--disable-background-networking",
    ):
        options.add_argument(argument)
    made = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    made.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": JUMPS})
    yield made
    made.quit()


@pytest.fixture
def browser(chromium):
    """The browser of all tests, as it began; what a page stores is kept by its address, which each test has anew."""
    chromium.get("about:blank")
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chromium.get_log("browser")
    return chromium


def until(what, seconds=8.0):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def keys(browser, *pressed):
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*pressed).perform()


def text(browser):
    return browser.execute_script("return document.body ? document.body.innerText : ''")


def focused(browser):
    return browser.execute_script("return document.activeElement.id || document.activeElement.innerText")


def look(browser, name, tmp_path):
    """Keep a picture, and see to it that nothing jumped, stuck out or was refused."""
    jumps = browser.execute_script("return window.jumps")
    assert jumps < 0.02, f"{name} jumped: {jumps}"
    until(lambda: browser.execute_script("return document.readyState") == "complete")
    wide = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1], f"{name} is wider than the window: {wide}"
    unlabelled = browser.execute_script(
        "return [...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter("
        "(one) => !one.labels.length && !one.getAttribute('aria-label')).map((one) => one.outerHTML)"
    )
    assert unlabelled == []
    browser.save_screenshot(str(tmp_path / f"{name}.png"))


def test_a_journey(browser, address, store, tmp_path):
    from selenium.webdriver import Keys

    store.add_lessons("many", [Lesson(kind="note", text=f"note number {i:03}") for i in range(120)], who="rule")
    browser.get(f"{address}/?token={TOKEN}")
    until(lambda: browser.current_url == f"{address}/")  # the token has left the address
    look(browser, "overview", tmp_path)
    browser.find_element("link text", "Lessons").click()
    until(lambda: browser.current_url == f"{address}/lessons")
    look(browser, "lessons", tmp_path)

    keys(browser, "/")
    assert focused(browser) == "q"
    keys(browser, "refund")
    until(lambda: "1 found" in text(browser))
    assert "q=refund" in browser.current_url
    look(browser, "search", tmp_path)
    keys(browser, Keys.ESCAPE, "j")
    assert "Look an order up" in focused(browser)
    keys(browser, Keys.ENTER)
    until(lambda: "Sources" in text(browser))
    look(browser, "lesson", tmp_path)

    keys(browser, "e")
    until(lambda: "Edit version 1" in text(browser))
    area = browser.find_element("name", "text")
    area.clear()
    area.send_keys("Look an order up, then refund it.\n<script>document.title = 'broken in'</script>")
    browser.find_element("name", "why").send_keys("clearer")
    look(browser, "edit", tmp_path)
    area.submit()
    until(lambda: "saved as a new version" in text(browser))
    assert "clearer" in text(browser)
    assert "<script>document.title" in text(browser)
    assert browser.title != "broken in"
    look(browser, "edited", tmp_path)
    assert store.history("les-1")[-1].who == "person"

    store.update_lesson(store.get_lesson("les-1").model_copy(update={"text": "Theirs."}), who="model", why="learned")
    browser.find_element("css selector", "button[value=disable]").click()
    until(lambda: "Changed meanwhile" in text(browser))
    assert store.get_lesson("les-1").status == "active"

    browser.save_screenshot(str(tmp_path / "conflict.png"))
    keys(browser, "?")
    until(lambda: browser.execute_script("return document.getElementById('keys').open"))
    look(browser, "help", tmp_path)

    browser.get(f"{address}/lessons?scope=many")
    more = browser.find_element("css selector", ".more a")
    more.click()
    until(lambda: len(browser.find_elements("css selector", "a.item")) == 100)
    assert browser.current_url.endswith("?scope=many")

    for shade, width in (("dark", 1100), ("light", 390)):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": shade}]}
        )
        size = {"width": width, "height": 844, "deviceScaleFactor": 2 if width < 500 else 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for path in (
            "",
            "lessons",
            "lesson?id=les-1",
            "lesson/edit?id=les-1",
            "attempts",
            "attempt?id=tra-1",
            "runs",
            "snapshots",
        ):
            browser.get(f"{address}/{path}")
            look(browser, f"{path.partition('?')[0].replace('/', '-')}-{shade}-{width}", tmp_path)
    refused = [line for line in browser.get_log("browser") if "favicon" not in line["message"]]
    assert [line["message"] for line in refused if " 409 " not in line["message"]] == []


def test_learning_with_a_click(browser, store, runs, tmp_path):
    heuristic = {"analysis": "It was closed.", "trigger": "a door is closed", "action": "open it first"}

    seen = threading.Event()

    def say(messages):
        seen.wait(20)
        return heuristic

    with served(make_app(store, token=TOKEN, runs_folder=runs, llm=ScriptedModel(say))) as address:
        browser.get(f"{address}/?token={TOKEN}")
        until(lambda: browser.current_url == f"{address}/")
        browser.get(f"{address}/attempts")
        browser.find_element("link text", "Learn from them").click()
        until(lambda: "2 attempts to learn from" in text(browser))
        assert "2 calls of scripted, about 3,000 tokens, price unknown" in text(browser)
        look(browser, "learn", tmp_path)
        browser.find_element("css selector", "button.primary:not(dialog button)").click()
        until(lambda: "Learning is running" in text(browser))
        seen.set()
        until(lambda: "Learned from 2 attempts" in text(browser), 20)  # without a reload
        assert "When a door is closed" in text(browser)
        look(browser, "learned", tmp_path)
        size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(f"{address}/learn")
        look(browser, "learn-phone", tmp_path)
        assert [line["message"] for line in browser.get_log("browser")] == []


def test_the_colours_that_a_person_chose_stay(browser, address, tmp_path):
    browser.get(f"{address}/?token={TOKEN}")
    until(lambda: "Waiting for you" in text(browser))
    paper = "return getComputedStyle(document.body).backgroundColor"
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    )
    light = browser.execute_script(paper)
    browser.find_element("css selector", "#theme option[value=dark]").click()
    until(lambda: browser.execute_script(paper) != light)
    dark = browser.execute_script(paper)
    browser.get(f"{address}/lessons")
    assert browser.execute_script(paper) == dark
    browser.find_element("css selector", "#theme option[value='']").click()
    until(lambda: browser.execute_script(paper) == light)


def test_ticked_lessons_are_changed_together(browser, address, store, tmp_path):
    browser.get(f"{address}/?token={TOKEN}")
    until(lambda: browser.current_url == f"{address}/")
    browser.get(f"{address}/lessons")
    for name in ("les-1", "les-3"):
        browser.find_element("name", name).click()
    look(browser, "ticked", tmp_path)
    browser.find_element("css selector", "#bulk button[value=disable]").click()
    until(lambda: "1 changed. 1 not changed" in text(browser))
    assert [store.get_lesson(name).status for name in ("les-1", "les-2", "les-3")] == [
        "disabled",
        "active",
        "quarantined",
    ]


PAGES = (
    *("", "lessons", "lessons?q=zzz", "lesson?id=les-1", "lesson?id=les-3", "lesson/edit?id=les-1", "lesson/add"),
    *("attempts", "attempt?id=tra-1", "effect", "learn", "snapshots", "runs", "nowhere"),
    *(
        "run?id=20310406T101112-emoji-bbbbbb",
        "compare?run=20310406T101112-emoji-bbbbbb&run=20310405T101112-emoji-aaaaaa",
    ),
    "diff?scope=memory/default&before=first",
)
"""All pages, those with marks in several states more than once."""


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(browser, address, store, shade):
    file = Path(os.environ.get("SEASONED_AXE", "node_modules/axe-core/axe.min.js"))
    if not file.is_file():
        pytest.skip("axe-core is not here: npm install axe-core, and name its axe.min.js in SEASONED_AXE")
    axe = file.read_text(encoding="utf-8")
    store.add_snapshot("memory/default", "first", who="person")
    lesson = store.get_lesson("les-2")
    store.update_lesson(lesson.model_copy(update={"text": "It was shipped late.", "pinned": True}), who="model")
    browser.get(f"{address}/?token={TOKEN}")
    until(lambda: browser.current_url == f"{address}/")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": shade}]}
    )
    browser.set_script_timeout(60)
    found = {}
    for page in PAGES:
        browser.get(f"{address}/{page}")
        browser.execute_script(axe)  # also while figures are still drawn
        wrong = browser.execute_async_script(
            "const done = arguments[0]; axe.run().then((said) => done(said.violations.map("
            "(one) => [one.id, ...one.nodes.map((node) => node.html + ' ' + node.failureSummary)])), "
            "(error) => done([String(error)]))"
        )
        found |= {page: wrong} if wrong else {}
    assert found == {}


def test_a_run_with_its_figures(browser, address, tmp_path):
    browser.get(f"{address}/?token={TOKEN}")
    until(lambda: browser.current_url == f"{address}/")
    browser.get(f"{address}/run?id=20310406T101112-emoji-bbbbbb")
    until(lambda: len(browser.find_elements("css selector", "figure svg")) > 1, 30)
    look(browser, "run", tmp_path)
    browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    browser.save_screenshot(str(tmp_path / "figures.png"))
    assert [line["message"] for line in browser.get_log("browser")] == []
