"""Data files of others: what is read, and what is refused with which sentence."""

import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import DataError
from seasoned.lab.benchmarks.rows import MAX_FIELD, read_csv, read_json, read_jsonl, read_lines, read_literal

PER_TEST_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
READERS: list[Callable[[Path], object]] = [
    read_lines,
    lambda path: read_jsonl(path, ("text",)),
    lambda path: read_csv(path, ("text",)),
]


def put(folder: Path, content: str | bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_jsonl_gives_rows_with_line_numbers(tmp_path: Path) -> None:
    path = put(tmp_path, '\ufeff{"text": "a"}\r\n\r\n{"text": "\u0633\u0644\u0627\u0645 \U0001f600", "more": [1]}\n')
    assert [(r.line, r.values) for r in read_jsonl(path, ["text"])] == [
        (1, {"text": "a"}),
        (3, {"text": "\u0633\u0644\u0627\u0645 \U0001f600", "more": [1]}),
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"text": "a"}\n{"text": "b"\n', "line 2: not valid JSON"),
        ('{"txt": "a", "id": 1}\n', "line 1: text missing, found txt, id"),
        ('[{"text": "a"}]', "line 1: not an object"),
        ("1\n2\n3\n4\n5\n", "and 2 more lines"),
        ('{"text": "\\ud800"}', "line 1: half of a surrogate pair"),
        ('{"text": "' + "x" * MAX_FIELD + '"}', f"longer than {MAX_FIELD}"),
        ("[" * 50_000, "line 1: not valid JSON"),
        ("\n \n", "holds no rows"),
    ],
)
def test_broken_jsonl_is_named_by_line(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(DataError, match=r"data\.txt") as e:
        read_jsonl(put(tmp_path, content), ["text"])
    assert says in str(e.value)


def test_csv_gives_rows_with_the_line_they_begin_on(tmp_path: Path) -> None:
    path = put(tmp_path, '\ufefftext,n\r\n"a ""b"", c\nd",1\r\n\r\ne,2\r\n')
    assert [(r.line, r.values) for r in read_csv(path, ["text"])] == [
        (2, {"text": 'a "b", c\nd', "n": "1"}),
        (5, {"text": "e", "n": "2"}),
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("story,goal\na,b\n", "should have the columns story, query, target; query, target missing, found story, goal"),
        ("story,query,target\na,b,c\nd,e\n", "line 3: 2 fields, but the header has 3"),
        ('story,query,target\na,b,c\n"d,e,f\n', "line 3: not valid CSV"),
        ("story,query,target\n" + "a" * (MAX_FIELD + 1) + ",b,c\n", "line 2: a field is longer"),
        ("story,query,target\n" + "a" * 200_000 + ",b,c\n", "line 2: not valid CSV (field larger"),
        ("story,query,target\n", "holds no rows"),
        ("", "holds no rows"),
    ],
)
def test_broken_csv_is_named_by_line(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(DataError, match=r"data\.txt") as e:
        read_csv(put(tmp_path, content), ["story", "query", "target"])
    assert says in str(e.value)


class Spy:
    """Pickles to a call that would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["data.pickle", "data.PKL", "data.jsonl"])
def test_a_pickle_is_refused_and_never_run(
    tmp_path: Path, reader: Callable[[Path], object], protocol: int, name: str
) -> None:
    mark = tmp_path / "was-run"
    path = put(tmp_path, pickle.dumps([Spy(mark)], protocol=protocol), name)
    with pytest.raises(DataError, match=r"never unpickled.*write the rows as JSON lines or CSV"):
        reader(path)
    assert not mark.exists()


@pytest.mark.parametrize("reader", READERS)
def test_a_place_that_is_no_readable_file(tmp_path: Path, reader: Callable[[Path], object]) -> None:
    with pytest.raises(DataError, match="there is no file"):
        reader(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="is a folder"):
        reader(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        reader(Path("a\0b"))
    with pytest.raises(DataError, match=r"line 2: not UTF-8"):
        reader(put(tmp_path, b"text\nna\xefve\n"))


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20)).map(lambda d: {**d, "text": "t"}), min_size=1)
)
@PER_TEST_FOLDER
def test_jsonl_gives_back_what_was_written(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    path = put(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
    assert [r.values for r in read_jsonl(path, ["text"])] == rows


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
@PER_TEST_FOLDER
def test_any_bytes_are_rows_or_a_data_error(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path, content)
    for reader in READERS:
        with suppress(DataError):
            assert reader(path)


def test_literals_of_python_and_json() -> None:
    assert read_literal("('Ann', \"Bob's\")") == ("Ann", "Bob's")
    assert read_literal('[{"value": "fever", "sentiment": null}]') == [{"value": "fever", "sentiment": None}]
    assert read_literal(" [{'value': 'fever'}] ") == [{"value": "fever"}]
    assert read_literal(r"'\d'") == r"\d"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "__import__('os').getcwd()",
        "open('x')",
        "(" * 5_000,
        "-" * 50_000 + "1",
        "1" + "+1" * 40_000,
        "'\\ud800'",
        "x" * 200_000,
    ],
)
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        read_literal(text)


@given(st.text())
def test_any_text_is_a_literal_or_a_data_error(text: str) -> None:
    with suppress(DataError):
        read_literal(text)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '"x"'])
def test_a_file_without_an_object_is_refused(tmp_path, text):
    path = tmp_path / "items_ins.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="should hold a JSON object"):
        read_json(path, dict)


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "items_ins.json"
    with pytest.raises(DataError, match="there is no file"):
        read_json(path, dict)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(DataError, match="not valid JSON in UTF-8"):
        read_json(path, dict)
    path.write_text(json.dumps({"a": 1}), encoding="utf-8-sig")
    assert read_json(path, dict) == {"a": 1}
