"""Search in a large scope of a SQLite file: the file of vectors, and when it counts."""

import shutil

import pytest

from seasoned import pool as pool_module
from seasoned.embed.hashing import HashingEmbedder
from seasoned.pool import ExperiencePool
from seasoned.store import lessons as lesson_table
from seasoned.store import mapped, scanned, vectors
from seasoned.store.sql import Store
from seasoned.types import Lesson

WORDS = [f"lesson {n} of {n * n}" for n in range(60)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sizes so small that these tests reach them."""
    monkeypatch.setattr(pool_module, "LEAST", 20)
    monkeypatch.setattr(lesson_table, "PAGE", 7)
    monkeypatch.setattr(scanned, "_FEW", 5)
    monkeypatch.setattr(vectors, "_FEW", 0)


@pytest.fixture
def path(tmp_path):
    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        pool.add([Lesson(id=f"les-{n:02}", kind="heuristic", text=text) for n, text in enumerate(WORDS)])
        pool.nearest_lessons("lesson 7", 3)
    return tmp_path / "s.db"


class Asked:
    """What a new process finds, and how many lessons it embedded or read vectors of."""

    def __init__(self, path, text, k=5, kind=None, before=lambda pool: None):
        with Store(path) as store:
            read, real = [], store.get_vectors
            store.get_vectors = lambda owner, ids, *a, **b: read.extend(ids) or real(owner, ids, *a, **b)
            pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
            before(pool)
            found = pool.nearest_lessons(text, k, kind)
            assert not pool._known.lessons.by_id
            self.ids, self.scores = [lesson.id for lesson, _ in found], [score for _, score in found]
            self.read = len(read)


def files(path):
    return sorted(path.with_name(f"{path.name}.vectors").glob("*"))


def test_a_new_process_maps_the_file(path):
    asked = Asked(path, WORDS[31])
    assert asked.ids[0] == "les-31"
    assert asked.scores == sorted(asked.scores, reverse=True)
    assert asked.read == 0
    assert len(files(path)) == 1


def test_it_reads_what_came_or_changed_since(path):
    with Store(path) as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        pool.update(store.get_lesson("les-03").model_copy(update={"text": "a red door"}))
        pool.add(Lesson(id="les-new", kind="note", text="a red door too"))
    asked = Asked(path, "a red door", 2)
    assert asked.ids == ["les-03", "les-new"]
    assert asked.read == 2
    assert Asked(path, WORDS[3], 1).ids != ["les-03"]
    assert Asked(path, "lesson", 1, "note").ids == ["les-new"]  # though the 59 others are nearer
    assert Asked(path, "lesson", 1, "insight").ids == []


def test_the_file_grows_once_enough_came(path):
    written = files(path)[0].stat().st_mtime_ns, files(path)[0].stat().st_size
    with Store(path) as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        for n in range(7):
            pool.add(Lesson(id=f"les-new-{n}", kind="note", text=f"door {n}"))
            assert pool.nearest_lessons(f"door {n}", 1)[0][0].id == f"les-new-{n}"
            assert pool.nearest_lessons(WORDS[5], 1)[0][0].id == "les-05"
    assert files(path)[0].stat().st_size > written[1]
    assert Asked(path, "door 2", 1).read <= 1


def test_a_lesson_deleted_for_good_is_in_no_file_and_the_others_are_found(path):
    with Store(path) as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        assert len(pool.nearest_lessons("lesson", 60)) == 60
        pool.remove("les-59", purge=True, who="person")
        assert files(path) == []
        pool.add(Lesson(id="les-new", kind="note", text="a red door"))  # it gets the place of the deleted one
        assert [lesson.id for lesson, _ in pool.nearest_lessons("a red door", 1)] == ["les-new"]
        assert {lesson.id for lesson, _ in pool.nearest_lessons("lesson", 80)} == {
            *(f"les-{n:02}" for n in range(59)),
            "les-new",
        }
    assert len(files(path)) == 1
    assert Asked(path, "lesson", 80).read == 0


def test_the_file_of_another_past_is_not_used(path):
    shutil.copy(path, path.with_name("copy.db"))
    with Store(path) as store:
        pool = ExperiencePool(store, "s", embedder=HashingEmbedder(64))
        pool.add([Lesson(kind="note", text=f"a green door {n}") for n in range(9)])
        pool.nearest_lessons("door", 1)  # writes the file
    path.unlink()
    shutil.copy(path.with_name("copy.db"), path)
    with Store(path) as store:
        ExperiencePool(store, "s").add(Lesson(id="les-red", kind="note", text="a red door"))
        ExperiencePool(store, "s").add(Lesson(id="les-blue", kind="note", text="a blue door"))
    asked = Asked(path, "a red door", 2)
    assert asked.ids == ["les-red", "les-blue"]
    assert asked.read == 62


@pytest.mark.parametrize("spoil", [b"", b"{}", b"x" * 5000, None])
def test_a_file_that_cannot_be_used_is_made_anew(path, spoil):
    [file] = files(path)
    file.write_bytes(file.read_bytes()[:-1] if spoil is None else spoil)
    assert Asked(path, WORDS[31], 1).ids == ["les-31"]
    assert Asked(path, WORDS[31]).read == 0


@pytest.mark.parametrize(
    "about",
    [5, [], {}, [1, 0, [1, 2, 3], [5]], ["a", {}, [[], 2, 3], ["x"]], [10**30, 0, ["les-01", 10**30, ""], [10**30]]],
)
def test_a_file_about_other_lessons_is_made_anew(path, about):
    owner, name = scanned._owner(("s", "words", "", 64)), HashingEmbedder(64).name
    file = mapped.load(path, owner, name, 64)
    mapped.save(path, owner, name, about, [file.rows], len(file.rows))
    assert Asked(path, WORDS[31], 1).ids == ["les-31"]
    assert Asked(path, WORDS[31]).read == 0


def test_a_file_whose_places_are_out_of_order_is_made_anew(path):
    owner, name = scanned._owner(("s", "words", "", 64)), HashingEmbedder(64).name
    file = mapped.load(path, owner, name, 64)
    mapped.save(path, owner, name, [*file.about[:3], file.about[3][::-1]], [file.rows], len(file.rows))
    assert Asked(path, WORDS[31], 1).ids == ["les-31"]


def test_without_a_place_for_files_the_search_works_from_the_store(path):
    for file in files(path):
        file.unlink()
    path.with_name("s.db.vectors").rmdir()
    path.with_name("s.db.vectors").write_text("a file where the folder should be")
    assert Asked(path, WORDS[31], 1).ids == ["les-31"]
    assert Asked(path, WORDS[31]).read == 60


def test_only_one_lesson_is_embedded_for_one_added(path):
    embedded = []

    class Counting(HashingEmbedder):
        def embed(self, texts):
            embedded.extend(texts)
            return super().embed(texts)

    with Store(path) as store:
        pool = ExperiencePool(store, "s", embedder=Counting(64))
        pool.nearest_lessons("door", 1)
        pool.add(Lesson(kind="note", text="a red door"))
        pool.nearest_lessons("door", 1)
        pool.nearest_lessons("door", 1)
    assert embedded == ["door", "door", "a red door", "door"]


def test_a_scope_with_a_character_that_no_database_accepts_is_searched(tmp_path):
    with Store(tmp_path / "s.db") as store:
        pool = ExperiencePool(store, "odd\x00scope", embedder=HashingEmbedder(64))
        pool.add([Lesson(id=f"les-{n:02}", kind="heuristic", text=text) for n, text in enumerate(WORDS)])
        assert pool.nearest_lessons(WORDS[31], 1)[0][0].id == "les-31"
