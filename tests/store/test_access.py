"""Row-level security: a role of Postgres sees the memories it was allowed, whatever it asks."""

import pytest
from sqlalchemy import create_engine, make_url, text

from seasoned.errors import StoreError
from seasoned.memory import Memory
from seasoned.store import access, nearby, schema, vectors
from seasoned.store.access import allow
from seasoned.store.sql import Store


def as_role(url, role):
    return make_url(url).set(drivername="postgresql+psycopg", username=role, password="secret")


@pytest.fixture
def roles(postgres):
    """Two roles of the server, and the store that two people's memories are in."""
    engine = create_engine(make_url(postgres).set(drivername="postgresql+psycopg"))
    names = [f"{name}_{make_url(postgres).query['options'][-6:]}" for name in ("ann", "bob")]
    with engine.begin() as connection:
        for name in names:
            connection.execute(text(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'"))
    with Store(postgres) as store:
        for name in ("ann", "bob"):
            Memory(store, namespace=name, embedder="hashing").add(f"{name} likes short answers")
        yield store, names
    with engine.begin() as connection:
        for name in names:
            connection.execute(text(f"DROP OWNED BY {name}"))
            connection.execute(text(f"DROP ROLE {name}"))
    engine.dispose()


def test_a_role_sees_its_namespaces_alone_in_every_table(roles, postgres, monkeypatch):
    monkeypatch.setattr(vectors, "_FEW", 0)  # so that there are vectors in the store
    store, (ann, bob) = roles
    allow(store, ann, ["ann"])
    allow(store, bob, [])
    url = as_role(postgres, ann).render_as_string(hide_password=False)
    with Memory(url, namespace="ann", embedder="hashing") as mine:
        assert [lesson.text for lesson in mine.recall("an answer").lessons] == ["ann likes short answers"]
        with mine.attempt("greet") as attempt:
            attempt.finish(success=True)
        with mine.attempt("greet politely") as attempt:
            later = attempt.finish(success=None)
        mine.outcome(later.id, True)
        mine.learn()
        mine.add("ann sleeps late")
        assert mine.store.scopes() == ["memory/ann"]
        with pytest.raises(StoreError):
            Memory(mine.store, namespace="bob", embedder=None).add("planted")
        assert Memory(mine.store, namespace="bob", embedder="hashing").recall("an answer").lessons == ()
    engine = create_engine(as_role(postgres, ann))
    with engine.connect() as connection:
        for table, key in (("lessons", "text"), ("lesson_history", "body"), ("vectors", "id"), ("scopes", "scope")):
            rows = connection.execute(text(f"SELECT * FROM {table}")).all()
            assert rows
            assert "bob" not in str(rows), (table, key)
    engine.dispose()
    with Store(as_role(postgres, bob).render_as_string(hide_password=False)) as theirs:
        assert theirs.lessons() == []
    assert len(store.lessons()) == 3  # the owner sees all


def test_every_table_has_a_rule_or_is_the_owners():
    own = {"seasoned_version", "seasoned_access"}
    assert {*schema.metadata.tables, *nearby.TABLES} - own == {*access._RULES, *access._OWNER_ONLY}


def test_what_was_allowed_is_replaced(roles, postgres):
    store, (ann, _) = roles
    allow(store, ann, ["ann", "bob"])
    allow(store, ann, ["bob"])
    with Store(as_role(postgres, ann).render_as_string(hide_password=False)) as seen:
        assert [lesson.text for lesson in seen.lessons()] == ["bob likes short answers"]


def test_roles_are_those_of_a_server(tmp_path, postgres):
    with Store(tmp_path / "a.db") as file, pytest.raises(StoreError, match="needs Postgres"):
        allow(file, "ann", ["ann"])
    with Store(postgres) as store, pytest.raises(StoreError, match="no role 'nobody there'"):
        allow(store, "nobody there", [])
