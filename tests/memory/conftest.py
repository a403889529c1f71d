"""A store that is made once and copied, and small methods, so that a memory opens quickly."""

from dataclasses import dataclass, field

import pytest

from seasoned.memory import Memory
from seasoned.store.sql import Store
from seasoned.types import Block, Guidance, Lesson


@dataclass
class Diary:
    """Keeps an insight from each attempt, and shows all of them; `given` are the batches it got."""

    given: list = field(default_factory=list)

    def learn(self, trajectories, pool):
        self.given.append([t.task for t in trajectories])
        for t in trajectories:
            said = t.steps[-1].observation if t.steps else ""
            pool.add(Lesson(kind="insight", text=f"{t.task}: {said}", sources=(t.id,)), why="seen")

    def recall(self, task, pool, progress=None):
        found = pool.lessons("insight")
        return Guidance(lessons=tuple(found), blocks=(Block.listing("", found, (lesson.text for lesson in found)),))


@dataclass
class Asking(Diary):
    """Asks its model what each attempt taught."""

    llm: object = None

    def learn(self, trajectories, pool):
        self.given.append([t.task for t in trajectories])
        for t in trajectories:
            reply = self.llm.chat([{"role": "user", "content": t.task}])
            pool.add(Lesson(kind="insight", text=reply.text, sources=(t.id,)))


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """The bytes of a store without anything in it."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    Store(path).close()
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, empty):
    """A store without anything in it."""
    (tmp_path / "memory.db").write_bytes(empty)
    return tmp_path / "memory.db"


@pytest.fixture
def opened(path):
    """Opens memories of one store, and closes them at the end."""
    made = []

    def open_memory(method=None, **more):
        made.append(Memory(**{"store": path, "method": method or Diary(), "embedder": "hashing", **more}))
        return made[-1]

    yield open_memory
    for memory in made:
        memory.close()


@pytest.fixture
def memory(opened):
    return opened()


@pytest.fixture
def diary():
    return Diary


@pytest.fixture
def asking():
    return Asking
