"""Stores to test on: a SQLite file always, and Postgres where SEASONED_TEST_POSTGRES holds the URL of a database."""

import os
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, make_url, text

from seasoned.store.sql import Store

POSTGRES = os.environ.get("SEASONED_TEST_POSTGRES", "")
KINDS = ["sqlite", *(["postgres"] if POSTGRES else [])]


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    """Where a new store can be made: a path, or the URL of an empty Postgres schema."""
    if request.param == "sqlite":
        yield str(tmp_path / "seasoned.db")
        return
    schema = f"test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(make_url(POSTGRES).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    join = "&" if "?" in POSTGRES else "?"
    yield f"{POSTGRES}{join}options={quote(f'-c search_path={schema}')}"
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
