"""`seasoned lessons duplicates|cap`: upkeep of a pool.

Always holds: lessons are merged or disabled only on request, and none is deleted permanently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli.shared import (
    STORE,
    JsonOption,
    NamespaceOption,
    ScopeOption,
    StoreOption,
    many,
    one_scope,
    open_store,
    show,
)
from seasoned.types import LessonKind

if TYPE_CHECKING:
    from seasoned.memory.upkeep import Group


def duplicates(
    merge: Annotated[bool, typer.Option("--merge", help="Keep one of each group, and delete the others.")] = False,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="The least cosine of two duplicates.")] = 0.95,
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    embedder: Annotated[str, typer.Option(help="The embedder: static, minilm, hashing, ..")] = "static",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many groups.")] = 20,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show near-duplicate lessons side by side, or merge them."""
    from seasoned.embed import embedder as make_embedder
    from seasoned.memory import upkeep
    from seasoned.pool import ExperiencePool

    with open_store(store, must_exist=True) as opened:
        pool = ExperiencePool(opened, one_scope(opened, namespace, scope), embedder=make_embedder(embedder))
        groups = upkeep.near_duplicates(pool, threshold=threshold, kind=kind)
        kept = upkeep.merge(pool, groups, why="seasoned lessons duplicates --merge") if merge else []
    others = sum(len(group.others) for group in groups)
    lines = []
    for group in groups[:limit]:
        lines.append(f"{group.keep.id}        {group.keep.text}")
        lines += [f"  {lesson.id}  {cosine:.3f}  {lesson.text}" for lesson, cosine in group.others[:10]]
        lines += [f"  and {len(group.others) - 10:,} more"] if len(group.others) > 10 else []
    lines += [f"and {len(groups) - limit:,} more groups"] if len(groups) > limit else []
    done = f"; {many(len(kept), 'was', 'were')} kept" if merge else ""
    other_lessons = f"one of {len(groups):,} others" if len(groups) > 1 else "another"
    lines.append(f"{many(others, 'lesson says', 'lessons say')} what {other_lessons} says{done}")
    show(as_json, {"groups": [_plain(group) for group in groups], "lessons": others, "merged": len(kept)}, lines)


def cap(
    lessons: Annotated[int | None, typer.Option("--lessons", min=0, help="Keep at most this many active.")] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=0, help="Keep at most this many tokens (4 characters each).")
    ] = None,
    kind: Annotated[LessonKind | None, typer.Option(help="Only this kind.")] = None,
    namespace: NamespaceOption = None,
    scope: ScopeOption = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Disable the least valuable lessons above a limit. Pinned ones stay."""
    from seasoned.memory import upkeep
    from seasoned.pool import ExperiencePool

    with open_store(store, must_exist=True) as opened:
        pool = ExperiencePool(opened, one_scope(opened, namespace, scope))
        disabled = upkeep.cap(pool, lessons=lessons, tokens=tokens, kind=kind)
        left = len(pool.lessons(kind))
    lines = [f"{lesson.id}  {lesson.text}" for lesson in disabled[:20]]
    lines.append(f"{many(len(disabled), 'lesson')} disabled, {left:,} active")
    show(as_json, {"disabled": [lesson.model_dump(mode="json") for lesson in disabled], "active": left}, lines)


def _plain(group: Group) -> dict[str, Any]:
    others = [{**lesson.model_dump(mode="json"), "cosine": cosine} for lesson, cosine in group.others]
    return {"keep": group.keep.model_dump(mode="json"), "others": others}
