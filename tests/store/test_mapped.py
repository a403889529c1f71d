"""The file of vectors beside a store: what it saves, and when it does not count."""

import numpy as np
import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.pool import ExperiencePool
from seasoned.store import mapped, vectors
from seasoned.store.sql import Store
from seasoned.types import Lesson

WORDS = [f"lesson {n} of {n * n}" for n in range(60)]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "LEAST", 50)
    monkeypatch.setattr(vectors, "_FEW", 0)
    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        pool.add([Lesson(id=f"les-{n}", kind="heuristic", text=text) for n, text in enumerate(WORDS)])
        pool.nearest_lessons("lesson 7", 3)
    return tmp_path / "s.db"


def asked(path, text, k=5):
    """What a new process finds, and how many vectors it read from the store."""
    with Store(path) as store:
        read, real = [], store.get_vectors
        store.get_vectors = lambda owner, ids, *rest, **named: read.append(len(ids)) or real(owner, ids, *rest, **named)
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        return [(lesson.id, score) for lesson, score in pool.nearest_lessons(text, k)], sum(read)


def files(path):
    return sorted(path.with_name("s.db.vectors").glob("*"))


def test_the_second_process_maps_what_the_first_one_read(path):
    first, read = asked(path, "lesson 31 of 961")
    assert read == 60
    assert len(files(path)) == 1
    assert asked(path, "lesson 31 of 961") == (first, 0)


def test_what_changed_or_came_since_is_read_from_the_store(path):
    asked(path, "lesson")
    with Store(path) as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        pool.update(store.get_lesson("les-3").model_copy(update={"text": "a red door"}))
        pool.add(Lesson(id="les-new", kind="heuristic", text="a red door too"))
    found, read = asked(path, "a red door", 2)
    assert [name for name, _ in found] == ["les-3", "les-new"]
    assert read == 2
    assert [name for name, _ in asked(path, WORDS[3], 1)[0]] != ["les-3"]


@pytest.mark.parametrize("spoil", [b"", b"{}", b"x" * 5000, None])
def test_a_file_that_cannot_be_used_is_as_if_it_were_not_there(path, spoil):
    first, _ = asked(path, "lesson 31 of 961")
    [file] = files(path)
    file.write_bytes(file.read_bytes()[:-1] if spoil is None else spoil)
    assert asked(path, "lesson 31 of 961") == (first, 60)
    assert asked(path, "lesson 31 of 961") == (first, 0)  # it was made anew


def test_another_embedder_has_a_file_of_its_own(path):
    asked(path, "lesson")
    assert mapped.load(path, "lesson", HashingEmbedder(64).name, 64) is not None
    assert mapped.load(path, "lesson", HashingEmbedder(64).name, 32) is None
    assert mapped.load(path, "lesson", "another", 64) is None


def test_what_is_deleted_for_good_takes_the_file_along(path):
    asked(path, "lesson")
    with Store(path) as store:
        store.remove_lesson("les-3", who="person", purge=True)
    assert files(path) == []
    assert "les-3" not in [name for name, _ in asked(path, WORDS[3], 60)[0]]


def test_a_folder_that_cannot_be_written_costs_no_search(path):
    path.with_name("s.db.vectors").write_text("a file where the folder should be")
    assert asked(path, "lesson 31 of 961")[0] == asked(path, "lesson 31 of 961")[0]
    mapped.save(path, "lesson", "e", ["a"], ["d"], np.zeros((1, 4), dtype=np.float32))
    mapped.drop(path)
    mapped.drop(None)
