"""What all benchmarks share: finding them, options, data folders, pools, and the words of the prompts."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import NAMES, find_check, load_benchmark
from seasoned.lab.benchmarks.answer import prompts
from seasoned.lab.benchmarks.base import check_options, distinct, find_data, split, take
from seasoned.protocols import Environment
from seasoned.types import Task

ANSWERING = ("clutrr", "emoji", "lets", "mets")
OWN = [name for name in ANSWERING if name != "mets"]


def tasks(*texts: str) -> list[Task]:
    return [Task(id=f"t{i}", text=text) for i, text in enumerate(texts)]


def test_a_benchmark_is_found_by_name_and_by_path() -> None:
    by_name = load_benchmark("lets", {"cases": 20}, seed=3)
    for path in ("seasoned.lab.benchmarks.lets", "seasoned.lab.benchmarks.lets:load"):
        again = load_benchmark(path, {"cases": 20}, seed=3)
        assert (again.train, again.test, again.examples) == (by_name.train, by_name.test, by_name.examples)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("emojy", "did you mean 'emoji'?"),
        ("zzz", ", ".join(NAMES)),
        ("no.such.module", "cannot be imported"),
        ("..", "cannot be imported"),
        ("seasoned.types", r"needs a function load\(options, \*, seed\)"),
        ("seasoned.lab.benchmarks.lets:lode", "needs a function lode"),
    ],
)
def test_a_benchmark_that_is_not_there(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load_benchmark(name)


def test_what_a_path_gives_must_be_a_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_bench.py").write_text("def load(options, *, seed):\n    return 5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="gave a int"):
        load_benchmark("own_bench:load")


@pytest.mark.parametrize("name", sorted({*NAMES} - {"drift", "library", "tau2"}))
def test_an_unknown_option_is_named_with_the_nearest(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} has no option 'dta'; did you mean 'data'"):
        load_benchmark(name, {"dta": "x"})


def test_a_module_that_raises_anything_is_an_error_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "bench.py").write_text("raise RuntimeError('no data today')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="cannot be imported: RuntimeError: no data today"):
        load_benchmark("broken.bench")
    assert find_check("broken.bench") is None


def test_options_are_typed_and_defaults_filled_in() -> None:
    known = {"data": "", "share": 0.5, "hops": (2, 3), "cases": 5}
    assert check_options("x", {"share": 1, "hops": [2], "data": Path("a"), "cases": None}, known) == {
        **{"data": "a", "share": 1.0, "hops": (2,), "cases": 5}
    }
    for wrong in ({"cases": "5"}, {"cases": True}, {"share": "half"}, {"data": 3}, {"hops": 2}, {"hops": ["two"]}):
        with pytest.raises(ConfigError, match="should be"):
            check_options("x", wrong, known)


def test_data_is_looked_for_where_the_user_says_then_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_data("lets", "", [".csv"]) == ()
    folder = tmp_path / "lets"
    folder.mkdir()
    (folder / "b.csv").touch()
    (folder / "a.CSV").touch()
    (folder / ".hidden.csv").touch()
    (folder / "notes.md").touch()
    monkeypatch.setenv("SEASONED_DATA", str(tmp_path))
    both = (folder / "a.CSV", folder / "b.csv")
    assert find_data("lets", "", [".csv"]) == both
    assert find_data("lets", str(folder), [".csv"]) == both
    assert find_data("lets", str(folder / "notes.md"), [".csv"]) == (folder / "notes.md",)
    assert find_data("other", "", [".csv"]) == ()


def test_a_wrong_place_for_data_is_an_error_and_not_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        find_data("emoji", str(tmp_path / "absent.jsonl"), [".jsonl"])
    (tmp_path / "emoji").mkdir()
    (tmp_path / "emoji" / "raw.pickle").touch()
    monkeypatch.setenv("SEASONED_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"ends in \.jsonl, but holds raw\.pickle \(a pickle is never read"):
        find_data("emoji", "", [".jsonl"])
    monkeypatch.setenv("SEASONED_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataError, match="SEASONED_DATA names"):
        find_data("emoji", "", [".jsonl"])


def test_take_gives_the_first_or_says_how_many_there_are() -> None:
    pool = tasks("a", "b", "c")
    assert take(pool, 2, "test") == tuple(pool[:2])
    assert take(pool, 0, "test") == ()
    with pytest.raises(DataError, match="4 training tasks were asked for, but there are 3: ask for at most 3"):
        take(pool, 4, "training")
    with pytest.raises(DataError, match="cannot be negative"):
        take(pool, -1, "test")


@given(st.lists(st.text(max_size=3), min_size=2), st.integers(), st.floats(0.01, 0.99))
def test_pools_share_no_text_and_lose_none(texts: list[str], seed: int, share: float) -> None:
    texts = [*texts, "first\n one", "FIRST one", "second one"]
    train, test = split(tasks(*texts), name="x", seed=seed, share=share)
    fold = [" ".join(t.text.split()).casefold() for t in (*train, *test)]
    assert len(set(fold)) == len(fold)
    assert set(fold) == {" ".join(t.split()).casefold() for t in texts}
    assert train
    assert test
    assert abs(len(train) - share * len(fold)) <= 1
    assert split(tasks(*texts), name="x", seed=seed, share=share) == (train, test)


def test_the_seed_decides_the_pools() -> None:
    many = tasks(*(str(i) for i in range(50)))
    assert split(many, name="x", seed=0) != split(many, name="x", seed=1)
    with pytest.raises(ConfigError, match="train_share"):
        split(many, name="x", seed=0, share=1.0)
    with pytest.raises(DataError, match="at least 2 different tasks"):
        split(tasks("a", "A "), name="x", seed=0)


def test_ids_stay_unique_when_a_file_repeats_one() -> None:
    doubled = [Task(id="x-1", text="a"), Task(id="x-1", text="b"), Task(id="x-2", text="c")]
    train, test = split(doubled, name="x", seed=0)
    assert len({t.id for t in (*train, *test)}) == 3
    assert [t.text for t in distinct(doubled, lambda t: t.text)] == ["a", "b", "c"]


@pytest.mark.parametrize("name", OWN)
def test_a_benchmark_is_whole(name: str) -> None:
    one, again, other = (load_benchmark(name, seed=seed) for seed in (0, 0, 1))
    assert one.train == again.train
    assert one.test == again.test
    assert one.train != other.train
    assert {t.text for t in one.train}.isdisjoint(t.text for t in one.test)
    assert len({t.id for t in (*one.train, *one.test)}) == len(one.train) + len(one.test) >= 400
    assert one.name == name
    assert one.source
    assert one.max_turns == 10
    assert isinstance(one.make_env(True), Environment)


@pytest.mark.parametrize("name", OWN)
def test_every_right_answer_is_scored_right_and_every_other_tasks_answer_is_not(name: str) -> None:
    benchmark = load_benchmark(name)
    env = benchmark.make_env(False)
    golds = sorted({t.data["answer"] for t in benchmark.train})
    for task in benchmark.train[:60]:
        for answer in (task.data["answer"], next(g for g in golds if g != task.data["answer"])):
            env.reset(task)
            *_, info = env.step(f"ANSWER[{answer}]")
            assert info["success"] is (answer == task.data["answer"])


@pytest.mark.parametrize("name", ANSWERING)
def test_worked_cases_are_short_and_consistent(name: str) -> None:
    words = SimpleNamespace(**prompts(name))
    assert 3 <= len(words.examples) <= 5
    assert words.think_hint
    assert words.heuristic is None or all(words.heuristic)
    assert words.note_hint
    assert any(e.wrong for e in words.examples)
    assert any(e.recalled for e in words.examples)
    assert len(words.instruction.split()) <= 60
    assert any(e.notes for e in words.examples)
    for example in words.examples:
        assert example.wrong != example.answer
        assert not example.wrong or example.notes
        assert len(re.findall(r"\w+", f"{example.question} {example.thought} {example.answer}")) <= 60
        # What is recalled in a worked case can be found by its key.
        for key, _ in example.recalled:
            case = f"{example.question} {' '.join(example.choices)}".casefold()
            assert all(word in case for word in re.findall(r"\w+", key.casefold()))
