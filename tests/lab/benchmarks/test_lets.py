"""LETS: questions, their answers, and how an answer is read."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.benchmarks.lets import OWN_WORDS, ordinal, question, score

PART = re.compile(r'(\d+)(st|nd|rd|th) letter of "(\w+)"')


def load(seed: int = 0, **options: object) -> Benchmark:
    return load_benchmark("lets", options, seed)


def spelled(text: str) -> str:
    return "".join(word[int(place) - 1] for place, _, word in PART.findall(text))


def test_the_vocabulary_is_a_hundred_words_of_four_to_ten_letters() -> None:
    words = OWN_WORDS.read_text(encoding="utf-8").split()
    assert len(words) == len(set(words)) == 100
    assert {len(w) for w in words} == set(range(4, 11))
    assert all(w.isalpha() and w.isascii() and w.islower() for w in words)


def test_cases_ask_for_three_words_and_the_answer_is_their_letters() -> None:
    benchmark = load()
    words = set(OWN_WORDS.read_text(encoding="utf-8").split())
    assert len(benchmark.train) == len(benchmark.test) == 1000
    for task in benchmark.train[:200]:
        parts = PART.findall(task.text)
        assert len({word for *_, word in parts}) == 3
        assert {word for *_, word in parts} <= words
        assert spelled(task.text) == task.data["answer"]


def test_worked_cases_are_right_and_their_words_are_their_own() -> None:
    words = set(OWN_WORDS.read_text(encoding="utf-8").split())
    for example in load().examples:
        assert spelled(example.question) == example.answer
        assert not {word for *_, word in PART.findall(example.question)} & words
        for key, text in (*example.notes, *example.recalled):
            assert key not in words
            assert text == ", ".join(f"{i} {letter}" for i, letter in enumerate(key, 1))


@pytest.mark.parametrize(
    ("n", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st")],
)
def test_ordinals(n: int, said: str) -> None:
    assert ordinal(n) == said


def test_the_question_reads_as_a_sentence() -> None:
    assert question(["lamp", "moon", "kiwi"], [4, 1, 2]) == (
        'Take the 4th letter of "lamp", the 1st letter of "moon" and the 2nd letter of "kiwi", and join them.'
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("upi", "upi"),
        ("UPI.", "UPI"),
        ('So the letters joined are "upi".', "upi"),
        ('The answer is "upi" when joined', "upi"),
        ("“upi”", "upi"),
        ("u-p-i", "upi"),
        ("They are u, p, i", "upi"),
        ('"u", "p", "i"', "upi"),
        ("So the answer is upi", "upi"),
        ("u p", "up"),
        ("", ""),
        ("123", ""),
    ],
)
def test_reading_an_answer(text: str, answer: str) -> None:
    assert score(text, {"answer": "upi"}) == (answer, answer.casefold() == "upi")


@given(st.text())
def test_scoring_never_raises(text: str) -> None:
    assert score(text, {"answer": "upi"}).success in (True, False)
    assert score(text, {}).success is None


@given(
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=3),
    st.sampled_from(["{}", '"{}"', "It is {}.", "**{}**"]),
)
def test_right_letters_are_right_however_they_are_put(letters: str, form: str) -> None:
    assert score(form.format(letters.upper()), {"answer": letters}).success is True


def test_published_files(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text('Join "a" of this\tabc\nJoin "b" of that\tsCy\n')
    (tmp_path / "test.csv").write_text("question,answer\nJoin three,xyz\nJoin three,xyz\n")
    benchmark = load(data=str(tmp_path))
    assert sorted(t.data["answer"] for t in (*benchmark.train, *benchmark.test)) == ["abc", "sCy", "xyz"]


def test_words_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "w.txt"
    path.write_text("\u00e9toile\ngar\u00e7on\nna\u00efve\n", encoding="utf-8")
    benchmark = load(words=str(path), cases=20)
    assert {w for t in benchmark.train for *_, w in PART.findall(t.text)} == {
        "\u00e9toile",
        "gar\u00e7on",
        "na\u00efve",
    }


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("words", "lamp\nox\n", "line 2: one word of 4 to 10 letters was expected, but 'ox'"),
        ("words", "lamp\nmoon\nlamp\n", "at least 3 different words, but holds 2"),
        ("data", "no tab here\n", "line 1: expected a question, a tab and the answer"),
        ("data", "a question\t \n", "line 1: the question or the answer is empty"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=says):
        load(**{name: str(path)})


def test_wrong_options() -> None:
    with pytest.raises(ConfigError, match="cases should be from 2"):
        load(cases=1)
    with pytest.raises(ConfigError, match="set one of the two"):
        load(words="a", data="b")
