"""Sample notes, texts and vectors for the benchmarks, from a seed.

Always holds: the same arguments give the same notes, texts and vectors.
"""

from __future__ import annotations

import atexit
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, make_url, text

from seasoned.store.server import postgres_in
from seasoned.store.sql import Store
from seasoned.types import Lesson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PARTS = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "zi")
_databases = count()
_FEELINGS = ("joy", "fear", "anger", "sadness", "disgust", "shame", "guilt", "worry", "relief", "pride", "envy", "awe")


def words(rng: random.Random, n: int) -> str:
    """A text of n made-up words out of 5,832."""
    return " ".join("".join(rng.choices(_PARTS, k=3)) for _ in range(n))


def texts(n: int) -> list[str]:
    """Texts of 15 words, as long as a case of EMOJI."""
    rng = random.Random(1)
    return [words(rng, 15) for _ in range(n)]


def notes(n: int) -> list[Lesson]:
    """Notes as ExpNote writes them: a key of one or two words, some values with their counts."""
    rng = random.Random(2)
    lessons = []
    for _ in range(n):
        values = {feeling: rng.randint(1, 4) for feeling in rng.sample(_FEELINGS, 4)}
        key, text = words(rng, rng.randint(1, 2)), ", ".join(values)
        lessons.append(Lesson(kind="note", key=key, text=text, method="expnote", data={"values": values}))
    return lessons


def unit_rows(n: int, dim: int) -> NDArray[np.float32]:
    """Random unit vectors, float32 of shape (n, dim)."""
    import numpy as np

    rows = np.random.default_rng(3).standard_normal((n, dim), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@contextmanager
def fresh_address(kind: str = "SQLite") -> Iterator[str]:
    """The address of a new store: a file that is removed at the end, or a database of one server for the program.

    Raises:
        MissingExtraError: when Postgres is not installed.
    """
    if kind == "SQLite":
        with TemporaryDirectory(prefix="seasoned-bench-") as folder:
            yield str(Path(folder, "seasoned.db"))
        return
    server, name = make_url(_server()), f"bench{next(_databases)}"
    engine = create_engine(server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    yield server.set(database=name).render_as_string(hide_password=False)


@cache
def _server() -> str:
    """The URL of a Postgres server that runs until the program ends, since each start takes seconds."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(TemporaryDirectory(prefix="seasoned-bench-"))
    return stack.enter_context(postgres_in(Path(folder) / "pg"))


@contextmanager
def fresh_store(kind: str = "SQLite") -> Iterator[Store]:
    """The open store at such an address."""
    with fresh_address(kind) as address, Store(address) as store:
        yield store
