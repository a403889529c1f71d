"""`seasoned bench`."""

import json

import pytest

from seasoned.benchmarks import NAMES


def test_list(cli):
    assert [row["name"] for row in cli("bench", "list", "--json").json] == list(NAMES)
    text = cli("bench", "list").out.splitlines()
    assert [line.split()[0] for line in text] == list(NAMES)


@pytest.mark.parametrize("name", ["emoji", "lets"])
def test_check_solves_every_task_with_its_answer(cli, name):
    found = cli("bench", "check", name, "--json").json
    assert found["solved_with_gold"] == found["training"] + found["test"] > 100


def test_check_of_the_users_own_data(cli, folder):
    rows = [{"text": f"text {n}", "emotion": ("joy", "fear")[n % 2]} for n in range(4)]
    (folder / "own.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = cli("bench", "check", "emoji", "-c", "data=own.jsonl", "-c", "symbols=codes")
    assert done.code == 0
    assert "2 training and 2 test cases from own.jsonl" in done.out
    assert "4/4" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("emojy",), "did you mean 'emoji'"),
        (("emoji", "-c", "symbol=codes"), "did you mean 'symbols'"),
        (("emoji", "-c", "symbols"), "key=value"),
        (("emoji", "-c", "data=none.jsonl"), "no such file"),
    ],
)
def test_wrong_words(cli, words, says):
    done = cli("bench", "check", *words)
    assert (done.code, done.out) == (1, "")
    assert says in done.err
