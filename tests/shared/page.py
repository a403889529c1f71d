"""A store with lessons, attempts and a run, and a browser of words over the page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from seasoned.lab.report.build import build
from seasoned.lab.report.measures import Row
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Step, Trajectory
from seasoned.web.app import make_app

TOKEN = "a-token-of-a-test-0123456789"
HOST = "http://127.0.0.1:8764"
SCOPE = "memory/default"


def visit(app: Any, token: str = TOKEN, **options: Any) -> TestClient:
    """A browser of words that was let in by the token."""
    client = TestClient(app, base_url=HOST, headers={"origin": HOST}, **options)
    assert client.get(f"/?token={token}").status_code == 200
    return client


@pytest.fixture
def attempts() -> list[Trajectory]:
    steps = (Step(thought="look first", action="lookup(17)", observation="shipped"), Step(action="tell"))
    made = Trajectory(id="tra-1", task_id="t1", task="Refund order 17", steps=steps, category="orders")
    ended = Outcome(success=False, reason="answered", answer="refunded")
    later = made.model_copy(
        update={"id": "tra-2", "task": "Refund order 18", "lesson_ids": ("les-1",), "outcome": Outcome(success=True)}
    )
    return [made.model_copy(update={"outcome": ended}), later]


@pytest.fixture
def store(tmp_path: Path, attempts: list[Trajectory]) -> Any:
    with Store(tmp_path / "seasoned.db", timeout=0.3) as opened:
        opened.add_trajectories(SCOPE, attempts)
        lessons = [
            Lesson(id="les-1", kind="heuristic", text="Look an order up before you refund it.", sources=("tra-1", "x")),
            Lesson(id="les-2", kind="note", key="order 17", text="It was shipped."),
            Lesson(id="les-3", kind="insight", text="Ask twice.", status="quarantined", data={"flags": ["odd words"]}),
        ]
        opened.add_lessons(SCOPE, lessons, who="model", why="learned from tra-1")
        yield opened


@pytest.fixture
def runs(made_runs: Path, tmp_path: Path) -> Path:
    """Two complete runs, and one that is not."""
    shutil.copytree(made_runs, tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    for name, good in (("20310405T101112-emoji-aaaaaa", 5), ("20310406T101112-emoji-bbbbbb", 6)):
        rows = [
            Row(
                run_id=name,
                benchmark="emoji",
                condition=condition,
                seed=0,
                split="test",
                task_id=f"t{i}",
                task="a task",
                reason="answered",
                success=i < solved,
            )
            for condition, solved in (("disabled", 2), ("expnote", good))
            for i in range(8)
        ]
        run = {
            "id": name,
            "name": "emoji",
            "benchmark": "emoji",
            "model": "tiny",
            "started": "2031-04-05T10:11:12+00:00",
        }
        folder = made / name
        folder.mkdir()
        (folder / "config.toml").write_text('name = "emoji"\n')
        (folder / "results.jsonl").write_text("\n".join(row.model_dump_json() for row in rows))
        (folder / "summary.json").write_text(build(rows, run=run).model_dump_json(by_alias=True))
        (folder / "report.html").write_text("<!doctype html><p>the report")
    unfinished = made / "20310407T101112-emoji-cccccc"
    unfinished.mkdir()
    (unfinished / "config.toml").write_text("")
    return made


@pytest.fixture
def client(store: Store, runs: Path) -> Any:
    with visit(make_app(store, token=TOKEN, runs_folder=runs)) as opened:
        yield opened
