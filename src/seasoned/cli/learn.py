"""`seasoned learn`: learn from a memory's new attempts, or estimate the cost.

Always holds: with --dry-run, no model is called and nothing is written; attempts that taught nothing are counted with
the reason.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import STORE, JsonOption, MethodOption, StoreOption, chosen_pool, many, open_store, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seasoned.memory import Learned
    from seasoned.memory.auto import ToLearn

_MAX_SHOWN = 20


def learn(
    namespace: Annotated[str, typer.Option("--namespace", help="The memory's name.")] = "default",
    llm: Annotated[
        str | None, typer.Option(help="The model that learns and judges: local, or a server's model.")
    ] = None,
    method: MethodOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate the cost.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also try skipped attempts again.")] = False,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Learn from a memory's new attempts.

    The model first judges attempts with an unknown outcome. Attempts that teach nothing wait, with a reason.
    """
    from seasoned.memory import Memory
    from seasoned.memory.opening import usual_method

    with open_store(store, must_exist=True) as opened:
        chosen_pool(opened, namespace, None)
        method = method or usual_method(opened, namespace)
        with Memory(
            opened, namespace=namespace, method=method, llm=llm, learn="manual", judge=llm is not None
        ) as memory:
            before = memory.to_learn()
            learned = None if dry_run else memory.learn(again=again)
            waiting = {**learned.reasons, **memory.to_learn().waiting} if learned else before.waiting
    lines = _done(learned) if learned else [f"{before}."]
    if learned is None and (used := before.spent_today).calls:
        lines.append(f"Learning used {many(used.calls, 'call')} and {used.tokens:,} tokens today.")
    lines += [f"{many(count, 'attempt')} taught nothing yet: {why}." for why, count in waiting.items()]
    if before.calls and not before.model:
        lines.append("This needs a model: --llm local, or the name of a server's model.")
    show(as_json, {"namespace": namespace, "method": method, **_facts(before, learned, waiting)}, lines)


def _facts(before: ToLearn, learned: Learned | None, waiting: Mapping[str, int]) -> dict[str, object]:
    estimate = {**asdict(before), "spent_today": before.spent_today.model_dump()}
    estimate.pop("waiting")
    if learned is None:
        return {"estimate": estimate, "waiting": waiting}
    names = ("id", "kind", "key", "text", "status")
    return {
        "estimate": estimate,
        "waiting": waiting,
        "attempts": learned.trajectories,
        "equal": learned.equal,
        "lessons": [{name: getattr(lesson, name) for name in names} for lesson in learned.lessons],
        "skipped": learned.skipped,
        "usage": learned.usage.model_dump(),
    }


def _done(learned: Learned) -> list[str]:
    from seasoned.cli.listing import beginning

    equal = f", {learned.equal:,} of them equal to an earlier one" if learned.equal else ""
    waiting = len(learned.quarantined)
    held = f" ({waiting:,} {'waits' if waiting == 1 else 'wait'} for review)" if waiting else ""
    lines = [
        f"Learned from {many(learned.trajectories, 'attempt')}{equal}: {many(len(learned.lessons), 'lesson')}{held}."
    ]
    lines += [f"  {each.id}  {each.kind}  {beginning(each)}" for each in learned.lessons[:_MAX_SHOWN]]
    if len(learned.lessons) > _MAX_SHOWN:
        lines.append(f"  and {len(learned.lessons) - _MAX_SHOWN:,} more: `seasoned lessons list` shows them")
    if learned.usage.calls:
        cost = learned.usage.cost
        price = "price unknown" if cost is None else f"${cost:,.4f}" if cost else "free"
        lines.append(f"It took {many(learned.usage.calls, 'call')}, {learned.usage.tokens:,} tokens, {price}.")
    return lines
