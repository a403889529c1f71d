"""Facts (ours): recorded results of library calls, each of which can be run again.

An attempt's calls are traced, and the library is explored before the first task. Each call that gives the same result
twice becomes a lesson of the kind `fact`, with its function, outcome and the library's version. Recall shows the facts
of functions that a task names or a draft uses, as doctest lines. Always holds: no model words a fact; a fact that no
longer holds is disabled, with the new result; what a person wrote, pinned or deleted stays so.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from seasoned.methods.facts.explore import Exploration, find_usages, texts_in
from seasoned.methods.facts.fact import Fact, fact_of, harvest, lesson_of, read_doctests, read_pytest, run_fact
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
_USAGE_CALLS = 6  # successful calls of a function whose usage is explored
_MEND_CHARS = 160  # of a changed line
_WORD = re.compile(r"[A-Za-z_]\w{0,80}")


class Found(NamedTuple):
    """A fact, and the ids of the attempts that it comes from."""

    fact: Fact
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """The result of a verification: how many facts still hold, and those that do not with their new results."""

    held: int
    stale: tuple[tuple[Lesson, str], ...]
    skipped: int


@dataclass(frozen=True)
class Facts:
    """Facts from traced calls and from exploring a library.

    Args:
        llm: proposes calls when a library is explored; without it, only rules do.
        library: the name of an importable library, or anything a sandbox accepts; "" learns from attempts only and runs
            nothing. Of several versions, the one that the last attempt used is explored.
        explore: seconds to explore before the first learning; 0: no exploration.
        calls: the most calls while exploring, for all functions together.
        each: the most facts recalled for one function.
        functions: the most functions whose facts are recalled.
        keep: the most facts kept for one function.
        mends: the most changed lines to recall.
        unsafe: run the library without a sandbox if none works.
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
        """Explore the library if it is new, and store the facts of these attempts."""
        facts = harvested = [Found(fact, (t.id,)) for t in trajectories for fact in harvest(t)]
        sandbox = self.open(next((fact.version for fact, _ in reversed(harvested) if fact.version), ""))
        if sandbox is not None:
            with closing(sandbox):
                facts, tasks = [], [t.task for t in trajectories]
                if any(_is_older(lesson, sandbox) for lesson in pool.lessons("fact")):
                    self._verified(sandbox, pool)
                if self.explore > 0 and not _explored(pool, sandbox):
                    calls = [fact.call for fact, _ in harvested]
                    exploring = Exploration(sandbox, self.llm, self.explore, self.calls, hints=tasks, seeds=calls)
                    facts += [Found(fact) for fact in exploring.run()]
                facts += _agreed(sandbox, [found for found in harvested if _is_of(found.fact, sandbox)])
                facts += _used(sandbox, facts, texts_in(tasks))
        self._keep(facts, pool)
        _add_mends(trajectories, pool)

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The facts of the functions that the task names; during an attempt, also of those that its drafts use."""
        drafts = [step.action for step in progress.steps] if progress is not None else []
        book = pool.derived(_by_function, "fact")
        words = dict.fromkeys(_WORD.findall("\n".join([*drafts[::-1], task.text])[:20_000]))
        lessons: list[Lesson] = []
        entries: list[Entry] = []
        for function in [word for word in words if word in book][: self.functions]:
            lessons_of_function = choose(book[function], self.each, words.keys() - book.keys())
            lessons += lessons_of_function
            text = "\n".join(dict.fromkeys(lesson.text for lesson in lessons_of_function))
            entries.append(Entry(text=text, lesson_ids=tuple(lesson.id for lesson in lessons_of_function)))
        blocks = [Block(heading=HEADING, entries=tuple(entries))] if entries else []
        mends = pool.derived(_mends, "fact")
        if fixed := [mend for word in words for mend in mends.get(word, ())][-self.mends :] if self.mends else []:
            lessons += fixed
            fixes = tuple(Entry(text=mend.text, lesson_ids=(mend.id,)) for mend in fixed)
            blocks.append(Block(heading=FIXED, entries=fixes))
        return Guidance(lessons=tuple(lessons), blocks=tuple(blocks))

    def verify(self, pool: ExperiencePool) -> Checked:
        """Run the facts of a pool again; one that no longer holds is disabled, and its new result becomes a fact.

        Raises ConfigError if the library cannot be imported, or no sandbox works.
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
            new = run_fact(sandbox, fact.same)
            if new is not None and new.outcome == fact.outcome:
                held += 1
                if _is_older(lesson, sandbox) and not lesson.pinned:
                    data = {**lesson.data, "version": sandbox.version}
                    pool.update(lesson.model_copy(update={"data": data}), why="it still holds")
                continue
            instead = new.outcome if new is not None else "nothing that can be compared"
            stale.append((lesson, instead))
            _put_aside(lesson, instead, sandbox.version, pool)
            if new is not None and not lesson.pinned:
                new_lesson = lesson_of(replace(new, usage=fact.usage), lesson.sources)
                pool.add(new_lesson, why="what came instead of a fact that no longer holds")
        return Checked(held, tuple(stale), skipped)

    def open(self, version: str = "") -> Sandbox | None:
        """Open a sandbox with the library, in this version or the last; None if there is no library."""
        if not self.library:
            return None
        library = self.library
        if isinstance(library, tuple):
            library = next((each for each in library if each.version == version), library[-1])
        return Sandbox(Library.of(library) if isinstance(library, str) else library, unsafe=self.unsafe)

    def keep_facts(self, facts: Sequence[Fact], pool: ExperiencePool) -> list[Lesson]:
        """Store facts read from elsewhere, if there is a library with their current outcome; return the new lessons."""
        before = {lesson.id for lesson in pool.lessons("fact")}
        sandbox = self.open()
        if sandbox is not None:
            with closing(sandbox):
                facts = [now for fact in facts if fact.runs and (now := run_fact(sandbox, fact.same))]
        self._keep(map(Found, facts), pool)
        return [lesson for lesson in pool.lessons("fact") if lesson.id not in before]

    def _keep(self, facts: Iterable[Found], pool: ExperiencePool) -> None:
        """Store facts: each once, few for one function, and the newest outcome of a call."""
        stored = {fact_of(lesson).same: lesson for lesson in pool.lessons("fact", status=None)}
        counts = Counter(lesson.key for lesson in stored.values() if lesson.status == "active")
        fresh: dict[tuple[str, ...], Lesson] = {}
        for fact, sources in facts:
            old = stored.get(fact.same)
            if old is not None and (old.data.get("instead") or not pool.taken_away(old)):
                if old.status == "active":
                    if fact_of(old).outcome == fact.outcome:
                        continue
                    _put_aside(old, fact.outcome, fact.version, pool)
            elif old is not None or (fact.same not in fresh and counts[fact.function] >= self.keep and not fact.usage):
                continue
            counts[fact.function] += fact.same not in fresh
            fresh[fact.same] = lesson_of(fact, sources)
        pool.add(list(fresh.values()), why="a call and what it gave")


def read_facts(text: str) -> list[Fact]:
    """The facts in a text: from doctests, or from pytest's report of failures."""
    return [*read_doctests(text), *read_pytest(text)]


def choose(lessons: Sequence[Lesson], most: int, words: Set[str] = frozenset()) -> list[Lesson]:
    """The most informative facts of one function: different forms of outcomes first, then of calls.

    Facts whose call has one of the `words`, such as the name of a parameter or None, come before others. If some facts
    show how the function is used, only two of those are chosen. If no call returned anything, one error is chosen.
    """
    facts = [(lesson, fact_of(lesson)) for lesson in lessons]
    candidates = [pair for pair in facts if not pair[1].setup or len(pair[1].setup) > 1]
    returned = sorted(
        (pair for pair in candidates if not pair[1].error and not pair[1].usage and pair[1].value != "None"),
        key=lambda pair: (words.isdisjoint(_WORD.findall(pair[1].call)), _size(pair)),
    )
    raised = sorted((pair for pair in facts if pair[1].error), key=lambda pair: (-len(pair[1].error), _size(pair)))
    chosen: list[tuple[Lesson, Fact]] = []
    shapes: set[str] = set()
    forms = (lambda f: _shape(f.value), lambda f: _shape("; ".join(f.same)), lambda f: f.text)
    for form in forms:
        for pair in returned if len(chosen) < 2 or form is not forms[-1] else ():
            if len(chosen) < most and pair not in chosen and (shape := form(pair[1])) not in shapes:
                shapes.add(shape)
                chosen.append(pair)
    usages = [pair for pair in facts if pair[1].usage]
    if usages := ([pair for pair in usages if ".join(" in pair[1].call] or usages)[:2]:
        chosen = usages[:most]
    chosen = chosen or raised[:1]
    return [lesson for lesson, _ in chosen]


def _size(pair: tuple[Lesson, Fact]) -> tuple[bool, int, int]:
    """A sort key: facts about an object that returned something first, then the shortest."""
    return bool(pair[1].setup) and _shape(pair[1].value) == "0", len(pair[1].setup), len(pair[1].text)


def _shape(text: str) -> str:
    """The form of a text: each number except 0 becomes 1, words stay."""
    return re.sub(r"\d+", lambda number: "1" if number[0].strip("0") else "0", text)


def _by_function(lessons: Sequence[Lesson]) -> dict[str, list[Lesson]]:
    """Facts by the name that a program calls: `Box.put` is under `Box`, `pack.money` under `money`."""
    book: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if "before" in lesson.data:
            continue
        parts = lesson.key.split(".")
        name = next((part for part in parts if part[:1].isupper()), parts[-1])
        book.setdefault(name, []).append(lesson)
    return book


def _mends(lessons: Sequence[Lesson]) -> dict[str, list[Lesson]]:
    """The changes that worked, by the line's function."""
    book: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if "before" in lesson.data:
            book.setdefault(lesson.key, []).append(lesson)
    return book


def _is_older(lesson: Lesson, sandbox: Sandbox) -> bool:
    """Whether a fact of this library comes from another version of it."""
    data = lesson.data
    version = data.get("version")
    return bool(version) and version != sandbox.version and data.get("library") == sandbox.library.name


def _explored(pool: ExperiencePool, sandbox: Sandbox) -> bool:
    """Whether the pool has facts from exploring this version of the library."""
    explored = (lesson for lesson in pool.lessons("fact", status=None) if not lesson.sources)
    return any(
        lesson.data.get("version") == sandbox.version and _is_of(fact_of(lesson), sandbox) for lesson in explored
    )


def _is_of(fact: Fact, sandbox: Sandbox) -> bool:
    return fact.library in ("", sandbox.library.name) and (not fact.version or fact.version == sandbox.version)


def _agreed(sandbox: Sandbox, facts: Sequence[Found]) -> list[Found]:
    """The facts that give the same result when run again, each run once."""
    seen: dict[tuple[str, ...], bool] = {}
    for fact, _ in facts:
        if fact.same not in seen:
            now = run_fact(sandbox, fact.same) if fact.runs else None
            seen[fact.same] = now is not None and now.outcome == fact.outcome
    return [found for found in facts if seen[found.fact.same]]


def _used(sandbox: Sandbox, facts: Sequence[Found], texts: Sequence[str]) -> list[Found]:
    """Facts on how functions are used, from some successful calls of each."""
    successes: dict[str, list[Fact]] = {}
    for fact, _ in facts:
        of_function = successes.setdefault(fact.function, [])
        if not fact.error and len(of_function) < _USAGE_CALLS and fact not in of_function:
            of_function.append(fact)
    return [Found(usage) for each in successes.values() for usage in find_usages(sandbox, each, texts)]


def _put_aside(lesson: Lesson, instead: str, version: str, pool: ExperiencePool) -> None:
    """Disable a fact that no longer holds, and record the new result; a pinned one stays."""
    if not lesson.pinned:
        data = {**lesson.data, "instead": instead, "instead_version": version}
        pool.update(lesson.model_copy(update={"status": "disabled", "data": data}), why=f"{STALE}: {instead}"[:300])


def _add_mends(trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
    """Store changed lines that worked, each once."""
    texts = {lesson.text for lesson in pool.lessons("fact", status=None)}
    for source, (function, before, after) in ((t.id, mend) for t in trajectories for mend in mends_of(t)):
        text = f"- {before}\n+ {after}"
        if text not in texts:
            texts.add(text)
            data = {"before": before, "after": after}
            lesson = Lesson(kind="fact", key=function, text=text, method="facts", sources=(source,), data=data)
            pool.add(lesson, why="a change that worked")


def mends_of(trajectory: Trajectory) -> list[tuple[str, str, str]]:
    """The changes by which an attempt succeeded after a failed program: (function, line before, line after) each."""
    programs = [s.action for s in trajectory.steps if s.action.strip() and not s.action.startswith((">>>", "NOTE["))]
    if not trajectory.outcome.success or len(programs) < 2:
        return []
    old, new = programs[-2].splitlines(), programs[-1].splitlines()
    mends = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == 1 == d - c:
            before, after = old[a].strip(), new[c].strip()
            called = re.findall(r"\b([A-Za-z_]\w{0,60})\(", after)
            names = [name for name in called if name not in ("int", "str", "def")]
            if names and max(len(before), len(after)) <= _MEND_CHARS:
                mends.append((names[0], before, after))
    return mends
