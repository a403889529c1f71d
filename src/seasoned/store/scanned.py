"""Search by meaning among the lessons of a SQLite file, for namespaces too large to hold in memory.

A process compares the query with all vectors of a scope, which it maps from a file beside the store (see `mapped`), and
then reads only the lessons that it found. Always holds: the search is exact; a lesson is found by its present text; a
text is embedded once, since its vector is stored, unless embedding it is faster; a file is used only if the store still
has the change up to which it was written.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter
from sqlalchemy import Text, bindparam, or_, select

from seasoned.protocols import Embedder
from seasoned.store import lessons as lesson_table
from seasoned.store import mapped, schema
from seasoned.store.body import clean_text, from_body
from seasoned.store.lessons import Of
from seasoned.store.matrix import Matrix
from seasoned.store.vectors import digest, embed, recomputed
from seasoned.types import Lesson, LessonKind, LessonStatus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.store.sql import Store

_SAVED_AT = 16  # a file is written anew once it lacks a 16th of the vectors, so that a new process embeds few
_FEW = 1_000  # but not for fewer
_SPARE = 2  # times as many are looked at first as are wanted, since some have another kind or status
_MOST = 500  # places in one statement
_BLOCK = 16_384  # rows written at once
_Count = Annotated[int, Field(ge=0, lt=2**62)]
_ABOUT = TypeAdapter(tuple[_Count, _Count, tuple[str, _Count, str], list[_Count]])
"""What a file says about its rows: the change and purges of the scope, its newest state, and the lessons' places."""
_l, _h = schema.lessons.c, schema.lesson_history.c
_TESTS = (
    _l.scope == bindparam("scope"),
    _l.status == bindparam("status"),
    or_(bindparam("kind", type_=Text) == None, _l.kind == bindparam("kind", type_=Text)),  # noqa: E711
)
_PLACES = select(_l.seq).where(*_TESTS)
_FOUND = select(_l.seq, _l.id, _l.body).where(_l.seq.in_(bindparam("places", expanding=True)), *_TESTS)


class Scanned:
    """The vectors of a file's lessons. Safe in threads; `open_nearby` makes it."""

    def __init__(self, db: Store) -> None:
        self._db = db
        self._lock, self._filling = threading.RLock(), threading.Lock()
        self._seen: dict[tuple[str, str, str, int], _Seen] = {}

    def fill(self, scope: str, of: Of, embedder: Embedder) -> None:
        """Read or embed what was written to a scope since the last time, by any program.

        Raises:
            ContractError: when the embedder does not return finite float32 of shape (n, dim).
        """
        place = scope, of.__name__.strip("_"), embedder.name, embedder.dim
        now = self._db.changes(scope)
        if (seen := self._seen.get(place)) is not None and (seen.change, seen.purges) == now:
            return
        with self._filling:
            seen = self._seen.get(place)
            if seen is None:
                seen = self._opened(place, now[1])
            for page in lesson_table.pages(self._db, scope, seen.change) if seen.change < now[0] else ():
                written = {seq: lesson for lesson, _, seq in page if lesson.status != "deleted"}
                vectors = self._vectors(list(written.values()), of, embedder)
                with self._lock:
                    seen.put(list(written), vectors)
            stale = seen.purges < now[1]
            seen.change, seen.purges = max(seen.change, now[0]), max(seen.purges, now[1])
            if stale or seen.unsaved > max(_FEW, len(seen) // _SAVED_AT):
                seen = self._saved(place, seen)
            self._seen[place] = seen

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
        seen = self._seen[scope, of.__name__.strip("_"), embedder.name, embedder.dim]
        tests = {"scope": clean_text(scope), "status": status, "kind": kind}
        with self._lock:
            scored = seen.best(query, _SPARE * k)
        found = self._found(scored, k, tests)
        if len(found) < k and len(scored) < len(seen):
            with self._db._read() as connection:
                those = connection.execute(_PLACES, tests).scalars().all()
            with self._lock:
                scored = seen.best(query, k, those)
            found = self._found(scored, k, tests)
        return found

    def _found(self, scored: dict[int, float], k: int, tests: dict[str, Any]) -> list[tuple[Lesson, float]]:
        """The best k lessons of these places that pass the tests, best first; of equals, the older first."""
        places, rows = sorted(scored, key=lambda seq: (-scored[seq], seq)), list[Any]()
        with self._db._read() as connection:
            while places and len(rows) < k:  # few fail the tests, so the next k are seldom needed
                part, places = places[: min(k, _MOST)], places[min(k, _MOST) :]
                passed = connection.execute(_FOUND, {**tests, "places": part}).all()
                rows += sorted(passed, key=lambda row: (-scored[row.seq], row.seq))
        return [(from_body(Lesson, row.body, f"the lesson {row.id}"), scored[row.seq]) for row in rows[:k]]

    def _vectors(self, lessons: Sequence[Lesson], of: Of, embedder: Embedder) -> NDArray[np.float32]:
        """The vectors of lessons, shape (n, dim); new ones are stored, except a few that are quickly made again."""
        import numpy as np

        texts = list(map(of, lessons))
        digests = list(map(digest, texts))
        of_lessons = of.__name__ == "_words"  # the pool's own text of a lesson; others are stored by their digests
        owner, ids = ("lesson", [lesson.id for lesson in lessons]) if of_lessons else ("text", digests)
        if recomputed(embedder, len(texts)):
            return embed(embedder, texts)
        found, stored = self._db.get_vectors(owner, ids, embedder.name, digests=digests, dim=embedder.dim)
        row_of = dict(zip(found, stored, strict=True))
        missing = {i: (text, mark) for i, text, mark in zip(ids, texts, digests, strict=True) if i not in row_of}
        if missing:
            made = embed(embedder, [text for text, _ in missing.values()])
            marks = [mark for _, mark in missing.values()]
            self._db.put_vectors(owner, list(missing), embedder.name, made, digests=marks)
            row_of.update(zip(missing, made, strict=True))
        return np.array([row_of[i] for i in ids], dtype=np.float32).reshape(len(ids), embedder.dim)

    def _opened(self, place: tuple[str, str, str, int], purges: int) -> _Seen:
        """The vectors in the file, if the store has the state that it was made from; else none."""
        *_, name, dim = place
        seen, path = _Seen(dim), self._db.path
        file = mapped.load(path, _owner(place), name, dim) if path else None
        if file is None:
            return seen
        try:
            change, then, (lesson_id, version, at), seqs = _ABOUT.validate_python(file.about)
            with self._db._read() as connection:
                state = select(_h.at).where(_h.lesson_id == lesson_id, _h.version == version, _h.change == change)
                known = connection.execute(state).scalar()
            if known == at and then == purges and len(seqs) == len(file.rows):
                seen.hold(seqs, file)
                seen.change, seen.purges = change, purges
        except ValueError:  # the file is not ours
            pass
        return seen

    def _saved(self, place: tuple[str, str, str, int], seen: _Seen) -> _Seen:
        """Write the vectors into the file, and map it; the same vectors in memory if the disk refuses."""
        scope, path = clean_text(place[0]), self._db.path
        newest = select(_h.lesson_id, _h.version, _h.at, _h.change).join(schema.lessons, _l.id == _h.lesson_id)
        newest = newest.where(_l.scope == scope, _l.change == _h.change, _h.change <= seen.change)
        with self._db._read() as connection:
            last = connection.execute(newest.order_by(_l.change.desc()).limit(1)).first()
            there = connection.execute(select(_l.seq).where(_l.scope == scope)).scalars().all()
        seqs, rows = seen.among(there)
        seen.unsaved = 0
        if last is None or path is None or not len(seqs):
            return seen
        about = [last.change, seen.purges, [last.lesson_id, last.version, last.at], seqs.tolist()]
        blocks = (seen.matrix.take(rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK))
        mapped.save(path, _owner(place), place[2], about, blocks, len(rows))
        if self._db.changes(scope)[1] != seen.purges:
            mapped.drop(path)
            return seen
        fresh = self._opened(place, seen.purges)
        fresh.change = seen.change  # perhaps a later one, which wrote no lesson
        return fresh if len(fresh) else seen


class _Seen:
    """The vectors of lessons by their places in the store, up to a change; not safe in threads."""

    def __init__(self, dim: int) -> None:
        import numpy as np

        self.change = self.purges = self.unsaved = 0
        self.matrix = Matrix(dim)
        self._mapped = np.zeros(0, dtype=np.int64)  # the places of the first rows, in ascending order
        self._later: list[int] = []  # the places of the other rows
        self._rows_later: dict[int, int] = {}

    def __len__(self) -> int:
        return self.matrix.count

    def hold(self, seqs: Sequence[int], file: mapped.Mapped) -> None:
        """Take the vectors of a file for these places.

        Raises:
            ValueError: when the places are not ascending whole numbers.
        """
        import numpy as np

        places = np.array(seqs, dtype=np.int64)
        if (np.diff(places) <= 0).any():
            raise ValueError("the places are not in order")
        self._mapped = places
        self.matrix.hold(file.rows, (file.codes, file.scales))

    def put(self, seqs: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Set the vectors of places."""
        import numpy as np

        rows = self._rows(np.array(seqs, dtype=np.int64))
        for n in np.flatnonzero(rows < 0).tolist():
            rows[n] = self._rows_later[seqs[n]] = len(self._mapped) + len(self._later)
            self._later.append(seqs[n])
        self.matrix.put(rows, vectors)
        self.unsaved += len(seqs)

    def best(self, query: NDArray[np.float32], k: int, among: Sequence[int] | None = None) -> dict[int, float]:
        """The k best places, of all or of these, with their scores."""
        rows = None if among is None else self.among(among)[1]
        places, scores = self.matrix.best(query, k, rows)
        found = (places if rows is None else rows[places]).tolist()
        count = len(self._mapped)
        seqs = (int(self._mapped[row]) if row < count else self._later[row - count] for row in found)
        return dict(zip(seqs, scores.tolist(), strict=True))

    def among(self, seqs: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Those of these places that have vectors, in ascending order, and their rows."""
        import numpy as np

        asked = np.sort(np.array(seqs, dtype=np.int64))
        rows = self._rows(asked)
        return asked[rows >= 0], rows[rows >= 0]

    def _rows(self, asked: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of places; -1 for those without one."""
        import numpy as np

        if len(self._mapped):
            at = np.minimum(np.searchsorted(self._mapped, asked), len(self._mapped) - 1)
            rows = np.where(self._mapped[at] == asked, at, -1)
        else:
            rows = np.full(len(asked), -1)
        for n in np.flatnonzero(rows < 0).tolist() if self._later else ():
            rows[n] = self._rows_later.get(int(asked[n]), -1)
        return rows


def _owner(place: tuple[str, str, str, int]) -> str:
    return f"lessons-{hashlib.sha256(repr(place[:2]).encode()).hexdigest()[:12]}"
