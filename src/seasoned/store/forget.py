"""Deletion for good: of lessons, of attempts, and of all that a scope holds.

Always holds: what is deleted here is gone from every table; the attempts that were shown it keep neither their guidance
nor the deleted lesson's words; caches of pools learn of it; and `scrub` empties SQLite's write-ahead log, so that the
file's pages, which SQLite overwrites with zeros, are all that is left of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, or_, select, update

from seasoned.errors import StoreError
from seasoned.store import lessons as lesson_table
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body, to_body
from seasoned.store.database import Database, chunks
from seasoned.store.filters import contain
from seasoned.store.trajectories import delete_trajectories, trajectory_row
from seasoned.types import Lesson, Trajectory

FORGOTTEN = "[forgotten]"
"""What stands in an attempt in the place of what it was shown and was then forgotten."""

_OWN = 20  # characters below which words are anybody's, and stay
_CUT = 600  # characters of a lesson that a prompt shows
_QUOTED = 200  # characters of a lesson that every prompt shows, rankings too
_PAGE = 100  # rows that are held at once
_t, _l, _h = schema.trajectories.c, schema.lessons.c, schema.lesson_history.c
_u, _v, _j = schema.lesson_uses.c, schema.vectors.c, schema.journal.c


def remove_lesson(db: Database, lesson_id: str, who: str, why: str, *, purge: bool) -> None:
    """Set a lesson's status "deleted", or delete it with all traces; see `Store.remove_lesson`."""
    lesson_id = clean_text(lesson_id)
    with db.transaction(), db._write() as connection:
        scope = connection.execute(select(_l.scope).where(_l.id == lesson_id)).scalar()
        if scope is None:
            raise StoreError(f"the lesson {lesson_id} is not in the store")
        if not purge:
            left = [x for x in lesson_table.get(db, [lesson_id]) if x.status != "deleted"]
            lesson_table.update_all(db, [x.model_copy(update={"status": "deleted"}) for x in left], who, why)
            return
        db._bump(connection, scope, purge=True)
        words = _words(connection, lesson_id)
        _blank(connection, _shown(connection, lesson_id), words)
        _forget_calls(db, connection, words, None if who == "person" else scope)
        connection.execute(delete(schema.vectors).where(_v.owner == "lesson", _v.id == lesson_id))
        connection.execute(delete(schema.lesson_uses).where(_u.lesson_id == lesson_id))
        connection.execute(delete(schema.lessons).where(_l.id == lesson_id))
        if who == "person":
            drop_loose_vectors(db)


def remove_trajectories(db: Database, scope: str, trajectory_ids: Sequence[str]) -> int:
    """Delete trajectories of a scope; gives how many there were."""
    removed = 0
    with db._write() as connection:
        db._bump(connection, clean_text(scope), purge=True)
        for part in chunks([clean_text(i) for i in trajectory_ids]):
            wanted = select(_t.id).where(_t.scope == clean_text(scope), _t.id.in_(part))
            removed += delete_trajectories(connection, connection.execute(wanted).scalars().all())
    return removed


def blank_demonstrations(db: Database, scopes: Sequence[str], trajectory_ids: Iterable[str]) -> int:
    """Take their guidance out of trajectories that were shown any of these; gives how many there were."""
    gone = {clean_text(i) for i in trajectory_ids}
    quoted = [json.dumps(i, ensure_ascii=False) for i in gone]
    wanted = select(_t.id, _t.body).where(_t.scope.in_(list(map(clean_text, scopes))))
    wanted = wanted.where(*contain(db, _t.body, ['"demonstration_ids":["'])).execution_options(yield_per=_PAGE)
    taught = []
    with db._write() as connection:
        for row in connection.execute(wanted):
            if any(i in row.body for i in quoted):
                shown = from_body(Trajectory, row.body, f"the trajectory {row.id}").demonstration_ids
                taught += [row.id] if gone.intersection(shown) else []
        _blank(connection, taught, ())
    return len(taught)


def clear_scope(db: Database, scope: str) -> tuple[int, int]:
    """Delete all of a scope; gives how many trajectories and lessons there were."""
    scope = clean_text(scope)
    snapshots, uses = schema.snapshots, schema.lesson_uses
    its_lessons = select(_l.id).where(_l.scope == scope)
    with db._write() as connection:
        db._bump(connection, scope, purge=True)
        ids = connection.execute(select(_t.id).where(_t.scope == scope)).scalars().all()
        trajectories = delete_trajectories(connection, ids)
        elsewhere = select(_u.lesson_id).where(_u.lesson_id.in_(its_lessons)).distinct()
        for lesson_id in connection.execute(elsewhere).scalars().all():
            _blank(connection, _shown(connection, lesson_id), _words(connection, lesson_id))
        connection.execute(delete(schema.vectors).where(_v.owner == "lesson", _v.id.in_(its_lessons)))
        connection.execute(delete(uses).where(uses.c.lesson_id.in_(its_lessons)))
        lessons = connection.execute(delete(schema.lessons).where(_l.scope == scope)).rowcount
        connection.execute(delete(snapshots).where(snapshots.c.scope == scope))
    return trajectories, lessons


def lessons_from(db: Database, scope: str, trajectory_ids: Sequence[str]) -> dict[str, int]:
    """The lessons of a scope that came from these, by id, with how much else each rests on."""
    wanted = {clean_text(i) for i in trajectory_ids}
    present, mine = schema.lesson_sources.c, _l.scope == clean_text(scope)
    sources = select(present.lesson_id, present.trajectory_id).join(schema.lessons, _l.id == present.lesson_id)
    states = select(_h.lesson_id, _h.body).join(schema.lessons, _l.id == _h.lesson_id)
    taught, earlier, others = set(), set(), Counter[str]()
    with db._read() as connection:
        for row in connection.execute(sources.where(mine).execution_options(yield_per=_PAGE)):
            if row.trajectory_id in wanted:
                taught.add(row.lesson_id)
            else:
                others[row.lesson_id] += 1
        for row in connection.execute(states.where(mine).execution_options(yield_per=_PAGE)):
            if not wanted.isdisjoint(_sources(row.body)):
                earlier.add(row.lesson_id)
    return {i: others[i] + (i not in taught) for i in sorted(taught | earlier)}


def drop_loose_vectors(db: Database) -> int:
    """Delete vectors of texts that are no lesson's and no trajectory's; gives how many there were."""
    owner = _v.owner  # in ranges, which an index finds
    loose = or_(owner < "lesson", and_(owner > "lesson", owner < "trajectory"), owner > "trajectory")
    with db._write() as connection:
        return connection.execute(delete(schema.vectors).where(loose)).rowcount


def scrub(db: Database) -> bool:
    """Empty SQLite's write-ahead log; False where that has to wait."""
    if not db._sqlite:
        return True
    with db._faults(), db._connect(db._engine) as connection:
        raw = connection.connection.cursor()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy = raw.fetchone()
        return busy is not None and not busy[0]


def _forget_calls(db: Database, connection: Connection, words: Iterable[str], scope: str | None) -> None:
    """Delete journalled calls and marks in which any of these texts stands; of a scope, the prompts below it alone."""
    if scope is None:
        statements = [(_j.body, delete(schema.journal)), (schema.marks.c.value, delete(schema.marks))]
    else:
        asked = _j.key.endswith("/asked", autoescape=True)  # see `seasoned.llm.journal.ASKED`
        below = _j.scope.startswith(f"{scope}/", autoescape=True)
        statements = [(_j.body, delete(schema.journal).where(below, asked))]
    for said in words:
        for quoted in {_escaped(form) for form in _forms(said[:_QUOTED])}:
            for column, wanted in statements:
                connection.execute(wanted.where(*contain(db, column, [quoted])))


def _blank(connection: Connection, trajectory_ids: Sequence[str], words: Sequence[str]) -> None:
    """Take the guidance out of these trajectories, wherever it stands in them, and these words too."""
    for start in range(0, len(trajectory_ids), _PAGE):
        part = trajectory_ids[start : start + _PAGE]
        for row in connection.execute(select(_t.id, _t.body).where(_t.id.in_(part))).all():
            stored = from_body(Trajectory, row.body, f"the trajectory {row.id}")
            blocks = (block.text for block in stored.blocks())  # what was recalled on the way stands by itself
            spelled = (form for text in words for form in _forms(text))
            gone = [text for text in (stored.guidance, *blocks, *spelled) if len(text) >= _OWN]
            values = stored.model_dump()
            fields = {name: _without(values[name], gone) for name in ("messages", "steps", "outcome", "meta")}
            guidance = FORGOTTEN if stored.guidance else ""
            fields |= {"guidance": guidance, "guidance_blocks": ()}
            blank, body = to_body(Trajectory.model_validate({**values, **fields}))
            connection.execute(update(schema.trajectories).where(_t.id == row.id).values(trajectory_row(blank, body)))


def _shown(connection: Connection, lesson_id: str) -> Sequence[str]:
    return connection.execute(select(_u.trajectory_id).where(_u.lesson_id == lesson_id)).scalars().all()


def _without(value: Any, gone: Sequence[str]) -> Any:
    if isinstance(value, str):
        for text in gone:
            value = value.replace(text, FORGOTTEN)
        return value
    if isinstance(value, dict):
        return {key: _without(item, gone) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, gone) for item in value]
    return value


def _words(connection: Connection, lesson_id: str) -> list[str]:
    """What a lesson said in any of its versions, as it was written and as prompts show it, the longest first."""
    said = set()
    for body in connection.execute(select(_h.body).where(_h.lesson_id == lesson_id)).scalars():
        try:
            text = from_body(Lesson, body, f"the history of the lesson {lesson_id}").text
        except StoreError:  # what is damaged can be removed all the same
            continue
        line = " ".join(text.split())
        said |= {text, line, line[: _CUT - 1].rstrip()}
    return sorted((text for text in said if len(text) >= _OWN), key=len, reverse=True)


def _escaped(text: str, *, ascii_alone: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_alone)[1:-1]


def _forms(text: str) -> list[str]:
    """A text as it may stand in a reply or a call: as it is, or within JSON, as structured replies have it."""
    return list(dict.fromkeys((text, _escaped(text), _escaped(text, ascii_alone=True))))


def _sources(body: str) -> set[str]:
    """The sources that a lesson's body names; none where it cannot be read."""
    try:
        return set(json.loads(body)["sources"])
    except (ValueError, KeyError, TypeError):
        return set()
