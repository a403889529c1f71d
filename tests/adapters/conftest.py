"""A memory to adapt, what it kept, and a model on loopback."""

import asyncio

import pytest
from model_server import model_server

from seasoned.memory import Memory
from seasoned.store.sql import Store

RULE = "Look the order up before any refund."


@pytest.fixture(autouse=True)
def _loop():
    """An event loop for the `run_sync` of frameworks, which make one otherwise and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """The bytes of a store without anything in it."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    Store(path).close()
    return path.read_bytes()


@pytest.fixture
def memory(tmp_path, empty):
    """A memory without anything in it."""
    (tmp_path / "memory.db").write_bytes(empty)
    with Memory(tmp_path / "memory.db", method="expnote", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def taught(memory):
    """The same memory, with RULE in it."""
    memory.add(RULE)
    return memory


@pytest.fixture
def kept(memory):
    """The attempts that were kept so far, in order."""
    return lambda: memory.pool.trajectories()


@pytest.fixture
def confused():
    """A check that fails."""

    def check(task, answer):
        raise RuntimeError("who knows")

    return check


@pytest.fixture
def lost(kept, caplog):
    """Sees that a run whose check failed was kept as unknown, and that one sentence says so."""

    def look():
        [sentence] = caplog.messages
        assert "its record could not be completed: RuntimeError: who knows" in sentence
        [found] = kept()
        assert (found.outcome.success, found.outcome.detail) == (None, "ended by RuntimeError")
        return True

    return look


@pytest.fixture
def play():
    """A model on loopback that says what the test scripts."""
    with model_server() as played:
        yield played


@pytest.fixture
def rule():
    return RULE
