"""LETS: join three letters that are named by word and place (ExpNote, appendix A).

Without data, cases are generated from 100 words of 4 to 10 letters, with 3 different words and a place in each. Always
holds: the answer consists of the named letters, ordinals are right (1st, 2nd, 3rd, 11th), and no word of the prompts'
worked cases is in the vocabulary.

Options: `data` (a file of question, tab, answer per line as published, a CSV with the columns question and answer, or
a folder of such; else $SEASONED_DATA/lets; else generated), `words` (a file with one word per line to generate from),
`cases` (how many are generated, both pools together), `train_share`. The seed decides the cases and the pools.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.answer import Scored, answer_benchmark
from seasoned.lab.benchmarks.base import DATA, Benchmark, Retrieval, check_options, check_range, find_data, fresh_id
from seasoned.lab.benchmarks.rows import is_dataset, read_csv, read_lines
from seasoned.types import Task

OPTIONS = {"data": "", "words": "", "cases": 2000, "train_share": 0.5}
OWN_WORDS = DATA / "lets_words.txt"
MOST_CASES = 100_000
WORDS_PER_CASE = 3
WORD_LETTERS = range(4, 11)

_QUOTED = re.compile(r"[\"“”„«»`]([^\"“”„«»`\n]{1,40})[\"“”„«»`]")
_LETTERS = re.compile(r"[^\W\d_]+")


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load LETS; see `load_benchmark`."""
    settings = check_options("lets", options, OPTIONS)
    paths = () if settings["words"] else find_data("lets", settings["data"], (".txt", ".tsv", ".csv"))
    if settings["words"] and settings["data"]:
        raise ConfigError("benchmark.data has complete questions, benchmark.words a vocabulary: set one of the two")
    source: str | Sequence[Path] = paths
    if paths:
        tasks = [task for path in paths for task in _published(path)]
    else:
        words = Path(settings["words"] or OWN_WORDS).expanduser()
        check_range(settings, "cases", 2, MOST_CASES)
        tasks = _generate(_vocabulary(words), settings["cases"], seed)
        source = f"generated from {settings['words'] or 'own words'}"
    share, retrieval = settings["train_share"], Retrieval(k=3, share=0.01)
    return answer_benchmark("lets", tasks, score, seed=seed, share=share, source=source, retrieval=retrieval)


def score(text: str, data: Mapping[str, Any]) -> Scored:
    """Score an answer: its letters must equal the right ones, except for case. Words around them are ignored."""
    answer, gold = _letters_of(text), data.get("answer")
    return Scored(answer, None if gold is None else bool(answer) and answer.casefold() == str(gold).casefold())


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st, ..."""
    if n % 100 in (11, 12, 13):
        return f"{n}th"
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th') }"


def question(words: Sequence[str], places: Sequence[int]) -> str:
    """The question for these words and places (from 1) of the letters."""
    parts = [f'the {ordinal(place)} letter of "{word}"' for word, place in zip(words, places, strict=True)]
    return f"Take {', '.join(parts[:-1])} and {parts[-1]}, and join them."


def _letters_of(text: str) -> str:
    """The letters of an answer: the last quoted ones, else single letters at the end, else the last word."""
    quoted = ["".join(_LETTERS.findall(q)) for q in _QUOTED.findall(text)]
    if quoted and len(quoted[-1]) > 1:
        return quoted[-1]
    tokens = _LETTERS.findall(text)
    singles = list(takewhile(lambda token: len(token) == 1, reversed(tokens)))
    if len(singles) > 1:
        return "".join(reversed(singles))
    return tokens[-1] if tokens else ""


def _vocabulary(path: Path) -> list[str]:
    words: list[str] = []
    for line, raw in read_lines(path):
        word = raw.strip()
        if not word.isalpha() or len(word) not in WORD_LETTERS:
            expected = f"one word of {WORD_LETTERS[0]} to {WORD_LETTERS[-1]} letters"
            raise DataError(f"{path}, line {line}: {expected} was expected, but {word[:40]!r} is there")
        words.append(word)
    words = list(dict.fromkeys(words))
    if len(words) < WORDS_PER_CASE:
        raise DataError(f"{path} should hold at least {WORDS_PER_CASE} different words, but holds {len(words)}")
    return words


def _generate(words: Sequence[str], cases: int, seed: int) -> list[Task]:
    rng = random.Random(f"lets-cases-{seed}")
    tasks: dict[str, Task] = {}
    # The draws are limited, so that a small vocabulary gives fewer cases instead of an endless loop.
    for _ in range(2 * cases):
        chosen = rng.sample(words, WORDS_PER_CASE)
        places = [rng.randint(1, len(word)) for word in chosen]
        text = question(chosen, places)
        letters = "".join(word[place - 1] for word, place in zip(chosen, places, strict=True))
        tasks.setdefault(text, Task(id=fresh_id("lets", None, text), text=text, data={"answer": letters}))
        if len(tasks) == cases:
            break
    return list(tasks.values())


def _published(path: Path) -> list[Task]:
    if path.suffix.lower() == ".csv" or is_dataset(path):
        rows = [(line, v["question"], "\t", v["answer"]) for line, v in read_csv(path, ("question", "answer"))]
    else:
        rows = [(line, *raw.partition("\t")) for line, raw in read_lines(path)]
    tasks: list[Task] = []
    for line, question_text, tab, answer in rows:
        if not tab:
            raise DataError(f"{path}, line {line}: expected a question, a tab and the answer, but found no tab")
        if not question_text.strip() or not answer.strip():
            raise DataError(f"{path}, line {line}: the question or the answer is empty")
        text = " ".join(question_text.split())
        tasks.append(Task(id=fresh_id("lets", None, text), text=text, data={"answer": answer.strip()}))
    return tasks
