"""METS: the one medical entity of a post, and its type (Zhou et al. 2022; ExpNote, figure 6).

Reads the CSV of METS-CoV (columns tweet_id, labels, and the text as preprocessed_text, tweet_content or full_text). It
may not be redistributed, so there is no default, and the authors' own files have the labels without the texts. A case
is a post with exactly one entity of the four types; ExpNote's release also split posts with several entities and
dropped frequent ones, which is not done here. Always holds: the entity occurs in the post, word for word.

Options: `data` (the CSV, or a folder of its parts; else $SEASONED_DATA/mets), `train_share`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.benchmarks.answer import Scored, answer_benchmark
from seasoned.lab.benchmarks.base import DATA_VARIABLE, Benchmark, check_options, find_data, fresh_id, named
from seasoned.lab.benchmarks.rows import Row, read_csv, read_literal
from seasoned.types import Task

TYPES = ("vaccine", "disease", "drug", "symptom")
OPTIONS = {"data": "", "train_share": 0.5}

_TEXTS = ("preprocessed_text", "tweet_content", "full_text")
_VALUE_NAMES = ("value", "text", "entity", "name", "span")
_TYPE_NAMES = ("type", "label", "entity_type", "category")
_GROUP = re.compile(r"\(([^()]*)\)")
_TOKEN = re.compile(r"\w+")


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load METS; see `load_benchmark`."""
    settings = check_options("mets", options, OPTIONS)
    paths = find_data("mets", settings["data"], (".csv",))
    if not paths:
        raise DataError(
            "the benchmark mets needs the CSV file of METS-CoV (columns tweet_id, labels, preprocessed_text), which "
            "may not be passed on: get it from its authors, then set benchmark.data to its path or put it into "
            f"${DATA_VARIABLE}/mets"
        )
    tasks: list[Task] = []
    unread = 0
    for path in paths:
        rows = read_csv(path, ("labels",))
        columns = rows[0].values
        if not set(_TEXTS) & set(columns):
            wanted = f"a column {' or '.join(_TEXTS)}, the text of each post"
            hint = (
                "; the authors' files hold ids and labels only: fetch the posts by their tweet_id, and add that column"
            )
            ids = hint if "tweet_id" in columns else ""
            raise DataError(f"{path} should have {wanted}; found {', '.join(columns)}{ids}")
        for row in rows:
            try:
                tasks += _cases(row)
            except DataError:
                unread += 1
    if not tasks:
        why = f"; the labels of {unread} lines could not be read" if unread else ""
        raise DataError(f"{named(paths)}: no post has exactly one entity of type {', '.join(TYPES)}{why}")
    source = named(paths) + (f"; {unread} lines whose labels cannot be read left out" if unread else "")
    return answer_benchmark("mets", tasks, score, seed=seed, share=settings["train_share"], source=source)


def score(text: str, data: Mapping[str, Any]) -> Scored:
    """Score an answer: entity and type must equal the right ones, except for case, brackets, quotes and spaces."""
    entity, kind = _pair(text)
    answer = f"({entity}, {kind})" if kind else text.strip()
    gold = data.get("answer")
    if gold is None:
        return Scored(answer, None)
    gold_entity, gold_kind = _pair(str(gold))
    return Scored(answer, _plain(entity) == _plain(gold_entity) and _type(kind) == _type(gold_kind))


def _pair(text: str) -> tuple[str, str]:
    """The last (entity, type) of an answer; brackets may be missing."""
    groups = [g for g in _GROUP.findall(text) if "," in g]
    entity, _, kind = (groups[-1] if groups else text).rpartition(",")
    signs = " \t\n\"'`*“”‘’()[]."
    return entity.strip(signs), kind.strip(signs)


def _plain(entity: str) -> tuple[str, ...]:
    tokens = tuple(_TOKEN.findall(entity.casefold()))
    return tokens or (entity.strip().casefold(),)


def _contains(words: tuple[str, ...], text: tuple[str, ...]) -> bool:
    """Whether the words occur in a row; punctuation is ignored, since labels come from texts with separated signs."""
    return any(text[i : i + len(words)] == words for i in range(len(text) - len(words) + 1))


def _type(kind: str) -> str:
    plain = kind.strip().casefold()
    return "vaccine" if plain in ("vaccine-related", "vaccine related", "vaccination") else plain


def _cases(row: Row) -> list[Task]:
    """The case of a row; [] if it has no or several entities of the four types."""
    values = row.values
    text = " ".join(next((text for name in _TEXTS if (text := values.get(name))), "").split())
    labels = _entities(values["labels"])
    if not text or len({(_plain(entity), kind) for entity, kind in labels}) != 1:
        return []
    entity, kind = labels[0]
    if not _contains(_plain(entity), _plain(text)):
        return []
    return [Task(id=fresh_id("mets", values.get("tweet_id"), text), text=text, data={"answer": f"({entity}, {kind})"})]


def _entities(labels: str) -> list[tuple[str, str]]:
    """The (entity, type) pairs of the four types in a `labels` field of any form; DataError if it is not a literal."""
    if not labels.strip():
        return []
    value = read_literal(labels)
    single = isinstance(value, dict) or (isinstance(value, tuple) and any(isinstance(v, str) for v in value))
    spans = [value] if single else value if isinstance(value, (list, tuple, set)) else []
    pairs = [pair for span in spans if (pair := _entity(span))]
    return [(" ".join(e.split()), _type(kind)) for e, kind in pairs if e.strip() and _type(kind) in TYPES]


def _entity(span: Any) -> tuple[str, str] | None:
    if isinstance(span, Mapping):
        entity = next((span[n] for n in _VALUE_NAMES if isinstance(span.get(n), str)), "")
        kind = next((span[n] for n in _TYPE_NAMES if isinstance(span.get(n), str)), "")
        return entity, kind
    if isinstance(span, (list, tuple)):
        texts = [v for v in span if isinstance(v, str)]
        kind = next((t for t in texts if _type(t) in TYPES), "")
        return next((t for t in texts if t != kind), ""), kind
    return None
