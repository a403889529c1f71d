"""EMOJI: which of four symbols fits the feeling of a short text (ExpNote, section 4.1 and figure 7).

There are two sets of symbols: `emoji`, written as escapes such as \\U0001f631 as in the paper, and `codes`, two
characters assigned to the feelings at random, so that only experience can tell their meaning. Always holds: the four
candidates of a case stand for four different feelings, one of them is right, and no symbol of the prompts' worked cases
is used.

Options: `data` (JSON lines of text, emotion and perhaps id, or a folder of such files; else $SEASONED_DATA/emoji; else
Seasoned's own texts), `symbols` ("emoji" or "codes"), `symbols_per_emotion` (codes only), `train_share`. The seed
decides the pools, the candidates, and which code stands for what.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.answer import Scored, answer_benchmark
from seasoned.lab.benchmarks.base import (
    DATA,
    Benchmark,
    Retrieval,
    check_choice,
    check_options,
    check_range,
    distinct,
    find_data,
    fresh_id,
    named,
    read_toml,
)
from seasoned.lab.benchmarks.rows import read_jsonl
from seasoned.types import Example, Task

CANDIDATES = 4
OPTIONS = {"data": "", "symbols": "emoji", "symbols_per_emotion": 1, "train_share": 0.5}
OWN_TEXTS = DATA / "emoji.jsonl"

_SYMBOLS = read_toml(DATA / "emoji_symbols.toml")
EMOJI = {emotion: tuple(escapes) for emotion, escapes in _SYMBOLS["emoji"].items()}
EXAMPLE_SYMBOLS: dict[str, str] = _SYMBOLS["examples"]
EMOTIONS = tuple(EMOJI)
# No vowels, so that no code is a word; no signs that are easily confused (l and 1, o and 0, s and 5, ...).
CODE_LETTERS = "cdfhjkmnprtvwx"
CODE_DIGITS = "34679"
FIRST_EMOJI = 0x1F300
_CODE = re.compile(r"[A-Za-z0-9]+")
_ESCAPE = re.compile(r"\\?[Uu]\+?0{0,4}([0-9A-Fa-f]{4,5})(?![0-9A-Fa-f])")


def load(options: Mapping[str, Any], *, seed: int) -> Benchmark:
    """Load EMOJI; see `load_benchmark`."""
    settings = check_options("emoji", options, OPTIONS)
    symbols = _symbols(settings, seed)
    paths = find_data("emoji", settings["data"], (".jsonl",))
    rows = distinct((row for path in paths or (OWN_TEXTS,) for row in _rows(path)), lambda row: row[1])
    tasks = [_task(*row, symbols=symbols, seed=seed) for row in rows]
    share, retrieval = settings["train_share"], Retrieval(k=1, on="thought")
    source = f"{named(paths) or 'own texts'}; symbols: {settings['symbols']}"
    benchmark = answer_benchmark("emoji", tasks, score, seed=seed, share=share, source=source, retrieval=retrieval)
    if settings["symbols"] == "codes":
        return benchmark
    assert benchmark.heuristic is not None
    examples = tuple(Example.model_validate(_as_emoji(example.model_dump())) for example in benchmark.examples)
    # Emoji are escapes here, and `rule_begins` allows no backslash.
    return replace(benchmark, examples=examples, heuristic=_as_emoji(benchmark.heuristic), rule_begins="")


def score(text: str, data: Mapping[str, Any]) -> Scored:
    """Score an answer: the last candidate that it names must be the right one.

    An emoji may be written as itself, as \\U0001f631 or as U+1F631; a code in upper or lower case.
    """
    choices, gold = data.get("choices", []), data.get("answer")
    plain = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if int(m[1], 16) >= FIRST_EMOJI else m[0], text)
    last = {m.group().casefold(): m.start() for m in _CODE.finditer(plain)}
    best, answer = -1, ""
    for choice in choices:
        sign = _ESCAPE.fullmatch(choice)
        place = plain.rfind(chr(int(sign[1], 16))) if sign else last.get(choice.casefold(), -1)
        if place > best:
            best, answer = place, choice
    return Scored(answer or text.strip(), None if gold is None else answer == gold)


def _symbols(settings: Mapping[str, Any], seed: int) -> dict[str, tuple[str, ...]]:
    check_choice(settings, "symbols", ("emoji", "codes"))
    per_emotion = settings["symbols_per_emotion"]
    if settings["symbols"] == "emoji":
        if per_emotion != 1:
            raise ConfigError("benchmark.symbols_per_emotion is for symbols = codes; each emoji set has its own size")
        return EMOJI
    check_range(settings, "symbols_per_emotion", 1, len(CODE_LETTERS) * len(CODE_DIGITS) // len(EMOTIONS))
    rng = random.Random(f"emoji-codes-{seed}")
    letters = rng.sample(CODE_LETTERS, len(CODE_LETTERS))
    digits = {letter: rng.sample(CODE_DIGITS, len(CODE_DIGITS)) for letter in letters}
    # A letter is reused only after all others, since a small model easily confuses codes that share one.
    codes = [letter + digits[letter][i] for i in range(len(CODE_DIGITS)) for letter in letters]
    drawn = codes[: per_emotion * len(EMOTIONS)]
    rng.shuffle(drawn)
    return {e: tuple(drawn[i * per_emotion : (i + 1) * per_emotion]) for i, e in enumerate(EMOTIONS)}


def _rows(path: Path) -> list[tuple[object, str, str]]:
    rows: list[tuple[object, str, str]] = []
    for line, values in read_jsonl(path, ("text", "emotion")):
        text, emotion = values["text"], values["emotion"]
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{path}, line {line}: text should be a text that is not empty, but is {text!r}")
        name = str(emotion).strip().casefold()
        if name not in EMOTIONS:
            raise DataError(f"{path}, line {line}: emotion should be one of {', '.join(EMOTIONS)}, but is {emotion!r}")
        rows.append((values.get("id"), " ".join(text.split()), name))
    return rows


def _task(given: object, text: str, emotion: str, *, symbols: Mapping[str, tuple[str, ...]], seed: int) -> Task:
    rng = random.Random(f"emoji-{seed}-{text}")
    feelings = [emotion, *rng.sample([e for e in EMOTIONS if e != emotion], CANDIDATES - 1)]
    choices = [rng.choice(symbols[e]) for e in feelings]
    gold = choices[0]
    rng.shuffle(choices)
    return Task(
        id=fresh_id("emoji", given, text),
        text=f"{text}\n{'  '.join(choices)}",
        data={"answer": gold, "choices": choices, "question": text, "emotion": emotion},
    )


def _as_emoji(words: Any) -> Any:
    """Texts of the prompts with emoji instead of the codes of the worked cases, also within a dictionary or tuple."""
    if isinstance(words, str):
        return _CODE.sub(lambda m: EXAMPLE_SYMBOLS.get(m.group(), m.group()), words)
    if isinstance(words, dict):
        return {name: _as_emoji(value) for name, value in words.items()}
    return tuple(map(_as_emoji, words))
