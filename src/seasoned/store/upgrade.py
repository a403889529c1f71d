"""Creates the tables of a new store, and migrates an older store, when it is opened.

Always holds: a migration is one transaction, so a store is either unchanged or up to date; two programs that open the
same new file create it once; a database that is not a store is refused before anything is written to it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

import seasoned
from seasoned.errors import StoreError, StoreVersionError
from seasoned.store import schema

MIGRATIONS = Path(__file__).parent / "migrations"

_migrating = threading.Lock()  # alembic keeps the current migration in a global variable
_POSTGRES_LOCK = 7_326_273_663  # any fixed number


def bring_up(engine: Engine, where: str, timeout: float) -> None:
    """Create or migrate the tables if needed; otherwise only read.

    Args:
        engine: the database.
        where: the path or URL, for messages.
        timeout: seconds to wait for other programs.

    Raises:
        StoreVersionError: when a newer Seasoned made the store.
        StoreError: when the database is not a store.
    """
    with engine.connect() as connection:
        if stored_version(connection, where) == schema.HEAD:
            return
    sqlite = engine.dialect.name == "sqlite"
    writer = engine.execution_options(seasoned_wait=timeout)
    with _migrating:
        if sqlite:
            _write_ahead(engine, timeout)
        with writer.connect() as connection:
            connection.detach()  # so that no other code uses it with foreign keys off
            if sqlite:
                # With foreign keys on, a migration that rebuilds a table would delete the rows that point to it.
                connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
            with connection.begin():
                if not sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _POSTGRES_LOCK})
                if stored_version(connection, where) != schema.HEAD:
                    _run_migrations(connection)
                    if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                        raise StoreError(
                            f"the store {where} was not migrated: some of its rows point to missing rows; "
                            "restore a copy, or remove those rows (`PRAGMA foreign_key_check` lists them)"
                        )


def stored_version(connection: Connection, where: str) -> str | None:
    """The layout's version in the database; None for a new database.

    Raises:
        StoreVersionError: when this program does not know that version.
        StoreError: when the database has tables, but is not a store.
    """
    tables = set(inspect(connection).get_table_names())
    if schema.VERSION_TABLE not in tables:
        # A Postgres database may be shared; a file with other tables is a wrong path.
        other_tables = tables if connection.dialect.name == "sqlite" else tables & set(schema.metadata.tables)
        if other_tables:
            raise StoreError(
                f"{where} is a database, but not a store of Seasoned: it has the tables "
                f"{', '.join(sorted(other_tables)[:5])}; give another path"
            )
        return None
    version = connection.exec_driver_sql(f"SELECT version_num FROM {schema.VERSION_TABLE}").scalar()
    if version not in schema.VERSIONS:
        raise StoreVersionError(
            f"the store {where} has layout version {version}, but Seasoned {seasoned.__version__} knows versions up to "
            f"{schema.HEAD}: install a newer Seasoned (pip install -U seasoned), or give another path"
        )
    return str(version)


def _write_ahead(engine: Engine, timeout: float) -> None:
    """Turn on SQLite's write-ahead log permanently, so that readers and a writer do not block each other.

    SQLite does not wait for other programs here, so this function retries.
    """
    deadline = time.monotonic() + timeout
    raw = engine.raw_connection()
    try:
        while True:
            try:
                raw.cursor().execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)
    finally:
        raw.close()


def _run_migrations(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, schema.HEAD)
