"""METS, on a made-up sample: which posts make a case, in which forms labels come, and the scoring."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import DataError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.benchmarks.mets import score

HEADER = ["tweet_id", "tweet_content", "labels", "preprocessed_text"]


def span(kind: str, value: str) -> dict[str, object]:
    return {"type": kind, "start_index": 1, "end_index": 2, "value": value, "sentiment": "null"}


def sample(folder: Path, rows: list[tuple[str, object]]) -> str:
    path = folder / "posts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for i, (text, labels) in enumerate(rows):
            writer.writerow([i, text, labels if isinstance(labels, str) else repr(labels), text])
    return str(path)


SAMPLE: list[tuple[str, object]] = [
    ("My knees have been wobbly since Monday .", [span("Symptom", "wobbly")]),
    ("Second flu shot done , @Nurse_Joy !", [span("Vaccine-related", "flu shot"), span("Person", "@Nurse_Joy")]),
    ("Gran swears by willow bark . Willow bark !", [span("Drug", "willow bark"), span("Drug", "Willow bark")]),
    ("Mumps and measles , what a week", [span("Disease", "Mumps"), span("Disease", "measles")]),
    ("The mayor spoke again", [span("Person", "mayor")]),
    ("Nothing here", []),
    ("It is gout .", [span("Disease", "lumbago")]),
]


def golds(benchmark: Benchmark) -> dict[str, str]:
    return {t.text: t.data["answer"] for t in (*benchmark.train, *benchmark.test)}


def test_posts_with_one_medical_entity_are_the_cases(tmp_path: Path) -> None:
    benchmark = load_benchmark("mets", {"data": sample(tmp_path, SAMPLE)})
    assert golds(benchmark) == {
        SAMPLE[0][0]: "(wobbly, symptom)",
        SAMPLE[1][0]: "(flu shot, vaccine)",
        SAMPLE[2][0]: "(willow bark, drug)",
    }
    assert {t.category for t in (*benchmark.train, *benchmark.test)} == {""}  # a part of the answer is no category


@pytest.mark.parametrize(
    ("text", "fine"),
    [("preprocessed_text", True), ("tweet_content", True), ("full_text", True), ("body", False)],
)
def test_the_column_of_the_text(tmp_path: Path, text: str, fine: bool) -> None:
    path = tmp_path / "posts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["tweet_id", "labels", text])
        writer.writerows([n, repr(labels), words] for n, (words, labels) in enumerate(SAMPLE))
    if fine:
        assert len(golds(load_benchmark("mets", {"data": str(path)}))) == 3
        return
    with pytest.raises(DataError, match=r"a column preprocessed_text or tweet_content .*found tweet_id, labels, body"):
        load_benchmark("mets", {"data": str(path)})


def test_the_authors_files_have_tabs_and_no_texts(tmp_path: Path) -> None:
    path = tmp_path / "posts.csv"
    path.write_text(f"tweet_id\tlabels\n1\t{[span('Drug', 'zinc')]!r}\n2\t[]\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"found tweet_id, labels; the authors' .* fetch the posts by their tweet_id"):
        load_benchmark("mets", {"data": str(path)})


def test_labels_of_a_text_whose_signs_were_set_apart_are_found_in_the_post(tmp_path: Path) -> None:
    path = tmp_path / "posts.csv"
    text = "Got my COVID-19 vaccine,\tfinally. Zincite is a stone."
    rows = [f"1\t{[span('Vaccine-related', 'COVID - 19 vaccine')]!r}", f"2\t{[span('Drug', 'zinc')]!r}"]
    posts = [f'{r}\t"{text}"' for r in rows] + [f"3\t{[span('Drug', 'zinc')]!r}\tTook zinc."]
    path.write_text("\n".join(["tweet_id\tlabels\tfull_text", *posts]), encoding="utf-8")
    found = golds(load_benchmark("mets", {"data": str(path)})).values()
    assert sorted(found) == ["(COVID - 19 vaccine, vaccine)", "(zinc, drug)"]


def test_the_folder_for_data_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mets").mkdir()
    sample(tmp_path / "mets", SAMPLE)
    monkeypatch.setenv("SEASONED_DATA", str(tmp_path))
    benchmark = load_benchmark("mets")
    assert len(golds(benchmark)) == 3
    assert benchmark.source == str(tmp_path / "mets" / "posts.csv")


@pytest.mark.parametrize(
    "labels",
    [
        [span("Symptom", "dizzy")],
        json.dumps([{**span("Symptom", "dizzy"), "sentiment": None}]),
        [{"text": "dizzy", "label": "symptom"}],
        {"entity": "dizzy", "entity_type": "SYMPTOM"},
        [("dizzy", "symptom")],
        [[3, 4, "Symptom", "dizzy"]],
        ("Symptom", "dizzy"),
    ],
)
def test_labels_in_several_forms(tmp_path: Path, labels: object) -> None:
    rows: list[tuple[str, object]] = [("So dizzy today", labels), ("So dizzy tonight", labels)]
    benchmark = load_benchmark("mets", {"data": sample(tmp_path, rows)})
    assert set(golds(benchmark).values()) == {"(dizzy, symptom)"}
    assert len(golds(benchmark)) == 2


def test_lines_whose_labels_cannot_be_read_are_counted(tmp_path: Path) -> None:
    benchmark = load_benchmark("mets", {"data": sample(tmp_path, [*SAMPLE, ("Flu", "exit()"), ("Flu", "[(")])})
    assert "2 lines whose labels cannot be read left out" in benchmark.source


def test_errors_say_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"METS-CoV .*may not be passed on.*benchmark\.data.*SEASONED_DATA/mets"):
        load_benchmark("mets")
    with pytest.raises(DataError, match="no post has exactly one entity"):
        load_benchmark("mets", {"data": sample(tmp_path, SAMPLE[3:])})
    with pytest.raises(DataError, match="the labels of 1 lines could not be read"):
        load_benchmark("mets", {"data": sample(tmp_path, [("Flu", "exit()")])})
    (tmp_path / "x.csv").write_text("tweet_id,text\n1,2\n")
    with pytest.raises(DataError, match="labels missing, found tweet_id, text"):
        load_benchmark("mets", {"data": str(tmp_path / "x.csv")})


GOLD = {"answer": "(sore throat, symptom)"}


@pytest.mark.parametrize(
    "text",
    [
        "(sore throat, symptom)",
        "( Sore  Throat ,SYMPTOM )",
        "sore throat, symptom",
        '("sore throat", "symptom")',
        "[sore throat, symptom]",
        "So the answer is (sore throat, symptom).",
        "not (flu, disease) but (sore throat, symptom)",
    ],
)
def test_scoring_is_tolerant_of_form(text: str) -> None:
    assert score(text, GOLD).success is True


@pytest.mark.parametrize("text", ["(throat, symptom)", "(sore throat, disease)", "sore throat", "", "(,)", "symptom"])
def test_scoring_is_strict_about_content(text: str) -> None:
    assert score(text, GOLD).success is False


def test_signs_between_the_words_of_an_entity_do_not_matter() -> None:
    assert score("(COVID-19 vaccine, vaccine)", {"answer": "(covid - 19 vaccine, vaccine)"}).success is True
    assert score("(a, b, drug)", {"answer": "(a, b, drug)"}) == ("(a, b, drug)", True)
    assert score("(a, drug)", {}).success is None


@given(st.text())
def test_scoring_never_raises(text: str) -> None:
    assert score(text, GOLD).success in (True, False)


@given(
    st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1).filter(str.strip),
    st.sampled_from(["vaccine", "disease", "drug", "symptom"]),
)
def test_the_right_answer_is_always_right(entity: str, kind: str) -> None:
    gold = f"({entity}, {kind})"
    assert score(gold.upper() if gold.upper().casefold() == gold.casefold() else gold, {"answer": gold}).success is True
