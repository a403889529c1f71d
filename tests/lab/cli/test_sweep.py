"""`seasoned run -c train=4,6`: several runs of one command."""

import pytest

from seasoned.lab.cli.run import combinations, label


def test_what_is_taken_apart():
    assert combinations(["train=20,40", "folds=2", "llm.temperature=0.0, 0.5"]) == [
        ["train=20", "folds=2", "llm.temperature=0.0"],
        ["train=20", "folds=2", "llm.temperature=0.5"],
        ["train=40", "folds=2", "llm.temperature=0.0"],
        ["train=40", "folds=2", "llm.temperature=0.5"],
    ]
    assert combinations([]) == [[]]
    for whole in ("benchmark.data=a,b.csv", "curve=[1, 2]", "conditions=['a', 'b']", "train=20", "train=20,", "x"):
        assert combinations([whole]) == [[whole]]


def test_a_label_names_the_values():
    given = ["train=20,40", "folds=2", "llm.temperature=0.0,0.5"]
    assert [label(chosen, given) for chosen in combinations(given)][1] == "train20-temperature0.5"


def test_a_run_for_each_value(cli, model):
    assert cli("run", "small.toml", "-c", "train=4,6", "-q").code == 0
    runs = [row["run"] for row in cli("runs", "list", "--json").json]
    assert ["small-train4" in runs[0], "small-train6" in runs[1]] == [True, True]
    rows = [cli("runs", "table", run, "--json").json for run in runs]
    assert [max(row["trained_on"] for row in each) for each in rows] == [4, 6]


def test_a_dry_run_of_each(cli, model):
    done = cli("run", "small.toml", "-c", "train=4,6", "--dry-run")
    assert (done.code, done.out.count("nothing was run"), done.err) == (0, 2, "train4:\ntrain6:\n")


@pytest.mark.parametrize("more", [("--json",), ("--resume", "last")])
def test_what_a_sweep_cannot_be(cli, model, more):
    cli("run", "small.toml", "-q")
    recipe = () if "--resume" in more else ("small.toml",)
    assert "makes several runs" in cli("run", *recipe, "-c", "train=4,6", *more).err


def test_a_dry_run_says_dollars(cli, model):
    def dollars(*more):
        return cli("run", "small.toml", *more, "--dry-run", "--json").json["dollars"]

    assert dollars() == 0
    assert 0 < dollars("-c", "llm.model=gpt-5-mini") < 10
    assert dollars("-c", "llm.model=no-such-model") is None
    assert dollars("-c", "llm.model=gpt-5-mini", "-c", "llm.base_url=http://127.0.0.1:9/v1") is None
    assert "about $" in cli("run", "small.toml", "-c", "llm.model=gpt-5-mini", "--dry-run").out
