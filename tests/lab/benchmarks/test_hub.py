"""Hugging Face datasets as data: with the real package where it is installed, and with one that stands in for it."""

import json
import sys
import types

import pytest

from seasoned.errors import DataError, MissingExtraError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.base import find_data
from seasoned.lab.benchmarks.hub import dataset_lines, is_dataset
from seasoned.lab.benchmarks.rows import read_csv, read_jsonl

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
    monkeypatch.setattr("seasoned.lab.benchmarks.hub.MAX_ROWS", 3)
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
