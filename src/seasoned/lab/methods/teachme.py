"""TeachMe as ExpNote's baseline (Dalvi et al., 2022): facts of a knowledge base, looked up for the question.

The facts come from a CSV in ConceptNet's form: tab-separated URI, relation, start, end, JSON. Always holds: a line of
another form is skipped; nothing is learned.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from seasoned.errors import DataError
from seasoned.files import refuse_pickle
from seasoned.text import fold, prompt_line, render_prompt, split_words
from seasoned.types import Guidance, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

_WORDS = tomllib.loads(Path(__file__).with_name("teachme.toml").read_text(encoding="utf-8"))
_STOP_WORDS = frozenset(split_words(_WORDS["stop"]))


@dataclass(frozen=True)
class TeachMe:
    """Up to k facts of `facts` (a CSV path) about the words of a task, the most important fact of each word first."""

    name: ClassVar[str] = "teachme"
    facts: str
    k: int = 5
    language: str = "en"

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Do nothing: the knowledge base is given."""

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """Facts about the words of the task, except words such as "the": first one for each word, then a second one.

        DataError as in `read_facts`.
        """
        index = read_facts(self.facts, self.language)
        ranked: list[tuple[int, float, str]] = []
        for word in index.keys() & set(split_words(task.text)) - _STOP_WORDS:
            facts = sorted(set(index[word]), key=lambda fact: (-fact[0], fact[1]))[: self.k]
            ranked += [(turn, -weight, text) for turn, (weight, text) in enumerate(facts)]
        recalled = [prompt_line(text) for _, _, text in sorted(ranked)[: self.k]]
        if not recalled:
            return Guidance()
        return Guidance(text=render_prompt("seasoned.lab.methods", "teachme.j2", facts=recalled))


@cache
def read_facts(path: str, language: str) -> dict[str, list[tuple[float, str]]]:
    """Facts by subject word: {word: [(weight, sentence)]}. Lines of another form or language are skipped.

    DataError if the file cannot be read, is a pickle, or has no fact in the language.
    """
    facts: dict[str, list[tuple[float, str]]] = defaultdict(list)
    try:
        with Path(path).open("rb") as raw:  # only the head, since a knowledge base may not fit into memory
            refuse_pickle(Path(path), raw.read(1024))
        with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                if fact := _fact(row, language):
                    facts[fact[0]].append(fact[1:])
    except (OSError, csv.Error) as error:
        raise DataError(f"expected a ConceptNet CSV at {path}, but it cannot be read: {error}") from error
    if not facts:
        raise DataError(
            f"{path} holds no fact in language {language!r}: expected tab-separated lines of "
            "URI, relation, start, end and JSON, as ConceptNet's assertions file has them"
        )
    return dict(facts)


def _fact(row: list[str], language: str) -> tuple[str, float, str] | None:
    if len(row) < 4:
        return None
    relation = row[1].rsplit("/", 1)[-1]
    start, end = _term(row[2], language), _term(row[3], language)
    if not start or not end or not relation:
        return None
    says = _WORDS["relations"].get(relation) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", relation).replace("_", " ").lower()
    try:
        weight = float(json.loads(row[4])["weight"]) if len(row) > 4 else 1.0
    except (ValueError, KeyError, TypeError):
        weight = 1.0
    return fold(start), weight, f"{start} {says} {end}"


def _term(uri: str, language: str) -> str:
    pieces = uri.split("/")
    return pieces[3].replace("_", " ") if len(pieces) > 3 and pieces[1:3] == ["c", language] else ""
