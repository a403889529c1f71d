"""Data files of others: what is read, and what is refused with which sentence."""

import json
import pickle
import sys
import types
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import DataError, MissingExtraError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import find_data
from seasoned.lab.benchmarks.rows import (
    MAX_FIELD,
    dataset_lines,
    is_dataset,
    read_csv,
    read_json,
    read_jsonl,
    read_lines,
    read_literal,
)

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
@pytest.mark.parametrize("protocol", [0, pickle.HIGHEST_PROTOCOL])
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


FEELINGS = ["joy", "fear"]
ROWS = [{"text": f"text {n}", "emotion": n % 2, "more": {"n": [n]}} for n in range(6)]
QUESTIONS = [
    {
        "id": f"q{n}",
        "question": f"Who built bridge {n}?",
        "answer": f"Ann {n}",
        "context": {"title": [f"Bridge {n}", "Ann"], "sentences": [[f"Built by Ann {n}."], ["A builder."]]},
        "supporting_facts": {"title": [f"Bridge {n}"], "sent_id": [0]},
    }
    for n in range(4)
]


class Labels:
    """Stands in for a column of class labels."""

    def int2str(self, number):
        return FEELINGS[number]


class Part(list):
    """Stands in for a split."""

    features = {"text": object(), "emotion": Labels()}  # noqa: RUF012


@pytest.fixture
def stand_in(monkeypatch):
    """A package `datasets` that knows one name; gives what it was asked for."""
    asked = []

    def load_dataset(*words, **more):
        asked.append((words, more))
        if words[0] != "org/feelings":
            raise FileNotFoundError(f"no dataset {words[0]}\nsecond line")
        return {"train": Part(ROWS[:4]), "test": Part([*ROWS[4:], {"text": "no label", "emotion": -1}])}

    module = types.SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", module)
    return asked


def test_rows_of_a_split_with_labels_by_name(stand_in):
    rows = read_jsonl("hf:org/feelings:train", ("text", "emotion"))
    assert [row.line for row in rows] == [1, 2, 3, 4]
    assert rows[1].values == {"text": "text 1", "emotion": "fear", "more": {"n": [1]}}
    assert read_csv("hf:org/feelings:train", ["text"])[1].values == {
        "text": "text 1",
        "emotion": "fear",
        "more": '{"n": [1]}',
    }
    both = [json.loads(line) for _, line in dataset_lines("hf:org/feelings:small:train+test")]
    assert (len(both), both[-1]["emotion"]) == (7, None)
    assert stand_in[0] == (("org/feelings", None), {})
    assert stand_in[-1] == (("org/feelings", "small"), {})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hf:", "expected hf:NAME, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT, but got hf:"),
        ("hf:a:b:c:d", "but got hf:a:b:c:d"),
        ("hf:org/none", "the dataset hf:org/none cannot be opened: no dataset org/none"),
        ("hf:org/feelings", "has the splits train, test: name one, as in hf:org/feelings:train"),
        ("hf:org/feelings:dev", "has no split 'dev'; it has train, test"),
    ],
)
def test_what_cannot_be_opened_is_a_sentence(stand_in, name, says):
    with pytest.raises(DataError, match=r"hf:") as caught:
        list(dataset_lines(name))
    assert str(caught.value).endswith(says)


def test_a_column_that_is_missing_is_named(stand_in):
    with pytest.raises(DataError, match=r"hf:org/feelings:train should hold .* line 1: story missing, found text"):
        read_csv("hf:org/feelings:train", ["story"])


def test_a_dataset_that_is_too_large_is_refused(stand_in, monkeypatch):
    monkeypatch.setattr("seasoned.lab.benchmarks.rows.MAX_ROWS", 3)
    with pytest.raises(DataError, match="more than 3 rows"):
        list(dataset_lines("hf:org/feelings:train"))


def test_benchmarks_of_rows_take_it_and_others_say_so(stand_in):
    made = load_benchmark("emoji", {"data": "hf:org/feelings:train", "symbols": "codes"}, seed=0)
    assert len(made.train) + len(made.test) == 4
    assert made.source.startswith("hf:org/feelings:train")
    with pytest.raises(DataError, match="the data of webshop are no rows, so hf:x cannot hold them"):
        load_benchmark("webshop", {"data": "hf:x"}, seed=0)
    assert [str(path) for path in find_data("lets", "hf:./mine:train", [".csv"])] == ["hf:./mine:train"]
    assert is_dataset("hf:x")
    assert not is_dataset("x.jsonl")


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'seasoned\[datasets\]'"):
        load_benchmark("emoji", {"data": "hf:org/feelings:train"}, seed=0)


@pytest.fixture
def real(tmp_path, monkeypatch):
    """The real package, with its cache in the test's folder."""
    datasets = pytest.importorskip("datasets", reason="needs the extra datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return datasets


@pytest.mark.filterwarnings("ignore")
def test_with_the_real_package_from_disk_and_from_parquet(real, tmp_path):
    kinds = real.Features(
        text=real.Value("string"), emotion=real.ClassLabel(names=FEELINGS), more={"n": [real.Value("int64")]}
    )
    whole = real.Dataset.from_list(ROWS, features=kinds)
    whole.save_to_disk(str(tmp_path / "one"))
    real.DatasetDict({"train": whole, "test": whole.select([0])}).save_to_disk(str(tmp_path / "two"))
    whole.to_parquet(str(tmp_path / "rows.parquet"))
    (tmp_path / "folder").mkdir()
    whole.to_parquet(str(tmp_path / "folder" / "train.parquet"))
    expected = [{**row, "emotion": FEELINGS[row["emotion"]]} for row in ROWS]
    for name in ("one", "two:train", "rows.parquet", "folder", "folder:train"):
        rows = read_jsonl(f"hf:{tmp_path}/{name}", ("text", "emotion"))
        assert [row.values for row in rows] == expected, name
    with pytest.raises(DataError, match="has the splits train, test"):
        list(dataset_lines(f"hf:{tmp_path}/two"))
    with pytest.raises(DataError, match="it has no splits: leave it out"):
        list(dataset_lines(f"hf:{tmp_path}/one:train"))
    (tmp_path / "bad.parquet").write_text("no parquet", encoding="utf-8")
    for name in (f"{tmp_path}/bad.parquet", f"{tmp_path}/none", "org/none"):
        with pytest.raises(DataError, match="cannot be opened: "):
            list(dataset_lines(f"hf:{name}"))


@pytest.mark.filterwarnings("ignore")
def test_each_benchmark_of_rows_loads_a_real_dataset(real, tmp_path):
    stories = [
        {"story": f"[Ann{n}] is the mother of [Bob{n}].", "query": f"('Ann{n}', 'Bob{n}')", "target": "son"}
        for n in range(4)
    ]
    programs = [
        {
            "task_id": f"T/{n}",
            "prompt": f"def f{n}(x):\n",
            "entry_point": f"f{n}",
            "canonical_solution": "    return x\n",
            "test": f"def check(candidate):\n    assert candidate({n}) == {n}\n",
        }
        for n in range(4)
    ]
    letters = [{"question": f"Join the letter {n}", "answer": "abc"} for n in range(4)]
    for name, rows in (
        ("hotpotqa", QUESTIONS),
        ("clutrr", stories),
        ("humaneval", programs),
        ("mbpp", programs),
        ("lets", letters),
    ):
        real.Dataset.from_list(rows).save_to_disk(str(tmp_path / name))
        made = load_benchmark(name, {"data": f"hf:{tmp_path / name}"}, seed=0)
        assert len(made.train) + len(made.test) == 4, name
        assert f"hf:{tmp_path / name}" in made.source


def test_columns_of_pairs_are_read_as_pairs(stand_in, monkeypatch):
    part = Part(QUESTIONS)
    part.features = {}
    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", lambda *words, **more: part)
    made = load_benchmark("hotpotqa", {"data": "hf:org/questions"}, seed=0)
    env = made.make_env(False)
    env.reset(made.train[0])
    number = made.train[0].text.split()[-1].strip("?")
    assert "Built by Ann" in env.step(f"Search[Bridge {number}]")[0]
