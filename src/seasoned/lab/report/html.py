"""report.html: one file to open, read and print, which loads nothing from elsewhere.

It has the tables and figures, a few episodes to read, and all conversations and other calls (`Call`). Always holds:
text from models, benchmarks and configs is escaped, cut to a readable length, and cannot change the direction of the
text around it; the page's own policy forbids scripts and every request; an episode and the baseline's at the same task,
seed, fold and run are shown together; no message is left out silently: a cut one says how much is missing, and those
without room are counted; a beginning that several conversations share is shown once, word for word, as an opening to
which they refer; an episode whose demonstrations were exchanged on the way lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from seasoned.errors import MissingExtraError
from seasoned.lab.report import tables
from seasoned.lab.report.attempt_tables import FEW, PAGE, lessons_table
from seasoned.lab.report.measures import Row, final, grouped
from seasoned.lab.report.plots import draw_figures
from seasoned.lab.report.summary import Run, Spent, Summary
from seasoned.text import clean, count, cut, label, one_line, prompt_line
from seasoned.traces.conversation import conversation, spoken
from seasoned.types import Lesson, Message, Trajectory

if TYPE_CHECKING:
    import jinja2

CONFIG_LIMIT = 20_000
LESSON_LIMIT = 100
PROBLEM_LIMIT = 1000
MESSAGE_LIMIT, MESSAGES_LIMIT = 4000, 60
"""The most characters of a message, and the most messages, shown for a chosen episode."""
WHOLE_MESSAGE_LIMIT = 50_000
"""The most characters of a message shown in the list of all conversations."""
EPISODES_ROOM, CALLS_ROOM = 8_000_000, 4_000_000
"""The most characters of all conversations, and of all other calls, on a page."""
NAMED = 4000
"""The most episodes, and the most calls, that a page names."""
FIXES = 3
"""The most tasks whose programs are shown."""
_LINES, _LINE, _FACTS = 30, 160, 4  # of a program, of a line, and of what was known
_MIN_SAVED = 400  # characters that an opening must save
_MOVES = {
    (False, True): ("F=>T", "not solved before, solved now", "gain"),
    (True, False): ("T=>F", "solved before, not solved now", "loss"),
    (False, False): ("F=>F", "not solved before, still not solved", "still"),
    (True, True): ("T=>T", "solved before, solved now", "kept"),
}
Messages = list[tuple[str, str]]
Purpose = Literal["learning", "reflecting", "recalling"]


class Call(BaseModel):
    """One line of `calls.jsonl`: the messages, the reply and the purpose of a model call.

    `condition` is the condition of the pool or episode, "training", or "" if conditions share the call; calls for
    learning have no task; `trial` is the attempt that a reflection was for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    run_id: str
    purpose: Purpose
    condition: str = ""
    seed: int = 0
    fold: int = 0
    task_id: str = ""
    task: str = ""
    trial: int = 0
    messages: tuple[Message, ...]
    reply: str


def render(
    summary: Summary,
    rows: Sequence[Row],
    attempts: Sequence[Trajectory] = (),
    lessons: Sequence[Lesson] = (),
    config_text: str = "",
    calls: Sequence[Call] = (),
) -> str:
    """The report of a run as a page. Without matplotlib the plots are left out, and the page says so.

    Args:
        summary: The summary of the run.
        rows: The rows of the summary.
        attempts: All attempts of the run, shown complete but folded; those of `choose_episodes` also come first.
        lessons: The lessons of the run, to show which ones an attempt recalled.
        config_text: The resolved config, shown as it is.
        calls: All model calls outside the agents' turns, shown likewise.
    """
    try:
        drawn, missing = draw_figures(summary), ""
    except MissingExtraError as error:
        drawn, missing = [], f"There are no plots: {error}."
    chosen = set(choose_episodes(summary, rows))
    to_read = [attempt for attempt in attempts if attempt.id in chosen]
    version = f"=={summary.run.version}" if summary.run.version else ""
    return _template().render(
        summary=summary,
        name=one_line(summary.run.name or summary.run.id or "run", 80),
        facts=_about(summary.run),
        tiles=_tiles(summary),
        main=tables.main_table(summary),
        published=tables.published_table(summary),
        pairs=tables.pairs_table(summary),
        few_pairs=FEW,
        figures=drawn,
        figures_missing=missing,
        tables=[table for make in PAGE if (table := make(summary))],
        lessons=lessons_table(summary, limit=LESSON_LIMIT, width=400),
        fixes=fixes(summary, rows, to_read, lessons),
        episodes=views(summary, rows, to_read, lessons),
        everything=every_episode(rows, attempts),
        calls=every_call(calls),
        problems=_problems(summary),
        training=summary.training,
        config=cut(config_text, CONFIG_LIMIT),
        steps=[f"pip install 'seasoned[local,eval]{version}'", "seasoned run config.toml"],
    )


@cache
def _template() -> jinja2.Template:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )
    return environment.get_template("report.html.j2", globals={"count": count, "duration": duration})


def _about(run: Run) -> list[tuple[str, str]]:
    first, last = _moment(run.started), _moment(run.finished)
    took = ""
    if first and last and (first.tzinfo is None) == (last.tzinfo is None) and last >= first:
        took = duration((last - first).total_seconds())
    shown = {
        "benchmark": run.benchmark,
        "model": run.model,
        "learned by": run.learner if run.learner != run.model else "",
        "seeds": ", ".join(map(str, run.seeds)),
        "date": first.strftime("%Y-%m-%d %H:%M %Z").strip() if first else one_line(run.started, 40),
        "took": took,
        "run": run.id,
    }
    return [(name, one_line(value, 120)) for name, value in shown.items() if value]


def _moment(stamp: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None


def duration(seconds: float) -> str:
    """Seconds for people: 48 s, 5 min 12 s, 2 h 5 min."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    return f"{total // 60} min {total % 60} s" if total < 3600 else f"{total // 3600} h {total % 3600 // 60} min"


def _tiles(summary: Summary) -> list[tuple[str, str, str]]:
    """(figure, name, small print) of the method, the baseline, their difference, and the usage."""
    tiles = []
    for one in (summary.condition(summary.method), summary.condition(summary.baseline)):
        if one and one.n:
            low, high = (f"{100 * bound:.0f}" for bound in one.interval)
            small = f"{one.successes} of {one.n} solved, 95% interval {low} to {high}"
            tiles.append((tables.percent(one.accuracy, 0), label(one.name), small))
    pair = summary.pair(summary.baseline, summary.method)
    if pair and pair.n:
        small = f"{pair.only_b} gained, {pair.only_a} lost, {tables.test_words(pair)}"
        tiles.append((tables.signed(pair.points, 0), "points of difference", small))
    used: list[Spent] = [*summary.conditions, summary.training]
    costs = [one.cost for one in used if one.cost is not None]
    price = tables.cost(sum(costs)) if len(costs) == len(used) else "unknown"
    small = f"{sum(one.calls for one in used):,} model calls, cost {price}"
    if summary.cached_share is not None:
        small += f"; {tables.percent(summary.cached_share, 0)} of the test prompts from cache"
    total = sum(one.tokens.total for one in used)
    return [*tiles, (count(total), "tokens in all", small)] if total else tiles


def _problems(summary: Summary) -> list[tuple[str, list[str]]]:
    """The problems of learning: (conditions and place, sentences) for each pool."""
    among = [(part.seed, part.fold) for one in summary.conditions for part in one.per_seed]
    listed = []
    for pool in summary.problems:
        parts = (", ".join(map(label, pool.conditions)), tables.place_words(pool.seed, pool.fold, among))
        listed.append((", ".join(filter(None, parts)), [cut(text, PROBLEM_LIMIT) for text in pool.problems]))
    return listed


# Programs


def fixes(
    summary: Summary, rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """A failed program beside one that works, with the facts it used; [] if no task asks for a program.

    Both programs are of one task, seed, fold and run: the baseline failed, and the method solved it.
    """
    attempts = {one.id: one for one in trajectories if one.agent == "coder"}
    pairs = grouped((row.key, (row.condition, row)) for row in rows if row.trajectory_id in attempts)
    texts = {lesson.id: lesson for lesson in lessons if lesson.kind == "fact"}
    shown = []
    for pair in map(dict[str, Row], pairs.values()):
        before, after = pair.get(summary.baseline), pair.get(summary.method or "")
        if before is not None and after is not None and after.solved and not before.solved:
            shown.append(_fix(before, after, attempts, texts))
    return shown[:FIXES]


def _fix(before: Row, after: Row, attempts: Mapping[str, Trajectory], texts: Mapping[str, Lesson]) -> dict[str, Any]:
    old, new = attempts[before.trajectory_id], attempts[after.trajectory_id]
    lines = [cut(_program(one), 8000).splitlines()[:_LINES] for one in (old, new)]
    removed, added = _marked(*lines)
    known = [texts[one] for one in new.lesson_ids if one in texts]
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines[1])))
    facts = [lesson.text for lesson in known if used & set(lesson.key.split("."))]
    # The fault is the judge's verdict, or else the last observation.
    seen = [step.observation for step in old.steps if step.observation]
    fault = prompt_line(str(old.meta.get("verdict") or (seen[-1] if seen else "")), 300)
    return {
        "task": cut(new.task, 600),
        "facts": [cut(text, 400) for text in dict.fromkeys(facts)][:_FACTS],
        "sides": [
            {"name": label(before.condition), "mark": "-", "lines": removed, "solved": False, "says": fault},
            {"name": label(after.condition), "mark": "+", "lines": added, "solved": True, "says": ""},
        ],
    }


def _program(attempt: Trajectory) -> str:
    """The program that was judged."""
    written = (step.action for step in reversed(attempt.steps) if not step.action.startswith((">>>", "NOTE[", "N/A")))
    return next(written, attempt.outcome.answer)


def _marked(old: Sequence[str], new: Sequence[str]) -> list[list[tuple[str, bool]]]:
    """The lines of both programs, each with whether the other program lacks it."""
    before, after = ([line[:_LINE].rstrip() for line in side] for side in (old, new))
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    in_new = {block.a + n for block in same for n in range(block.size)}
    in_old = {block.b + n for block in same for n in range(block.size)}
    sides = ((before, in_new), (after, in_old))
    return [[(line, at not in shared) for at, line in enumerate(side)] for side, shared in sides]


# Episodes to read


def choose_episodes(summary: Summary, rows: Sequence[Row]) -> list[str]:
    """Ids of at most 12 trajectories worth reading: the method's episodes and the baseline's at the same tasks.

    The choice is three tasks that only the method solved, two that only the baseline solved, and one that neither
    solved; episodes with lessons and short ones come first, and no task is repeated among tasks of one kind. Without a
    method there are none.
    """
    tested = [row for row in final(rows) if row.counted]
    before = {row.key: row for row in tested if row.condition == summary.baseline}
    after = [row for row in tested if row.condition == summary.method]
    if not before:
        examples = [row for solved in (True, False) for row in [one for one in after if one.solved is solved][:3]]
        return [row.trajectory_id for row in examples if row.trajectory_id]
    after.sort(key=lambda row: (not row.lesson_ids, row.turns, len(row.task), row.key))
    chosen: list[str] = []
    for move, places in (((False, True), 3), ((True, False), 2), ((False, False), 1)):
        by_task: dict[str, Row] = {}
        for row in after:
            if row.key in before and (before[row.key].solved, row.solved) == move:
                by_task.setdefault(row.task_id, row)
        for row in list(by_task.values())[:places]:
            chosen += [row.trajectory_id, before[row.key].trajectory_id]
    return list(dict.fromkeys(one for one in chosen if one))


def views(
    summary: Summary, rows: Sequence[Row], trajectories: Sequence[Trajectory], lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """The episodes grouped by task and run, the baseline's first, then by trial, each with its recalled lessons."""
    row_of = {row.trajectory_id: row for row in rows if row.trajectory_id}
    texts = {lesson.id: lesson for lesson in lessons}
    found = [(row_of.get(one.id), one) for one in trajectories]
    shown = []
    for members in grouped((row.key if row else one.id, (row, one)) for row, one in found).values():
        members.sort(
            key=lambda one: (not one[0] or one[0].condition != summary.baseline, one[0].trial if one[0] else 0)
        )
        row, trajectory = members[0]
        solved = [row.solved for row, _ in members if row is not None]
        shown.append(
            {
                "move": _MOVES[(solved[0], solved[1])] if len(solved) == 2 else None,
                "task": one_line(trajectory.task, 160),
                "category": one_line(trajectory.category, 40),
                "gold": one_line(row.gold, 160) if row else "",
                "attempts": [_attempt(row, trajectory, texts) for row, trajectory in members],
            }
        )
    return shown


def _attempt(row: Row | None, trajectory: Trajectory, lessons: Mapping[str, Lesson]) -> dict[str, Any]:
    recalled = [lessons[one] for one in trajectory.lesson_ids if one in lessons]
    messages = conversation(trajectory)
    trial = f" R{row.trial}" if row and row.trial else ""
    return {
        **_facts(row, trajectory),
        "condition": label(row.condition if row else trajectory.agent or "episode") + trial,
        "lessons": [(one_line(one.key, 60), cut(one.text, 400)) for one in recalled[:20]],
        "messages": [(role, cut(text, MESSAGE_LIMIT)) for role, text in messages[:MESSAGES_LIMIT]],
        "left_out": max(0, len(messages) - MESSAGES_LIMIT),
    }


def _facts(row: Row | None, trajectory: Trajectory) -> dict[str, Any]:
    """The facts shown for every episode."""
    success = row.solved if row and row.counted else trajectory.outcome.success
    used = trajectory.usage
    return {
        "id": one_line(trajectory.id, 60),
        "success": success,
        "verdict": {True: "solved", False: "not solved", None: "outcome unknown"}[success],
        "reason": one_line(trajectory.outcome.reason, 40),
        "answer": one_line(trajectory.outcome.answer, 160),
        "usage": f"{count(used.prompt_tokens)} tokens in, {count(used.completion_tokens)} out",
        "exchanged": exchanged(trajectory),
    }


def exchanged(trajectory: Trajectory) -> list[tuple[int, list[str]]]:
    """The demonstrations before the task, with the step from which on (1 is the first); [] if they stayed the same.

    The stored conversation begins with the last demonstrations.
    """
    kept = trajectory.meta.get("demonstrations")
    sets = []
    for one in kept if isinstance(kept, list) else []:
        step, ids = (one.get("from"), one.get("ids")) if isinstance(one, dict) else (None, None)
        if isinstance(step, int) and isinstance(ids, list):
            sets.append((step + 1, [str(each) for each in ids]))
    return sets


# Every conversation


class Conversation(NamedTuple):
    """A conversation to lay out: its group, the facts to show, the id of its subject (such as a task), its messages."""

    group: str
    view: dict[str, Any]
    about: str
    messages: Messages


def every_episode(
    rows: Sequence[Row], trajectories: Sequence[Trajectory], *, room: int = EPISODES_ROOM
) -> dict[str, Any]:
    """All episodes as `laid_out`, condition by condition.

    There are also `numbers`, the numbers of the named episodes by full id, and a sentence `says`.
    """
    row_of = {row.trajectory_id: row for row in rows if row.trajectory_id}
    numbers = {one.id: number for number, one in enumerate(trajectories[:NAMED], 1)}
    named = []
    for one in trajectories[:NAMED]:
        row = row_of.get(one.id)
        where = f"seed {row.seed}, fold {row.fold}" if row and (row.seed or row.fold) else ""
        name = row.condition if row else one.agent or "other"
        name = tables.gathering(name) if row and row.split == "train" else name
        about = {"number": numbers[one.id], "title": _title(one.category, where, one.task)}
        view = _facts(row, one) | about | {"trial": row.trial if row else 0}
        named.append(Conversation(label(name), view, one.task_id, conversation(one)))
    laid = laid_out(named, room, len(trajectories))
    missing = laid["missing"]
    rest = f" The other {missing:,} did not fit; read one with seasoned replay and its id." if missing else ""
    says = f"{laid['whole']:,} whole conversations, as the model saw them.{rest} All of them are in trajectories.jsonl."
    return laid | {"numbers": numbers, "says": says}


def every_call(calls: Sequence[Call], *, room: int = CALLS_ROOM) -> dict[str, Any]:
    """All calls outside the agents' turns, each with its reply, by purpose and condition: as `every_episode`."""
    named = []
    for number, call in enumerate(calls[:NAMED], 1):
        owner = tables.gathering(call.condition) if call.condition == "training" else label(call.condition)
        where = f"seed {call.seed}, fold {call.fold}" if call.seed or call.fold else ""
        trial = f"for R{call.trial}" if call.trial else ""
        title = _title(f"call {number}", where, trial, call.task if call.task_id else call.reply)
        messages = spoken([*call.messages, {"role": "assistant", "content": call.reply}])
        group = f"{call.purpose}, {owner if call.condition else 'test tasks'}"
        named.append(Conversation(group, {"title": title}, str(number), messages))
    laid = laid_out(named, room, len(calls))
    rest = f" The other {laid['missing']:,} would not fit." if laid["missing"] else ""
    says = f"{laid['whole']:,} model calls outside the agents' turns, each with its reply."
    return laid | {"says": f"{says}{rest} All that were kept are in calls.jsonl."}


def _title(*parts: str) -> str:
    return " · ".join(one_line(part, 120) for part in parts if part)


def laid_out(named: Iterable[Conversation], room: int, total: int) -> dict[str, Any]:
    """Conversations in groups; a beginning that conversations about different subjects share becomes an opening.

    Args:
        named: The conversations, in order.
        room: The most characters; conversations without room have no messages.
        total: The number of all conversations, including those not named.

    Returns:
        groups: list of {name, episodes: list of the facts of each, with `opening` (the number of an opening or 0) and
            `messages` (those after the opening, or None without room)}; openings: list of messages, numbered from 1;
            whole: how many have their messages; missing: how many have not.
    """
    cut_short = [
        one._replace(messages=[(role, cut(text, WHOLE_MESSAGE_LIMIT)) for role, text in one.messages]) for one in named
    ]
    openings: dict[tuple[tuple[str, str], ...], int] = {}
    laid, whole = [], 0
    for one, shared in zip(cut_short, _shared_lengths(cut_short), strict=True):
        opening, rest = tuple(one.messages[:shared]), one.messages[shared:]
        needed = _size(rest) + (0 if opening in openings else _size(opening))
        fits = needed <= room
        room -= needed if fits else 0
        whole += fits
        number = openings.setdefault(opening, len(openings) + 1) if fits and opening else 0
        laid.append((one.group, one.view | {"opening": number, "messages": rest if fits else None}))
    return {
        "groups": [{"name": name, "episodes": episodes} for name, episodes in grouped(laid).items()],
        "openings": [list(opening) for opening in openings],
        "whole": whole,
        "missing": total - whole,
    }


def _size(messages: Iterable[tuple[str, str]]) -> int:
    return sum(len(text) for _, text in messages)


def _shared_lengths(named: Sequence[Conversation]) -> list[int]:
    """How many first messages each conversation shares with one about another subject; 0 if that saves little."""
    # A hash for each beginning of a conversation.
    beginnings = [list(accumulate(one.messages, lambda *both: hash(both), initial=0))[1:] for one in named]
    users = grouped((each, one.about) for one, own in zip(named, beginnings, strict=True) for each in own)
    shared = {beginning for beginning, about in users.items() if len(set(about)) > 1}
    lengths = [sum(each in shared for each in own) for own in beginnings]
    return [n if _size(one.messages[:n]) >= _MIN_SAVED else 0 for one, n in zip(named, lengths, strict=True)]
