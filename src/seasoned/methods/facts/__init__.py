"""Facts (ours): what calls of a library gave, kept so that each can be run again.

An attempt's calls are traced, and the library is explored before the first task; each call that gives the same twice is
a lesson of the kind `fact`, with its function, its outcome and the library's version. Recalled are those of the
functions that a task names or a draft uses, as doctest lines. Always holds: no fact is worded by a model; a fact that
no longer holds is disabled with what came instead; what a person wrote, pinned or deleted stays so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from seasoned.methods.facts.explore import Exploration, find_usages, texts_in
from seasoned.methods.facts.fact import Fact, fact_of, harvest, lesson_of, read_doctests, read_pytest, run_fact
from seasoned.methods.facts.mends import mends_of
from seasoned.sandbox import Library, Sandbox
from seasoned.types import Block, Entry, Guidance, Lesson, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool
    from seasoned.protocols import LLM

HEADING = (
    "How the functions are called, and what that gave. Write calls of the same form, with variables for the values:"
)
FIXED = "Lines that had to be changed before, and what worked:"
STALE = "it no longer holds"
_USED_OF = 6


@dataclass(frozen=True)
class Checked:
    """What a verification found: how many facts still hold, and those that do not with what came instead."""

    held: int
    stale: tuple[tuple[Lesson, str], ...]
    skipped: int


@dataclass(frozen=True)
class Facts:
    """Facts from traced calls and from exploring a library.

    Args:
        llm: proposes calls when a library is explored; without one, rules alone do.
        library: the name of an importable library, or what a sandbox takes; "" learns from attempts alone, and runs
            nothing. Of several versions, the one that the last attempt used is explored.
        explore: seconds of exploring before the first learning; 0 for none.
        calls: of all functions together, at most so many while exploring.
        each: facts of one function that are recalled.
        functions: functions whose facts are recalled, at most.
        keep: facts of one function that are kept.
        mends: changed lines that are recalled, at most.
        unsafe: run the library without a sandbox where none works.
    """

    name: ClassVar[str] = "facts"
    llm: LLM | None = None
    library: str | Library | tuple[Library, ...] = ""
    explore: float = 90.0
    calls: int = 5000
    each: int = 3
    functions: int = 8
    keep: int = 12
    mends: int = 2
    unsafe: bool = False

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Explore the library if nothing is known of it, and take the facts of these attempts."""
        found: list[tuple[Fact, tuple[str, ...]]] = []
        sandbox = self.open(_version_of(trajectories))
        if sandbox is None:
            found = [(fact, (t.id,)) for t in trajectories for fact in harvest(t)]
        else:
            with closing(sandbox):
                if any(_is_older(lesson, sandbox) for lesson in pool.lessons("fact")):
                    self._verified(sandbox, pool)
                if self.explore > 0 and not _explored(pool, sandbox):
                    hints, seeds = [t.task for t in trajectories], [f.call for t in trajectories for f in harvest(t)]
                    exploring = Exploration(sandbox, self.llm, self.explore, self.calls, hints, seeds)
                    found += [(fact, ()) for fact in exploring.run()]
                traced = [(fact, (t.id,)) for t in trajectories for fact in harvest(t) if _is_of(fact, sandbox)]
                found += _agreed(sandbox, traced)
                found += _used(sandbox, found, texts_in(t.task for t in trajectories))
        self._keep(found, pool)
        mends = [mend for trajectory in trajectories for mend in mends_of(trajectory)]
        _add_mends(mends, pool)

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The facts of the functions that the task names; on the way, of those that the drafts use too."""
        drafts = [step.action for step in progress.steps] if progress is not None else []
        book = pool.derived(_by_function, "fact")
        words = dict.fromkeys(re.findall(r"[A-Za-z_]\w{0,80}", "\n".join([*drafts[::-1], task.text])[:20_000]))
        lessons: list[Lesson] = []
        entries: list[Entry] = []
        for function in [word for word in words if word in book][: self.functions]:
            chosen = choose(book[function], self.each)
            lessons += chosen
            text = "\n".join(dict.fromkeys(lesson.text for lesson in chosen))
            entries.append(Entry(text=text, lesson_ids=tuple(lesson.id for lesson in chosen)))
        blocks = [Block(heading=HEADING, entries=tuple(entries))] if entries else []
        mends = pool.derived(_mends, "fact")
        if fixed := [mend for word in words for mend in mends.get(word, ())][-self.mends :] if self.mends else []:
            lessons += fixed
            shown = tuple(Entry(text=mend.text, lesson_ids=(mend.id,)) for mend in fixed)
            blocks.append(Block(heading=FIXED, entries=shown))
        return Guidance(lessons=tuple(lessons), blocks=tuple(blocks))

    def verify(self, pool: ExperiencePool) -> Checked:
        """Run the facts of a pool again: one that no longer holds is disabled, and what came instead is a new fact.

        Raises:
            ConfigError: there is no library, or no sandbox.
        """
        sandbox = self.open()
        if sandbox is None:
            return Checked(0, (), len(pool.lessons("fact")))
        with closing(sandbox):
            return self._verified(sandbox, pool)

    def _verified(self, sandbox: Sandbox, pool: ExperiencePool) -> Checked:
        held, skipped, stale = 0, 0, list[tuple[Lesson, str]]()
        for lesson in pool.lessons("fact"):
            fact = fact_of(lesson)
            if not fact.call or not fact.runs or fact.library not in ("", sandbox.library.name):
                skipped += 1
                continue
            now = run_fact(sandbox, fact.same)
            if now is not None and now.outcome == fact.outcome:
                held += 1
                if _is_older(lesson, sandbox) and not lesson.pinned:
                    data = {**lesson.data, "version": sandbox.version}
                    pool.update(lesson.model_copy(update={"data": data}), why="it still holds")
                continue
            instead = now.outcome if now is not None else "nothing that can be compared"
            stale.append((lesson, instead))
            _put_aside(lesson, instead, sandbox.version, pool)
            if now is not None and not lesson.pinned:
                new = lesson_of(replace(now, usage=fact.usage), lesson.sources)
                pool.add(new, why="what came instead of a fact that no longer holds")
        return Checked(held, tuple(stale), skipped)

    def open(self, version: str = "") -> Sandbox | None:
        """A sandbox with the library; None where there is no library. Of several versions, this one, else the last."""
        if not self.library:
            return None
        library = self.library
        if isinstance(library, tuple):
            library = next((each for each in library if each.version == version), library[-1])
        return Sandbox(Library.of(library) if isinstance(library, str) else library, unsafe=self.unsafe)

    def keep_facts(self, facts: Sequence[Fact], pool: ExperiencePool) -> list[Lesson]:
        """Put facts into a pool that were read somewhere; with a library each is run, and kept as it is now.

        Returns:
            The lessons that are new.
        """
        known = {lesson.id for lesson in pool.lessons("fact")}
        sandbox = self.open()
        if sandbox is not None:
            with closing(sandbox):
                facts = [now for fact in facts if fact.runs and (now := run_fact(sandbox, fact.same))]
        self._keep(((fact, ()) for fact in facts), pool)
        return [lesson for lesson in pool.lessons("fact") if lesson.id not in known]

    def _keep(self, found: Iterable[tuple[Fact, tuple[str, ...]]], pool: ExperiencePool) -> None:
        """Put facts into the pool: each once, few of one function; the newest outcome of a call counts."""
        stored = {fact_of(lesson).same: lesson for lesson in pool.lessons("fact", status=None)}
        counts: dict[str, int] = {}
        for lesson in stored.values():
            counts[lesson.key] = counts.get(lesson.key, 0) + (lesson.status == "active")
        fresh: dict[tuple[str, ...], Lesson] = {}
        for fact, sources in found:
            old = stored.get(fact.same)
            if old is not None and not (pool.taken_away(old) and not _is_stale(old)):
                before = fact_of(old)
                if before.outcome == fact.outcome and old.status == "active":
                    continue
                if old.status == "active":
                    _put_aside(old, fact.outcome, fact.version, pool)
            elif old is not None or (
                fact.same not in fresh and counts.get(fact.function, 0) >= self.keep and not fact.usage
            ):
                continue
            if fact.same not in fresh:
                counts[fact.function] = counts.get(fact.function, 0) + 1
            fresh[fact.same] = lesson_of(fact, sources)
        pool.add(list(fresh.values()), why="a call and what it gave")


def read_facts(text: str) -> list[Fact]:
    """The facts in a text: doctests, or what pytest says of failures."""
    return [*read_doctests(text), *read_pytest(text)]


def choose(lessons: Sequence[Lesson], most: int) -> list[Lesson]:
    """The facts of one function that tell most: outcomes of different forms first, then calls of different forms.

    Up to two that show how it is used stand for all of them, where there are such. An error is told where no call gave
    anything, the one that says most.
    """
    facts = [(lesson, fact_of(lesson)) for lesson in lessons]
    bare = [pair for pair in facts if not pair[1].setup or len(pair[1].setup) > 1]
    gave = sorted(
        (pair for pair in bare if not pair[1].error and not pair[1].usage and pair[1].value != "None"), key=_size
    )
    raised = sorted((pair for pair in facts if pair[1].error), key=lambda pair: (-len(pair[1].error), _size(pair)))
    kept: list[tuple[Lesson, Fact]] = []
    shapes: set[str] = set()
    forms = (lambda f: _shape(f.value), lambda f: _shape("; ".join(f.same)), lambda f: f.text)
    for form in forms:
        for pair in gave if len(kept) < 2 or form is not forms[-1] else ():
            if len(kept) < most and pair not in kept and (shape := form(pair[1])) not in shapes:
                shapes.add(shape)
                kept.append(pair)
    used = [pair for pair in facts if pair[1].usage]
    if used := ([pair for pair in used if ".join(" in pair[1].call] or used)[:2]:
        kept = used[:most]
    kept = kept or raised[:1]
    return [lesson for lesson, _ in kept]


def _size(pair: tuple[Lesson, Fact]) -> tuple[bool, int, int]:
    """Of facts about an object, what gave something first; then the shortest."""
    return bool(pair[1].setup) and _shape(pair[1].value) == "0", len(pair[1].setup), len(pair[1].text)


def _shape(text: str) -> str:
    """What a text is like: all numbers but 0 are alike, words are words."""
    return re.sub(r"\d+", lambda number: "1" if number[0].strip("0") else "0", text)


def _by_function(lessons: Sequence[Lesson]) -> dict[str, list[Lesson]]:
    """Facts under the name that a program calls: of `Box.put` both `Box` and, where it is alone, the function."""
    book: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if "before" in lesson.data:
            continue
        parts = lesson.key.split(".")
        name = next((part for part in parts if part[:1].isupper()), parts[-1])
        book.setdefault(name, []).append(lesson)
    return book


def _mends(lessons: Sequence[Lesson]) -> dict[str, list[Lesson]]:
    """The changes that worked, by the function of the line."""
    book: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if "before" in lesson.data:
            book.setdefault(lesson.key, []).append(lesson)
    return book


def _version_of(trajectories: Sequence[Trajectory]) -> str:
    """The version of the library that the last attempt used."""
    facts = (fact for trajectory in reversed(trajectories) for fact in harvest(trajectory) if fact.version)
    return next((fact.version for fact in facts), "")


def _is_older(lesson: Lesson, sandbox: Sandbox) -> bool:
    """Whether a fact of this library was seen with another version of it."""
    data = lesson.data
    version = data.get("version")
    return bool(version) and version != sandbox.version and data.get("library") == sandbox.library.name


def _explored(pool: ExperiencePool, sandbox: Sandbox) -> bool:
    """Whether facts of this version of the library are known that no attempt was the source of."""
    known = (lesson for lesson in pool.lessons("fact", status=None) if not lesson.sources)
    return any(lesson.data.get("version") == sandbox.version and _is_of(fact_of(lesson), sandbox) for lesson in known)


def _is_of(fact: Fact, sandbox: Sandbox) -> bool:
    return fact.library in ("", sandbox.library.name) and (not fact.version or fact.version == sandbox.version)


def _agreed(sandbox: Sandbox, found: Sequence[tuple[Fact, tuple[str, ...]]]) -> list[tuple[Fact, tuple[str, ...]]]:
    """Those that give the same when they are run again."""
    kept, seen = [], dict[tuple[str, ...], bool]()
    for fact, sources in found:
        if fact.same not in seen:
            now = run_fact(sandbox, fact.same) if fact.runs else None
            seen[fact.same] = now is not None and now.outcome == fact.outcome
        if seen[fact.same]:
            kept.append((fact, sources))
    return kept


def _used(
    sandbox: Sandbox, found: Sequence[tuple[Fact, tuple[str, ...]]], texts: Sequence[str]
) -> list[tuple[Fact, tuple[str, ...]]]:
    """How functions are used, from up to three calls of each that gave something."""
    some: dict[str, list[Fact]] = {}
    for fact, _ in found:
        own = some.setdefault(fact.function, [])
        if not fact.error and len(own) < _USED_OF and fact not in own:
            own.append(fact)
    return [(usage, ()) for own in some.values() for usage in find_usages(sandbox, own, texts)]


def _is_stale(lesson: Lesson) -> bool:
    return bool(lesson.data.get("instead"))


def _put_aside(lesson: Lesson, instead: str, version: str, pool: ExperiencePool) -> None:
    """Disable a fact that no longer holds, with what came instead; a pinned one stays."""
    if not lesson.pinned:
        data = {**lesson.data, "instead": instead, "instead_version": version}
        pool.update(lesson.model_copy(update={"status": "disabled", "data": data}), why=f"{STALE}: {instead}"[:300])


def _add_mends(mends: Sequence[tuple[str, str, str, str]], pool: ExperiencePool) -> None:
    """Keep lines that were changed where that worked, each once."""
    known = {lesson.text for lesson in pool.lessons("fact", status=None)}
    for function, before, after, source in mends:
        text = f"- {before}\n+ {after}"
        if text not in known:
            known.add(text)
            data = {"before": before, "after": after}
            lesson = Lesson(kind="fact", key=function, text=text, method="facts", sources=(source,), data=data)
            pool.add(lesson, why="a change that worked")
