"""Permanent deletion of lessons, attempts and whole scopes.

Always holds: no table keeps deleted data; attempts that were shown a deleted lesson keep neither their guidance nor its
text; pools' caches are invalidated; `scrub` empties SQLite's write-ahead log, and SQLite overwrites deleted data in the
file with zeros.
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
from seasoned.types import Lesson, Trajectory, by_person

FORGOTTEN = "[forgotten]"
"""Replaces forgotten guidance in an attempt."""

_MIN_CHARS = 20  # shorter texts are common words, and stay
_PROMPT_CHARS = 600  # of a lesson in a prompt
_QUOTED_CHARS = 200  # of a lesson in every prompt, including rankings
_PAGE = 100  # rows in memory at once
_t, _l, _h = schema.trajectories.c, schema.lessons.c, schema.lesson_history.c
_u, _v, _j = schema.lesson_uses.c, schema.vectors.c, schema.journal.c


def remove_lesson(db: Database, lesson_id: str, *, who: str, why: str = "", purge: bool = False) -> None:
    """Set the status "deleted", which keeps the lesson and its history; `purge` deletes the rows permanently.

    Attempts that were shown a purged lesson lose their guidance and every literal copy of the lesson's text in any
    version. If `who` is a person, journalled prompts and replies with that text are deleted in all scopes, so an
    unfinished run may have to request them again. Otherwise only prompts below the lesson's scope are deleted,
    since another run may have learned the same text.

    Raises:
        StoreError: when there is no such lesson, or an attempt that was shown it cannot be read.
    """
    lesson_id = clean_text(lesson_id)
    with db.transaction(), db._write() as connection:
        scope = connection.execute(select(_l.scope).where(_l.id == lesson_id)).scalar()
        if scope is None:
            raise StoreError(f"the lesson {lesson_id} is not in the store")
        if not purge:
            stored = [x for x in lesson_table.get(db, [lesson_id]) if x.status != "deleted"]
            lesson_table.update_all(db, [x.model_copy(update={"status": "deleted"}) for x in stored], who, why)
            return
        db._bump(connection, scope, purge=True)
        words = _words(connection, lesson_id)
        _blank(connection, _shown_to(connection, lesson_id), words)
        _forget_calls(db, connection, words, None if by_person(who) else scope)
        connection.execute(delete(schema.vectors).where(_v.owner == "lesson", _v.id == lesson_id))
        connection.execute(delete(schema.lesson_uses).where(_u.lesson_id == lesson_id))
        connection.execute(delete(schema.lessons).where(_l.id == lesson_id))
        if by_person(who):
            drop_loose_vectors(db)


def remove_trajectories(db: Database, scope: str, trajectory_ids: Sequence[str]) -> int:
    """Delete trajectories with their episodes, vectors, marks and lesson uses; return how many there were.

    Lessons learned from them stay, and still name them as sources; see also `blank_demonstrations`.
    """
    removed = 0
    with db._write() as connection:
        db._bump(connection, clean_text(scope), purge=True)
        for part in chunks([clean_text(i) for i in trajectory_ids]):
            query = select(_t.id).where(_t.scope == clean_text(scope), _t.id.in_(part))
            removed += delete_trajectories(connection, connection.execute(query).scalars().all())
    return removed


def blank_demonstrations(db: Database, scopes: Sequence[str], trajectory_ids: Iterable[str]) -> int:
    """Remove the guidance of attempts in these scopes that were shown any of these attempts; return how many."""
    ids = {clean_text(i) for i in trajectory_ids}
    quoted = [json.dumps(i, ensure_ascii=False) for i in ids]
    query = select(_t.id, _t.body).where(_t.scope.in_(list(map(clean_text, scopes))))
    query = query.where(*contain(db, _t.body, ['"demonstration_ids":["'])).execution_options(yield_per=_PAGE)
    affected = []
    with db._write() as connection:
        for row in connection.execute(query):
            if any(i in row.body for i in quoted):
                shown = from_body(Trajectory, row.body, f"the trajectory {row.id}").demonstration_ids
                affected += [row.id] if ids.intersection(shown) else []
        _blank(connection, affected, ())
    return len(affected)


def clear_scope(db: Database, scope: str) -> tuple[int, int]:
    """Delete a scope with everything in it; return how many trajectories and lessons there were."""
    scope = clean_text(scope)
    snapshots, uses = schema.snapshots, schema.lesson_uses
    lesson_ids = select(_l.id).where(_l.scope == scope)
    with db._write() as connection:
        db._bump(connection, scope, purge=True)
        ids = connection.execute(select(_t.id).where(_t.scope == scope)).scalars().all()
        trajectories = delete_trajectories(connection, ids)
        used_elsewhere = select(_u.lesson_id).where(_u.lesson_id.in_(lesson_ids)).distinct()
        for lesson_id in connection.execute(used_elsewhere).scalars().all():
            _blank(connection, _shown_to(connection, lesson_id), _words(connection, lesson_id))
        connection.execute(delete(schema.vectors).where(_v.owner == "lesson", _v.id.in_(lesson_ids)))
        connection.execute(delete(uses).where(uses.c.lesson_id.in_(lesson_ids)))
        lessons = connection.execute(delete(schema.lessons).where(_l.scope == scope)).rowcount
        connection.execute(delete(snapshots).where(snapshots.c.scope == scope))
    return trajectories, lessons


def lessons_from(db: Database, scope: str, trajectory_ids: Sequence[str]) -> dict[str, int]:
    """The lessons of a scope learned from any of these trajectories: ids, and numbers of other sources.

    If only an earlier version was learned from these, the present state counts as one other source.
    """
    ids = {clean_text(i) for i in trajectory_ids}
    present, in_scope = schema.lesson_sources.c, _l.scope == clean_text(scope)
    sources = select(present.lesson_id, present.trajectory_id).join(schema.lessons, _l.id == present.lesson_id)
    states = select(_h.lesson_id, _h.body).join(schema.lessons, _l.id == _h.lesson_id)
    taught, earlier, others = set(), set(), Counter[str]()
    with db._read(streams=True) as connection:
        for row in connection.execute(sources.where(in_scope).execution_options(yield_per=_PAGE)):
            if row.trajectory_id in ids:
                taught.add(row.lesson_id)
            else:
                others[row.lesson_id] += 1
        for row in connection.execute(states.where(in_scope).execution_options(yield_per=_PAGE)):
            if not ids.isdisjoint(_sources(row.body)):
                earlier.add(row.lesson_id)
    return {i: others[i] + (i not in taught) for i in sorted(taught | earlier)}


def drop_loose_vectors(db: Database) -> int:
    """Delete vectors of texts that are neither lessons nor trajectories; return how many.

    They are computed again when needed.
    """
    owner = _v.owner  # compared in ranges, so that the index is used
    loose = or_(owner < "lesson", and_(owner > "lesson", owner < "trajectory"), owner > "trajectory")
    with db._write() as connection:
        return connection.execute(delete(schema.vectors).where(loose)).rowcount


def scrub(db: Database) -> bool:
    """Empty SQLite's write-ahead log; False if another program still reads it, so that it stays for now.

    With Postgres this does nothing: its vacuum clears deleted data.
    """
    if not db._sqlite:
        return True
    with db._faults(), db._connect(db._engine) as connection:
        raw = connection.connection.cursor()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy = raw.fetchone()
        return busy is not None and not busy[0]


def _forget_calls(db: Database, connection: Connection, words: Iterable[str], scope: str | None) -> None:
    """Delete journalled calls and marks with any of these texts; with a scope, only prompts below it."""
    if scope is None:
        statements = [(_j.body, delete(schema.journal)), (schema.marks.c.value, delete(schema.marks))]
    else:
        is_prompt = _j.key.endswith("/asked", autoescape=True)  # see `seasoned.llm.journal.ASKED`
        below = _j.scope.startswith(f"{scope}/", autoescape=True)
        statements = [(_j.body, delete(schema.journal).where(below, is_prompt))]
    for text in words:
        for quoted in {_escaped(form) for form in _forms(text[:_QUOTED_CHARS])}:
            for column, statement in statements:
                connection.execute(statement.where(*contain(db, column, [quoted])))


def _blank(connection: Connection, trajectory_ids: Sequence[str], words: Sequence[str]) -> None:
    """Remove every copy of the guidance and of these words from these trajectories."""
    for start in range(0, len(trajectory_ids), _PAGE):
        part = trajectory_ids[start : start + _PAGE]
        for row in connection.execute(select(_t.id, _t.body).where(_t.id.in_(part))).all():
            stored = from_body(Trajectory, row.body, f"the trajectory {row.id}")
            blocks = (block.text for block in stored.blocks())  # those recalled later are not in `guidance`
            forms = (form for text in words for form in _forms(text))
            texts = [text for text in (stored.guidance, *blocks, *forms) if len(text) >= _MIN_CHARS]
            values = stored.model_dump()
            fields = {name: _blanked(values[name], texts) for name in ("messages", "steps", "outcome", "meta")}
            guidance = FORGOTTEN if stored.guidance else ""
            fields |= {"guidance": guidance, "guidance_blocks": ()}
            blank, body = to_body(Trajectory.model_validate({**values, **fields}))
            connection.execute(update(schema.trajectories).where(_t.id == row.id).values(trajectory_row(blank, body)))


def _shown_to(connection: Connection, lesson_id: str) -> Sequence[str]:
    return connection.execute(select(_u.trajectory_id).where(_u.lesson_id == lesson_id)).scalars().all()


def _blanked(value: Any, texts: Sequence[str]) -> Any:
    if isinstance(value, str):
        for text in texts:
            value = value.replace(text, FORGOTTEN)
        return value
    if isinstance(value, dict):
        return {key: _blanked(item, texts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_blanked(item, texts) for item in value]
    return value


def _words(connection: Connection, lesson_id: str) -> list[str]:
    """The texts of all versions of a lesson, as written and as in prompts, longest first."""
    texts = set()
    for body in connection.execute(select(_h.body).where(_h.lesson_id == lesson_id)).scalars():
        try:
            text = from_body(Lesson, body, f"the history of the lesson {lesson_id}").text
        except StoreError:  # a damaged row does not prevent deletion
            continue
        line = " ".join(text.split())
        texts |= {text, line, line[: _PROMPT_CHARS - 1].rstrip()}
    return sorted((text for text in texts if len(text) >= _MIN_CHARS), key=len, reverse=True)


def _escaped(text: str, *, only_ascii: bool = False) -> str:
    return json.dumps(text, ensure_ascii=only_ascii)[1:-1]


def _forms(text: str) -> list[str]:
    """The forms of a text in a reply or call: plain, or escaped within JSON."""
    return list(dict.fromkeys((text, _escaped(text), _escaped(text, only_ascii=True))))


def _sources(body: str) -> set[str]:
    """The sources in a lesson's body; empty if it cannot be read."""
    try:
        return set(json.loads(body)["sources"])
    except (ValueError, KeyError, TypeError):
        return set()
