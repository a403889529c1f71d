"""CLUTRR: the published form, the generated one, and the last kinship word."""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.benchmarks.clutrr import kinship, score
from seasoned.lab.benchmarks.kinship import MEN, WOMEN, chains

HEADER = ["", "id", "story", "query", "target", "task_name"]
ROWS = [
    ["0", "u1", "[Ann] and her husband [Bob] met [Bob]'s son [Cid]", "('Ann', 'Cid')", "son", "task_1.2"],
    ["1", "u2", "[Dora] has an aunt, [Eva]. [Eva] married [Fred].", "('Dora', 'Fred')", "uncle", "task_1.2"],
    ["2", "u3", "[Gus] is [Hal]'s brother, [Ida] [Hal]'s niece.", "('Gus', 'Ida')", "neice", "task_1.2"],
]


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEASONED_DATA", raising=False)


def load(**options: object) -> Benchmark:
    return load_benchmark("clutrr", options)


def table(folder: Path, header: list[str], rows: list[list[str]]) -> str:
    path = folder / "own.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def test_the_query_asks_what_the_second_is_to_the_first(tmp_path: Path) -> None:
    benchmark = load(data=table(tmp_path, HEADER, ROWS))
    by_id = {t.id: t for t in (*benchmark.train, *benchmark.test)}
    assert by_id["clutrr-u1"].text == "[Ann] and her husband [Bob] met [Bob]'s son [Cid]. Who is Cid to Ann?"
    assert by_id["clutrr-u1"].data == {"answer": "son"}
    assert by_id["clutrr-u3"].data == {"answer": "niece"}
    assert by_id["clutrr-u2"].category == "task_1.2"


def test_numbered_targets_have_their_word_in_another_column(tmp_path: Path) -> None:
    rows = [["[A] has a wife [B].", "('A', 'B')", "1", "wife"], ["[A] has a son [B].", "('A', 'B')", "15", "son"]]
    benchmark = load(data=table(tmp_path, ["story", "query", "target", "target_text"], rows))
    assert {t.data["answer"] for t in (*benchmark.train, *benchmark.test)} == {"wife", "son"}


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        (2, " ", "line 2: the story is empty"),
        (3, "('Ann', 'Bob', 'Cid')", "line 2: the query should be a pair of names, but is"),
        (3, "exit()", "line 2: the query should be a pair of names"),
        (3, "('Ann', 5)", "line 2: the query should be a pair of names"),
        (4, "friend", "line 2: the target should be a kinship word, but is 'friend'"),
        (4, "7", "line 2: the target should be a kinship word"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, column: int, value: str, says: str) -> None:
    row = [*ROWS[0][:column], value, *ROWS[0][column + 1 :]]
    with pytest.raises(DataError, match=says):
        load(data=table(tmp_path, HEADER, [row, *ROWS]))


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="query, target missing, found id, story"):
        load(data=table(tmp_path, ["id", "story"], [["1", "x"]]))


def test_the_generator_makes_stories_of_the_hops_asked_for() -> None:
    two = load(hops=[2], cases=60)
    assert {t.category for t in (*two.train, *two.test)} == {"2 hops"}
    assert two.source == "generated stories of 2 hops"
    assert two.train[0].text.count("[") == 4
    assert re.search(r"\. Who is \w+ to \w+\?$", two.train[0].text)
    for wrong in ([], [4], [1, 2]):
        with pytest.raises(ConfigError, match="hops should be a list of 2 and 3"):
            load(hops=wrong)
    with pytest.raises(ConfigError, match="cases should be"):
        load(cases=0)


def test_worked_cases_give_nothing_away() -> None:
    benchmark = load()
    golds = {t.data["answer"] for t in (*benchmark.train, *benchmark.test)}
    for example in benchmark.examples:
        assert not set(re.findall(r"\w+", example.question)) & {*MEN, *WOMEN}
        for key, _ in (*example.notes, *example.recalled):
            assert tuple(key.split(", ")) not in chains(2)
        # The rule of the case uses a word that no generated story states, or an answer that none has.
        assert example.answer not in golds or "niece" in example.notes[0][0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("son", "son"),
        ("Cid is Ann's SON.", "son"),
        ("Her father's son, so her brother", "brother"),
        ("the son-in-law", "son-in-law"),
        ("son in law", "son-in-law"),
        ("Sister-In-Law", "sister-in-law"),
        ("brother\u2011in\u2011law", "brother-in-law"),
        ("step\u2010son", "stepson"),
        ("grand-daughter", "granddaughter"),
        ("great-grandfather", "great-grandfather"),
        ("step-son", "stepson"),
        ("stepson", "stepson"),
        ("half brother", "half-brother"),
        ("grandma", "grandmother"),
        ("mom", "mother"),
        ("neice", "niece"),
        ("a person", "a person"),
        ("sons", "sons"),
        ("", ""),
    ],
)
def test_the_last_kinship_word_is_the_answer(text: str, answer: str) -> None:
    assert score(text, {"answer": answer}) == (answer, answer not in ("a person", "sons", ""))
    assert score(text, {"answer": "uncle"}).success is False
    assert score(text, {}).success is None


@given(st.text())
def test_scoring_never_raises(text: str) -> None:
    assert score(text, {"answer": "son"}).success in (True, False)
    kinship(text)
