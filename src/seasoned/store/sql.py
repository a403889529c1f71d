"""The store: everything Seasoned remembers, in one SQLite file or one Postgres database.

`Store` is put together from its parts: runs and journal (`runs.py`), trajectories and episodes (`trajectories.py`),
lessons (`lessons.py`) and their versions (`versions.py`), what was learned from (`learned.py`), deletion for good
(`forget.py`), vectors (`vectors.py`), over `database.py`. `schema.py` tells what lies in which table.

Always holds: what a returned call has written survives the end of the process, however it ends; many threads and
processes may use one store at once; every error is a `StoreError` with a sentence that says what to do.
"""

from __future__ import annotations

from types import TracebackType

from sqlalchemy import or_, select

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.forget import Forgetting
from seasoned.store.learned import Learned
from seasoned.store.runs import Journal, RunRow, Runs
from seasoned.store.trajectories import TaskText, Trajectories
from seasoned.store.upgrade import stored_version
from seasoned.store.vectors import Vectors
from seasoned.store.versions import Change, Difference, Snapshot, Versions

__all__ = ["Change", "Difference", "RunRow", "Snapshot", "Store", "TaskText"]


class Store(Runs, Trajectories, Versions, Learned, Forgetting, Vectors, Journal):
    """A store, open until `close()` or the end of a `with` block. Safe in threads; each process opens its own.

    `Store(path_or_url, *, timeout=10.0)`; `scope` in its methods is a text that separates pools.
    """

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def scopes(self) -> list[str]:
        """The scopes that hold a lesson or a trajectory, sorted."""
        pools = schema.scopes.c.scope
        used = (select(t.c.scope).where(t.c.scope == pools).exists() for t in (schema.lessons, schema.trajectories))
        with self._read() as connection:
            return list(connection.execute(select(pools).where(or_(*used)).order_by(pools)).scalars())

    def check(self) -> list[str]:
        """Look at every row.

        Returns:
            A sentence for each problem; an empty list when the store is sound.
        """
        kept = (self._check_runs, self._check_trajectories, self._check_lessons)
        problems: list[str] = []
        try:
            with self._read() as connection:
                stored_version(connection, self.where)
                if self._sqlite:
                    said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
                    problems += [f"SQLite finds the file damaged: {line}" for line in said if line != "ok"]
                    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
                        problems.append(f"row {row} of the table {table} points to a row of {parent} that is gone")
                for part in (*kept, self._check_versions, self._check_vectors, self._check_journal):
                    problems += part(connection)
        except StoreError as error:
            problems.append(str(error))
        return problems
