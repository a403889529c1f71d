"""Search by meaning inside a Postgres database with pgvector, for scopes too large to hold in memory.

For those of a SQLite file, see `scanned`. The tables are made here, not by a migration, since their type needs the
extension; all they hold can be computed again.

Always holds: a lesson is found by its present text; vectors have half precision, so scores are right to three digits; a
search sees the lessons of one scope only; an index (HNSW) is built once a scope has `LEAST` vectors, and before that
all of them are compared.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from seasoned.errors import StoreError
from seasoned.protocols import Embedder
from seasoned.store import lessons as lesson_table
from seasoned.store.body import from_body
from seasoned.store.faults import DATABASE_ERRORS
from seasoned.store.lessons import Of
from seasoned.store.scanned import Scanned
from seasoned.store.vectors import digest, embed, get
from seasoned.types import Lesson, LessonKind, LessonStatus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.store.sql import Store

log = logging.getLogger(__name__)

LEAST = 10_000
"""The least lessons of a scope that are searched in the database, and the least vectors that get an index."""

TABLES = ("nearby", "nearby_upto")

_MARKED = 100  # changes between two of its marks: another program looks at these lessons again, but embeds none
_VERSION = (0, 8)  # of pgvector: with iterative scans, an index finds k rows that also pass the filters
_QUICKLY = text("SET LOCAL synchronous_commit TO off")  # rows lost in a power cut are computed again
_MARK = (
    "INSERT INTO nearby_upto (scope, what, embedder, change) VALUES (:scope, :what, :embedder, :now) ON CONFLICT "
    "(scope, what, embedder) DO UPDATE SET change = GREATEST(nearby_upto.change, excluded.change)"
)
_KNOWN = "SELECT lesson_id, digest FROM nearby WHERE what = :what AND embedder = :embedder AND lesson_id = ANY(:ids)"
_MORE_MEMORY = text(  # an index that does not fit into it takes several times as long
    "SELECT set_config('maintenance_work_mem', :kilobytes || 'kB', false) "
    "WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < 1024 * :kilobytes"
)
_MOST_MEMORY = 4 * 1024**3  # bytes
_LINKS = 1024  # bytes of a lesson in an index, beside its vector


class Nearby:
    """The vectors of lessons in the database. Safe in threads; `open_nearby` makes it."""

    def __init__(self, db: Store, home: str) -> None:
        self._db, self._home = db, home  # the quoted schema of the extension
        self._upto: dict[tuple[str, str, str], int] = {}  # the change up to which all lessons have vectors
        self._marked: dict[tuple[str, str, str], int] = {}  # the one that is stored for other programs
        self._indexed: set[tuple[str, str, str]] = set()

    def fill(self, scope: str, of: Of, embedder: Embedder) -> None:
        """Embed the lessons of a scope that were written since the last time, by any program.

        Raises:
            ContractError: when the embedder does not return finite float32 of shape (n, dim).
        """
        place = scope, _what(of), _name(embedder)
        now, _ = self._db.changes(scope)
        if place not in self._upto:
            self._upto[place] = self._marked[place] = self._stored_upto(place)
        upto = self._upto[place]
        if upto >= now:
            return
        written, values = 0, list[dict[str, Any]]()
        for page in lesson_table.pages(self._db, scope, upto):
            if values:
                self._put(place, values)
            values = self._embedded(place, page, of, embedder, copied=not upto)
            written += len(values)
        due = now - self._marked[place] >= _MARKED
        if values or due:
            self._put(place, values, now if due else None)
            self._marked[place] = now if due else self._marked[place]
        if written and place not in self._indexed:
            try:
                self._index(place, embedder.dim)
            except DATABASE_ERRORS as error:
                self._indexed.add(place)  # by the next program, perhaps
                log.warning("an index could not be built, so searches compare all lessons: %s", error)
        self._upto[place] = max(self._upto[place], now)

    def nearest(
        self,
        scope: str,
        of: Of,
        embedder: Embedder,
        query: NDArray[np.float32],
        k: int,
        kind: LessonKind | None,
        status: LessonStatus,
    ) -> list[tuple[Lesson, float]]:
        """The k lessons of a scope whose vectors are nearest to a query's, best first, with their inner products."""
        vector = f"{self._home}.halfvec({embedder.dim})"
        distance = f"(n.place::{vector}) OPERATOR({self._home}.<#>) CAST(:query AS {vector})"
        rows = (
            f"SELECT l.id, l.body, -({distance}) AS score, l.seq FROM nearby n JOIN lessons l ON l.id = n.lesson_id "
            f"WHERE {self._of((scope, _what(of), _name(embedder)), 'n.')} AND l.status = :status "
            f"{'AND l.kind = :kind ' if kind else ''}ORDER BY {distance} LIMIT :k"
        )
        values = {"query": _literal(query), "k": k, "status": status} | ({"kind": kind} if kind else {})
        with self._db._read() as connection:
            found = connection.execute(text(rows), values).all()
        found = sorted(found, key=lambda row: (-row.score, row.seq))
        return [(from_body(Lesson, row.body, f"the lesson {row.id}"), float(row.score)) for row in found]

    def _stored_upto(self, place: tuple[str, str, str]) -> int:
        query = "SELECT change FROM nearby_upto WHERE scope = :scope AND what = :what AND embedder = :embedder"
        with self._db._read() as connection:
            return int(connection.execute(text(query), _keys(place)).scalar() or 0)

    def _embedded(
        self,
        place: tuple[str, str, str],
        page: Sequence[tuple[Lesson, int, int]],
        of: Of,
        embedder: Embedder,
        copied: bool,
    ) -> list[dict[str, Any]]:
        """The rows of lessons whose texts have no vector yet.

        With `copied`, they may be in the table `vectors`, such as in a store that was copied from a file.
        """
        import numpy as np

        texts = {lesson.id: of(lesson) for lesson, *_ in page if lesson.status != "deleted"}
        digests = {i: digest(each) for i, each in texts.items()}
        with self._db._read() as connection:
            stored = connection.execute(text(_KNOWN), {**_keys(place), "ids": list(texts)}).all()
        known = {row.lesson_id: row.digest for row in stored}
        missing = sorted(i for i, mark in digests.items() if known.get(i) != mark)
        vectors: dict[str, NDArray[np.float32]] = {}
        if copied and missing:
            marks = [digests[i] for i in missing]
            vectors.update(zip(*get(self._db, "lesson", missing, embedder.name, marks, embedder.dim), strict=True))
        rest = [i for i in missing if i not in vectors]
        made = embed(embedder, [texts[i] for i in rest]) if rest else np.zeros((0, embedder.dim), dtype=np.float32)
        vectors.update(zip(rest, made, strict=True))
        change = {lesson.id: written for lesson, written, _ in page}
        return [
            {**_keys(place), "id": i, "change": change[i], "digest": digests[i], "vector": _literal(vectors[i])}
            for i in missing
        ]

    def _put(self, place: tuple[str, str, str], rows: Sequence[Mapping[str, Any]], upto: int | None = None) -> None:
        """Store rows, and perhaps the change up to which the scope is embedded."""
        statement = (
            "INSERT INTO nearby (lesson_id, scope, what, embedder, digest, place) "
            f"SELECT id, :scope, :what, :embedder, :digest, CAST(:vector AS {self._home}.halfvec) "
            "FROM lessons WHERE id = :id AND change = :change FOR KEY SHARE "  # it may have been changed meanwhile
            "ON CONFLICT (lesson_id, what, embedder) DO UPDATE SET digest = excluded.digest, place = excluded.place"
        )
        with self._db._write() as connection:
            connection.execute(_QUICKLY)
            if rows:
                connection.execute(text(statement), list(rows))
            if upto is not None:
                connection.execute(text(_MARK), {**_keys(place), "now": upto})

    def _index(self, place: tuple[str, str, str], dim: int) -> None:
        """Build the index of a scope that has grown large; other programs may write meanwhile."""
        name = f"nearby_{hashlib.sha256(repr((*place, dim)).encode()).hexdigest()[:16]}"
        where = self._of(place)
        with self._db._connect(self._db._reader) as connection:
            valid = connection.execute(
                text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"), {"name": name}
            ).scalar()
            count = f"SELECT count(*) FROM (SELECT 1 FROM nearby WHERE {where} LIMIT {LEAST}) AS few"
            if valid:
                self._indexed.add(place)
            if valid or (connection.execute(text(count)).scalar() or 0) < LEAST:
                return
            key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
            if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar():
                return  # another program is building it
            try:
                log.info("building an index of the lessons in %s; this takes about 5 minutes for a million", place[0])
                all_rows = connection.execute(text(f"SELECT count(*) FROM nearby WHERE {where}")).scalar_one()
                needed = min(all_rows * (2 * dim + _LINKS), _MOST_MEMORY)
                connection.execute(_MORE_MEMORY, {"kilobytes": needed // 1024})
                connection.execute(text(f"DROP INDEX IF EXISTS {name}"))  # one that was interrupted
                vector = f"(place::{self._home}.halfvec({dim})) {self._home}.halfvec_ip_ops"
                connection.execute(
                    text(f"CREATE INDEX CONCURRENTLY {name} ON nearby USING hnsw ({vector}) WHERE {where}")
                )
            finally:
                connection.execute(text("RESET maintenance_work_mem"))
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})

    def _of(self, place: tuple[str, str, str], alias: str = "") -> str:
        """A condition with literals: with parameters, the planner could not tell that a partial index fits."""
        names = ("scope", "what", "embedder")
        quoted = ("'" + value.replace("'", "''") + "'" for value in place)
        parts = (f"{alias}{name} = {value}" for name, value in zip(names, quoted, strict=True))
        return " AND ".join(parts).replace(":", "\\:")  # a colon begins a parameter


def open_nearby(db: Store) -> Nearby | Scanned | None:
    """The search in a large scope of this store; None if the server or the user's rights do not allow it."""
    try:
        with db._faults(), db._write() as connection:
            if db._sqlite:
                lesson_table.index_many(connection)
                return Scanned(db)
            home = _extension(connection)
            there = "SELECT to_regclass('nearby') IS NOT NULL AND to_regclass('lessons_quarantined') IS NOT NULL"
            if home is not None and not connection.execute(text(there)).scalar():
                _make_tables(connection, home)
            allowed = home and connection.execute(text("SELECT has_table_privilege('nearby', 'INSERT')")).scalar()
            return Nearby(db, home) if home is not None and allowed else None
    except (StoreError, *DATABASE_ERRORS) as error:
        log.info("lessons are searched in memory, since the database cannot: %s", error)
        return None


def _extension(connection: Connection) -> str | None:
    """The quoted schema of pgvector, which is installed if it is there; None without a new enough one."""
    installed = (
        "SELECT extversion, quote_ident(nspname) AS home FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    )
    row = connection.execute(text(installed)).first()
    if row is None:
        there = text("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        if connection.execute(there).first() is None:
            return None
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public"))
        row = connection.execute(text(installed)).one()
    version = tuple(int(part) for part in row.extversion.split(".")[:2] if part.isdecimal())
    return str(row.home) if version >= _VERSION else None


def _make_tables(connection: Connection, home: str) -> None:
    connection.execute(
        text(
            "CREATE TABLE IF NOT EXISTS nearby (lesson_id TEXT REFERENCES lessons (id) ON DELETE CASCADE, scope TEXT "
            f"NOT NULL, what TEXT, embedder TEXT, digest TEXT NOT NULL, place {home}.halfvec NOT NULL, "
            "PRIMARY KEY (lesson_id, what, embedder))"
        )
    )
    connection.execute(text("CREATE INDEX IF NOT EXISTS nearby_by_scope ON nearby (scope, what, embedder)"))
    connection.execute(
        text(
            "CREATE TABLE IF NOT EXISTS nearby_upto (scope TEXT, what TEXT, embedder TEXT, change BIGINT NOT NULL, "
            "PRIMARY KEY (scope, what, embedder))"
        )
    )
    lesson_table.index_many(connection)


def _keys(place: tuple[str, str, str]) -> dict[str, Any]:
    return dict(zip(("scope", "what", "embedder"), place, strict=True))


def _what(of: Of) -> str:
    return of.__name__.strip("_")


def _name(embedder: Embedder) -> str:
    return f"{embedder.name}/{embedder.dim}"


def _literal(vector: NDArray[np.float32]) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"
