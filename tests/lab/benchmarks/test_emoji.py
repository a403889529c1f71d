"""EMOJI: the cases, the two sets of symbols, what they give away, and the scoring."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.benchmarks.emoji import CODE_LETTERS, EMOJI, EMOTIONS, EXAMPLE_SYMBOLS, score
from seasoned.replies.heuristics import heuristic_schema


def load(seed: int = 0, **options: object) -> Benchmark:
    return load_benchmark("emoji", {"symbols": "codes", **options}, seed)


def meanings(benchmark: Benchmark) -> dict[str, str]:
    return {t.data["answer"]: t.data["emotion"] for t in (*benchmark.train, *benchmark.test)}


def texts_file(folder: Path, rows: list[dict[str, object]]) -> str:
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("options", [{}, {"symbols": "emoji"}, {"symbols_per_emotion": 3}])
def test_a_case_offers_symbols_of_four_feelings(options: dict[str, object]) -> None:
    benchmark = load(**options)
    means = meanings(benchmark)
    places: Counter[int] = Counter()
    for task in (*benchmark.train, *benchmark.test):
        choices = task.data["choices"]
        assert task.text.rsplit("\n", 1)[1] == "  ".join(choices)
        assert len({means[c] for c in choices}) == 4
        assert means[task.data["answer"]] == task.data["emotion"]
        places[choices.index(task.data["answer"])] += 1
    # Where the right one stands says nothing: each place has about a quarter.
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 0.15 * sum(places.values())


def test_codes_are_assigned_by_the_seed_alone_and_differ_between_seeds() -> None:
    assigned = [meanings(load(seed)) for seed in (0, 0, 1, 2)]
    assert assigned[0] == assigned[1]
    assert len({json.dumps(a, sort_keys=True) for a in assigned}) == 3
    for means in assigned:
        assert Counter(means.values()) == dict.fromkeys(EMOTIONS, 1)
        assert all(re.fullmatch(f"[{CODE_LETTERS}][34679]", code) for code in means)
        assert len({code[0] for code in means}) == 7


def test_several_codes_may_stand_for_one_feeling() -> None:
    assert Counter(meanings(load(symbols_per_emotion=3)).values()) == dict.fromkeys(EMOTIONS, 3)


def test_emoji_are_written_as_escapes_of_two_or_three_a_feeling() -> None:
    symbols = [s for of_one in EMOJI.values() for s in of_one]
    assert set(EMOJI) == set(EMOTIONS)
    assert all(len(of_one) in (2, 3) for of_one in EMOJI.values())
    assert len(set(symbols)) == len(symbols)
    assert all(re.fullmatch(r"\\U0001f[0-9a-f]{3}", s) for s in symbols)
    assert set(meanings(load(symbols="emoji"))) == set(symbols)


@pytest.mark.parametrize("kind", ["codes", "emoji"])
def test_worked_cases_give_nothing_away(kind: str) -> None:
    benchmark = load(symbols=kind)
    shown = set(EXAMPLE_SYMBOLS if kind == "codes" else EXAMPLE_SYMBOLS.values())
    never = {*EXAMPLE_SYMBOLS, *EXAMPLE_SYMBOLS.values()} - shown
    assert not {code[0] for code in EXAMPLE_SYMBOLS} & set(CODE_LETTERS)
    assert not set(EXAMPLE_SYMBOLS.values()) & {s for of_one in EMOJI.values() for s in of_one}
    for example in benchmark.examples:
        candidates = example.choices
        assert len(set(candidates)) == 4
        assert set(candidates) <= shown
        assert {example.answer, *filter(None, [example.wrong])} <= set(candidates)
        assert {key for key, _ in (*example.notes, *example.recalled)} <= shown
        words = set(re.findall(r"\w+", example.model_dump_json()))
        assert not words & {*EMOTIONS, *never}
        # The note that is recalled is the right symbol's and shares words with the thought: that is what it shows.
        for key, text in example.recalled:
            assert key == example.answer
            assert set(re.findall(r"\w+", text)) & set(re.findall(r"\w+", example.thought))


def test_own_texts_name_no_feeling_and_are_balanced() -> None:
    benchmark = load()
    everything = (*benchmark.train, *benchmark.test)
    assert len(everything) >= 420
    assert min(Counter(t.data["emotion"] for t in everything).values()) >= 60
    assert benchmark.source == "own texts; symbols: codes"


def test_a_file_of_the_users(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"text": f"Something happened, {i}.", "emotion": e} for i, e in enumerate(EMOTIONS)
    ]
    rows += [{"text": "\u0641\u0642\u062f\u062a \u0642\u0637\u062a\u064a \U0001f63f", "emotion": " Sadness ", "id": 7}]
    rows += [{"text": "Something  HAPPENED, 0.", "emotion": "anger", "id": "twice"}]
    path = texts_file(tmp_path, rows)
    benchmark = load(data=path)
    everything = {t.id: t for t in (*benchmark.train, *benchmark.test)}
    assert len(everything) == 8
    assert everything["emoji-7"].data["emotion"] == "sadness"
    assert benchmark.source == f"{path}; symbols: codes"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"text": "a", "emotion": "envy"}, "line 1: emotion should be one of joy, fear, .*'envy'"),
        ({"text": " ", "emotion": "joy"}, "line 1: text should be a text that is not empty"),
        ({"text": 5, "emotion": "joy"}, "line 1: text should be a text"),
        ({"text": "a"}, "line 1: emotion missing, found text"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, row: dict[str, object], says: str) -> None:
    with pytest.raises(DataError, match=says):
        load(data=texts_file(tmp_path, [row]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"symbols": "runes"}, "symbols should be emoji or codes, but is 'runes'"),
        ({"symbols": "emoji", "symbols_per_emotion": 2}, "is for symbols = codes"),
        ({"symbols_per_emotion": 0}, "from 1 to 10, but is 0"),
        ({"symbols_per_emotion": 11}, "from 1 to 10, but is 11"),
    ],
)
def test_wrong_options(options: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(**options)


CODES = {"answer": "k7", "choices": ["k7", "d3", "p9", "w4"]}
FACES = {"answer": r"\U0001f631", "choices": [r"\U0001f631", r"\U0001f973", r"\U0001f621", r"\U0001f64f"]}


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        ("k7", "k7", True),
        ("K7.", "k7", True),
        ("So the answer is **k7**", "k7", True),
        ("not d3 but k7", "k7", True),
        ("k7, not d3", "d3", False),
        ("k77", "k77", False),
        ("fear", "fear", False),
        ("", "", False),
    ],
)
def test_scoring_codes(text: str, answer: str, right: bool) -> None:
    assert score(text, CODES) == (answer, right)


@pytest.mark.parametrize(
    "text",
    [r"\U0001f631", "\U0001f631", "U+1F631", "u0001F631", "It is \U0001f631\ufe0f!", "\U0001f973? No, \U0001f631"],
)
def test_scoring_emoji_in_any_spelling(text: str) -> None:
    assert score(text, FACES) == (r"\U0001f631", True)
    assert score(f"{text} or \U0001f64f", FACES) == (r"\U0001f64f", False)


@given(st.text())
def test_scoring_never_raises(text: str) -> None:
    for data in (CODES, FACES, {}):
        assert score(text, data).success in (True, False, None)


@pytest.mark.parametrize("symbols", ["codes", "emoji"])
def test_an_action_that_names_a_symbol_fits_what_actions_are_held_to(symbols: str) -> None:
    benchmark = load_benchmark("emoji", {"symbols": symbols}, seed=0)
    schema = heuristic_schema(begins=benchmark.rule_begins)["properties"]["action"]
    for choice in benchmark.train[0].data["choices"]:
        assert re.search(schema.get("pattern", ""), f"answer {choice}")
