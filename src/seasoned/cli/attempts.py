"""`seasoned attempts|replay|outcome|learn|effect`: attempts, what was learned from them, and whether it helps.

Always holds: texts of environments and agents are shown as plain text, never as markup; with --dry-run, no model is
called and nothing is written; a verdict is signed by "person", and earlier ones are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    FLAGGED,
    MEMORY,
    STORE,
    JsonOption,
    MethodOption,
    NamespaceOption,
    StoreOption,
    chosen_pool,
    find_attempt,
    many,
    named_store,
    open_store,
    print_json,
    shortened,
    show,
    tell,
)
from seasoned.errors import ConfigError
from seasoned.text import one_line
from seasoned.types import Trajectory

if TYPE_CHECKING:
    from seasoned.memory import Learned
    from seasoned.memory.holdout import EffectReport
    from seasoned.store.pages import AttemptLine
_ENDED = {True: "solved", False: "not solved", None: "unknown"}
_MAX_SHOWN = 20  # learned lessons


def attempts(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Only attempts whose task contains all of these words.")
    ] = None,
    namespace: NamespaceOption = None,
    scope: Annotated[str | None, typer.Option(help="Only attempts of this pool, such as memory/default.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many.")] = 20,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """List attempts, the newest first. `seasoned replay` shows one."""
    from seasoned.store.pages import attempt_page

    with open_store(store, must_exist=True) as opened:
        pool = chosen_pool(opened, namespace, scope)
        # A memory's flagged attempts are in their own pool.
        pools = [pool] if namespace is None else [pool, FLAGGED + namespace]
        query = " ".join(words or [])
        lines = [line for each in pools for line in attempt_page(opened, scope=each, query=query, limit=limit + 1)]
    lines.sort(key=lambda line: -line.seq)
    if as_json:
        print_json([{name: value for name, value in vars(line).items() if name != "seq"} for line in lines[:limit]])
    else:
        _print_table(lines[:limit])
    if len(lines) > limit:
        typer.echo(f"These are the newest {limit:,}; --limit gives more.", err=True)


def _print_table(lines: list[AttemptLine]) -> None:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    several = len({line.scope for line in lines}) > 1
    folded = (Column(name, overflow="fold") for name in ("ended", *(["pool"] if several else []), "task"))
    table = Table(Column("id", no_wrap=True), *folded, box=None, pad_edge=False)
    for line in lines:
        pool = [one_line(line.scope, 60)] if several else []
        cells = [one_line(line.id, 40), _ENDED[line.success], *pool, one_line(line.task, 100)]
        table.add_row(*map(Text, cells))
    Console().print(table if lines else "no attempts")


def replay(
    trajectory: Annotated[str, typer.Argument(metavar="TRAJECTORY", help="A trajectory's id, or a prefix of it.")],
    prompts: Annotated[bool, typer.Option("--prompts", help="Show every message as the model saw it.")] = False,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show an attempt step by step."""
    with open_store(store, must_exist=True) as opened:
        attempt = find_attempt(opened, trajectory)
    show(as_json, attempt, attempt_lines(attempt, prompts))


def attempt_lines(trajectory: Trajectory, prompts: bool) -> list[str]:
    """An attempt as lines for `tell`; shows steps unless prompts are wanted and messages were kept."""
    from seasoned.traces.conversation import said

    outcome, meta, usage = trajectory.outcome, trajectory.meta, trajectory.usage
    lines = [f"{trajectory.id}  {trajectory.task_id}  {trajectory.agent}  {meta.get('condition', '')}".rstrip()]
    if flags := meta.get("flags"):
        lines.append(f"flagged  its text {'; it '.join(map(str, flags))}; lessons from it are quarantined")
    for verdict in meta.get("verdicts", ()):
        ended = {True: "success", False: "failure", None: "unknown"}[verdict["success"]]
        lines.append(f"verdict  {ended}, by {verdict['who']}, {verdict['at']}  {verdict['why']}".rstrip())
    if prompts and trajectory.messages:
        for message in trajectory.messages:
            lines += ["", f"[{message.get('role', '')}]", said(message)]
    else:
        lines += ["", "No messages of this attempt were stored; its steps:"] if prompts else []
        lines += ["", trajectory.task, *(["", trajectory.guidance] if trajectory.guidance else [])]
        for number, step in enumerate(trajectory.steps, 1):
            lines += ["", *([f"   Thought {number}: {step.thought}"] if step.thought else [])]
            lines += [f"    Action {number}: {step.action}", f"    {step.observation}"]
    solved = "outcome unknown" if outcome.success is None else _ENDED[outcome.success]
    spent = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
    ended = f"{solved} ({outcome.reason}) after {many(len(trajectory.steps), 'step')}; {spent}. {outcome.detail}"
    return [*lines, "", ended.rstrip()]


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
    lines = _learned_lines(learned) if learned else [f"{before}."]
    if learned is None and (used := before.spent_today).calls:
        lines.append(f"Learning used {many(used.calls, 'call')} and {used.tokens:,} tokens today.")
    lines += [f"{many(count, 'attempt')} taught nothing yet: {why}." for why, count in waiting.items()]
    if before.calls and not before.model:
        lines.append("This needs a model: --llm local, or the name of a server's model.")
    estimate = {name: value for name, value in vars(before).items() if name != "waiting"}
    plain = {"namespace": namespace, "method": method, "estimate": estimate, "waiting": waiting}
    show(as_json, {**plain, **_learned_plain(learned)} if learned else plain, lines)


def _learned_plain(learned: Learned) -> dict[str, object]:
    fields = {"id", "kind", "key", "text", "status"}
    lessons = [lesson.model_dump(include=fields) for lesson in learned.lessons]
    counts = {"attempts": learned.trajectories, "equal": learned.equal}
    return {**counts, "lessons": lessons, "skipped": learned.skipped, "usage": learned.usage}


def _learned_lines(learned: Learned) -> list[str]:
    from seasoned.cli.listing import beginning

    equal = f", {learned.equal:,} of them equal to an earlier one" if learned.equal else ""
    waiting = len(learned.quarantined)
    held = f" ({waiting:,} {'waits' if waiting == 1 else 'wait'} for review)" if waiting else ""
    lines = [
        f"Learned from {many(learned.trajectories, 'attempt')}{equal}: {many(len(learned.lessons), 'lesson')}{held}."
    ]
    each_lesson = [f"  {each.id}  {each.kind}  {beginning(each)}" for each in learned.lessons]
    lines += shortened(each_lesson, _MAX_SHOWN, "  and {:,} more: `seasoned lessons list` shows them")
    if learned.usage.calls:
        cost = learned.usage.cost
        price = "price unknown" if cost is None else f"${cost:,.4f}" if cost else "free"
        lines.append(f"It took {many(learned.usage.calls, 'call')}, {learned.usage.tokens:,} tokens, {price}.")
    return lines


def effect(
    namespace: Annotated[str, typer.Option("--namespace", help="The memory's name.")] = "default",
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="WHY", help="Switch guidance on again, with the reason.")
    ] = None,
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Show whether guidance helps in production.

    Prints the effect with its interval, and the retired lessons. This needs attempts of a memory with a holdout.
    """
    from seasoned.memory.holdout import read_effect, resume_guidance

    with open_store(store, must_exist=True) as opened:
        if resume is not None:
            resume_guidance(opened, namespace, resume)
            tell(f"guidance of the namespace {namespace} is switched on again", err=True)
        report = read_effect(opened, namespace)
    show(as_json, report, _effect_lines(report, store))


def _effect_lines(report: EffectReport, store: str) -> list[str]:
    verdict = {"helps": "It helps", "harms": "It harms", "not known yet": "Not known yet"}[report.verdict]
    effect = f": {report.overall}" if report.overall else ": guidance was never withheld as a whole"
    lines = [f"{verdict}{effect}."]
    if report.off:
        again = f'seasoned effect --namespace {report.namespace} --resume "WHY"{named_store(store)}'
        lines.append(f"Guidance is OFF: {report.off}. `{again}` switches it on again.")
    if report.waiting:
        waiting = many(report.waiting, "attempt has", "attempts have")
        lines.append(f"{waiting} no outcome yet; `seasoned outcome ID` sets it.")
    for heading, parts in (("By category", report.categories), ("By month", report.months)):
        if parts:
            lines += ["", heading]
            lines += [f"  {one_line(name, 40)}: {each or 'not known yet'}" for name, each in parts.items()]
    if report.lessons:
        lines += ["", "Lessons, by evidence of harm (retired at the limit)"]
    for lesson in report.lessons:
        known = f"; {lesson.effect}" if lesson.effect else ""
        harm = f"harm {lesson.harm:,.1f} of {lesson.limit:,.0f} after {lesson.uses:,} uses{known}"
        lines.append(f"  {lesson.lesson_id}  {lesson.status}  {harm}  {one_line(lesson.text, 60)}")
    return lines


def outcome(
    attempt: Annotated[str, typer.Argument(metavar="ID", help="An attempt's id, or a prefix of it.")],
    success: Annotated[bool | None, typer.Option("--success/--failure", help="The outcome.")] = None,
    reward: Annotated[float | None, typer.Option(help="The reward, from 0 to 1.")] = None,
    why: Annotated[str, typer.Option("--why", help="The reason, kept in the record.")] = "",
    store: StoreOption = STORE,
    as_json: JsonOption = False,
) -> None:
    """Set the outcome of a recorded attempt. The earlier verdict stays in the record.

    Lessons that came from a wrong verdict alone are set to deleted, and the attempt is learned from again.
    """
    from seasoned.memory import Memory
    from seasoned.store.pages import attempt_lines

    if success is None:
        raise ConfigError("give the outcome: --success or --failure")
    with open_store(store, must_exist=True) as opened:
        stored = find_attempt(opened, attempt)
        side, _, namespace = attempt_lines(opened, [stored.id])[stored.id].scope.partition("/")
        if side not in (MEMORY[:-1], "flagged"):
            raise ConfigError(f"{stored.id} is an attempt of a run, whose measured outcome cannot be changed")
        with Memory(opened, namespace=namespace, method="nearest", embedder=None) as memory:
            revised = memory.outcome(stored.id, success, reward, why)
    line = f"{revised.id} is {'a success' if success else 'a failure'} now"
    show(as_json, revised, f"{line}; its record has {len(revised.meta['verdicts'])} verdicts")
