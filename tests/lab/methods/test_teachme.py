import pytest

from seasoned.errors import DataError
from seasoned.lab.methods.teachme import TeachMe, read_facts
from seasoned.types import Task

LINES = """\
/a/1\t/r/IsA\t/c/en/dog\t/c/en/animal\t{"weight": 2.0}
/a/2\t/r/CapableOf\t/c/en/dog\t/c/en/bark_loudly\t{"weight": 5.0}
/a/3\t/r/IsA\t/c/fr/chien\t/c/fr/animal\t{"weight": 9.0}
/a/4\t/r/NoSuch\t/c/en/dog\t/c/en/thing\t{}
broken line
/a/5\t/r/IsA\t/c/en/cat/n\t/c/en/pet\tnot json
"""


@pytest.fixture
def facts(tmp_path):
    file = tmp_path / "facts.csv"
    file.write_text(LINES, encoding="utf-8")
    return str(file)


def test_the_weightiest_facts_about_words_of_the_task_come_first(facts):
    text = TeachMe(facts=facts, k=1).recall(Task(id="x", text="Why does the DOG sleep?"), None).text
    assert "dog can bark loudly" in text
    assert "animal" not in text


def test_words_take_turns_and_those_that_say_little_have_none(tmp_path):
    file = tmp_path / "facts.csv"
    lines = [("a", "letter", 9), ("dog", "bark", 8), ("dog", "pet", 7), ("dog", "bark", 8), ("cat", "nap", 1)]
    told = [f'/a/1\t/r/CapableOf\t/c/en/{a}\t/c/en/{b}\t{{"weight": {n}}}\n' for a, b, n in lines]
    file.write_text("".join(told), encoding="utf-8")
    text = TeachMe(str(file), k=3).recall(Task(id="x", text="Is a dog more than a cat?"), None).text
    told = [line for line in text.splitlines() if line.startswith("-")]
    assert told == ["- dog can bark", "- cat can nap", "- dog can pet"]


def test_broken_lines_and_other_languages_are_passed_over(facts):
    index = read_facts(facts, "en")
    assert set(index) == {"dog", "cat"}
    assert index["cat"] == [(1.0, "cat is a kind of pet")]


def test_relations_that_nobody_listed_are_said_by_their_names(tmp_path):
    (tmp_path / "facts.csv").write_text("/a/1\t/r/CreatedBy\t/c/en/cake\t/c/en/baker\t{}\n", encoding="utf-8")
    assert read_facts(str(tmp_path / "facts.csv"), "en") == {"cake": [(1.0, "cake created by baker")]}


@pytest.mark.parametrize("name", ["facts.pkl", "facts.csv"])
def test_a_pickle_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x80\x04\x95\x10")
    with pytest.raises(DataError, match=r"is a pickle\. It is never unpickled"):
        read_facts(str(tmp_path / name), "en")


def test_no_fact_is_no_text(facts):
    assert TeachMe(facts=facts).recall(Task(id="x", text="nothing"), None).text == ""


def test_a_missing_or_empty_file_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_facts(str(tmp_path / "none.csv"), "en")
    (tmp_path / "empty.csv").write_text("x\n")
    with pytest.raises(DataError, match="holds no fact"):
        read_facts(str(tmp_path / "empty.csv"), "en")
