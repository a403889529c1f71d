"""ExpNote (Sun et al., 2023): notes under keys, written during training and looked up by words before a case.

Notes come from the NOTE steps of trajectories, so any agent can write them, or from the observations, by a rule of
your own (`read`). Always holds: keys are folded when written and read; what a person wrote, pinned, disabled or deleted
stays so, and its key gets no other note; the same trajectories in the same order give the same notes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from seasoned.methods.attempts import NO_OUTCOME, UNUSABLE, last_word, parts, thoughts
from seasoned.replies.commands import parse, recall_words
from seasoned.store.filters import short_name
from seasoned.text import fold, prompt_line, split_words
from seasoned.types import Block, Guidance, Lesson, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool


def noted(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """The (key, text) pairs of an attempt's NOTE steps, in order."""
    for step in trajectory.steps:
        for command in parse(step.action) if step.action.startswith("NOTE") else ():
            if command.name == "NOTE":
                yield command.key, command.text


@dataclass(frozen=True)
class ExpNote:
    """Notes under keys (paper section 3).

    Args:
        k: the most notes recalled for a case (paper: 3; EMOJI 5).
        share: the part of a key's words that must occur in the case.
        policy: what to do with a second note under a key. `last` replaces the first, as in the paper; `merge` keeps and
            counts the distinct values.
        variant: `notes`; `case` (question, given answer and right answer instead of the note); `positive` or `negative`
            (only notes from cases answered right, or wrong); `disabled` (recall nothing). Paper section 4.2.
        show: with `merge`, the most values of a note to show: those that the agent thought of, then the most
            distinctive.
        on: what to recall notes for. `question`: the case, before the first turn, as in the paper; `thought`: the case
            and the agent's thought, so that notes whose values fit the thought come first.
        partition: whether `positive` and `negative` split the final memory of `notes` by the case that each note was
            last written at (paper table 2: 73 + 55 = 128), instead of being memories of their own.
        read: returns the notes of an attempt, as (key, text) pairs in order. `noted` reads its NOTE steps, as in the
            paper; a rule of your own can read its observations, without a model (ours).
        goal: returns the part of a task's text that keys must occur in; None for all of it.
        heading: the line above the notes in guidance.
    """

    name: ClassVar[str] = "expnote"
    k: int = 3
    share: float = 1.0
    policy: Literal["last", "merge"] = "merge"
    variant: Literal["notes", "case", "positive", "negative", "disabled"] = "notes"
    show: int = 4
    on: Literal["question", "thought"] = "question"
    partition: bool = False
    read: Callable[[Trajectory], Iterable[tuple[str, str]]] = noted
    goal: Callable[[str], str] | None = None
    heading: str = "Notes from earlier cases:"

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Put the notes of the trajectories into the pool, in order.

        A key is skipped if a person wrote or deleted a note under it, or if its note is pinned or disabled.
        """
        pool.skip((t for t in trajectories if t.outcome.success is None), NO_OUTCOME)
        pool.skip((t for t in trajectories if self._wanted(t) and not self._pairs(t)), UNUSABLE)
        judged = [t for t in trajectories if t.outcome.success is not None and (self.partition or self._wanted(t))]
        pairs = [(key, value, trajectory) for trajectory in judged for key, value in self._pairs(trajectory)]
        written = {key: self._wanted(trajectory) for key, _, trajectory in pairs}
        stored = [note for note in pool.lessons("note", status=None) if note.key in written]
        kept = (note for note in stored if (note.pinned or note.origin == "person") and note.status != "deleted")
        closed = {note.key for note in (*kept, *filter(pool.taken_away, stored))}
        before = {note.key: note for note in stored if note.status == "active"}
        notes: dict[str, Lesson] = {}
        for key, value, trajectory in pairs:
            if key not in closed:
                notes[key] = self._write(notes.get(key) or before.get(key), key, value, trajectory)
        with pool.store.transaction():  # if interrupted, it has learned from all of them or none
            fresh = [note for key, note in notes.items() if key not in before and written[key]]
            pool.add(fresh, why="noted while training")
            for key in (key for key in notes if key in before):
                if written[key]:
                    pool.update(notes[key], why="noted again while training")
                else:
                    pool.remove(before[key].id, why="noted again at a case of the other part")

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The notes whose keys occur in the task (paper section 3.1, equation 3).

        With `on="thought"`, nothing is recalled before the first thought in `progress`. After the agent's RECALL, keys
        are looked up in its words instead.
        """
        if self.variant == "disabled" or (self.on == "thought" and progress is None):
            return Guidance()
        index = pool.derived(KeyIndex, "note")
        query = recall_words(progress.steps[-1].action) if progress is not None and progress.steps else ""
        about = self.goal(task.text) if self.goal else task.text
        notes = index.match(query or about, self.share)
        thought = thoughts(progress) if self.on == "thought" and progress is not None else []
        if thought:
            notes.sort(key=lambda note: -index.relevance(note, thought))
        notes = notes[: self.k]
        if not notes:
            return Guidance()
        heading, lines = self.heading, [self._text(note, index.weights, thought) for note in notes]
        if self.variant == "case":
            heading = "Earlier cases like this one:"
        else:
            lines = [f"{prompt_line(note.key)}: {line}" for note, line in zip(notes, lines, strict=True)]
        return Guidance(lessons=tuple(notes), blocks=(Block.listing(heading, notes, lines),))

    def _pairs(self, trajectory: Trajectory) -> list[tuple[str, str]]:
        """The notes of an attempt as (folded key, value), except those without key or value."""
        pairs = [(short_name(" ".join(fold(key).split())), prompt_line(text)) for key, text in self.read(trajectory)]
        return [(key, value) for key, value in pairs if key and value]

    def _wanted(self, trajectory: Trajectory) -> bool:
        success = trajectory.outcome.success
        return {"positive": success is True, "negative": success is False}.get(self.variant, success is not None)

    def _write(self, old: Lesson | None, key: str, value: str, trajectory: Trajectory) -> Lesson:
        keeps = self.policy == "merge" and self.variant != "case"
        values = Counter(old.data.get("values", {}) if old and keeps else {})
        for part in parts(value):
            values[part] = values.pop(part, 0) + 1  # the latest comes last
        text = value
        if self.variant == "case":
            answered = f"You answered {prompt_line(trajectory.outcome.answer)}. {last_word(trajectory)}"
            text = f"{prompt_line(trajectory.task)} {answered}"
        elif keeps:
            text = ", ".join(f"{each} ({times})" if times > 1 else each for each, times in values.most_common())
        fresh = old or Lesson(kind="note", key=key, text="", method="expnote", importance=0.0)
        return fresh.model_copy(
            update={
                "text": text,
                "data": {**fresh.data, "values": dict(values)},
                "importance": fresh.importance + 1,
                "sources": tuple(dict.fromkeys((*fresh.sources, trajectory.id))),
                "updated": trajectory.created,
            }
        )

    def _text(self, note: Lesson, weights: Mapping[str, float], thought: Sequence[str]) -> str:
        values: dict[str, int] = note.data.get("values", {})
        if self.policy == "last" or self.variant == "case" or note.pinned or note.origin == "person" or not values:
            return prompt_line(note.text)
        best = sorted(values, key=lambda v: (v in thought, values[v] * weights.get(v, 0.0)), reverse=True)
        return prompt_line(", ".join(best[: self.show]))


class KeyIndex:
    """All notes, indexed by the words of their keys; a query looks only at notes that share a word with it.

    `weights` says how well each value distinguishes keys: log((1 + notes) / keys that have it), the inverse document
    frequency. `mentions` counts how often each value was noted. A note without key words never matches.
    """

    def __init__(self, notes: Sequence[Lesson]) -> None:
        self.notes = notes
        self._lengths: list[int] = []  # of each note's key, in words
        self._places: dict[str, list[int]] = defaultdict(list)  # in `notes`, by a word of the key
        self.mentions: Counter[str] = Counter()
        keys_of: dict[str, set[str]] = defaultdict(set)
        for place, note in enumerate(notes):
            words = set(split_words(note.key))
            self._lengths.append(len(words))
            for word in words:
                self._places[word].append(place)
            self.mentions.update(note.data.get("values", {}))
            for value in note.data.get("values", {}):
                keys_of[value].add(note.key)
        self.weights = {value: math.log((1 + len(notes)) / len(keys)) for value, keys in keys_of.items()}

    def match(self, query: str, share: float) -> list[Lesson]:
        """The notes of which this share of the key's words (above 0) occurs in the query (ExpNote, appendix B).

        They are sorted by descending share, ties by recency (`updated`).
        """
        present = set(split_words(query))
        hits = Counter(place for word in present for place in self._places.get(word, ()))
        shares = {place: hits[place] / self._lengths[place] for place in sorted(hits)}
        places = [place for place, part in shares.items() if part >= share]
        places.sort(key=lambda place: (shares[place], self.notes[place].updated), reverse=True)
        return [self.notes[place] for place in places]

    def relevance(self, note: Lesson, values: Sequence[str]) -> float:
        """How well a note's values match given ones: for each of these, the part of its mentions in the note."""
        noted: dict[str, int] = note.data.get("values", {})
        return sum(noted.get(value, 0) / self.mentions[value] for value in values if self.mentions[value])
