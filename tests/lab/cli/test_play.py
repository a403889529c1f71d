"""`seasoned play`."""

import io
import json
import re
from pathlib import Path

import pytest

from seasoned.lab.cli.play import _meant
from seasoned.types import Task

ODD = "\x1b[31mred\x9b2J\u202e [/b] :smile:"


@pytest.fixture
def typed(monkeypatch):
    def say(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return say


def test_a_person_plays_a_task(cli, typed):
    typed("?", "ANSWER[nothing of the kind]")
    done = cli("play", "emoji", "-c", "benchmark.symbols=codes")
    assert done.code == 0
    assert "Each symbol stands for one feeling" in done.out
    assert "after 1 step, reward 0" in done.out


def test_an_empty_line_ends_it(cli, typed):
    typed("")
    assert "You stopped after 0 steps." in cli("play", "emoji").out
    typed()
    assert "You stopped after 0 steps." in cli("play", "emoji").out


def test_what_is_no_text_is_read_as_question_marks(cli, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    done = cli("play", "webshop")
    assert (done.code, "You stopped after 1 step." in done.out) == (0, True)


def test_a_thought_is_no_step_and_free_words_are_told(cli, typed):
    typed("?", *["think[hm]"] * 20, "search[lamp]", "")
    done = cli("play", "webshop")
    assert "search[words]" in done.out
    assert "You stopped after 1 step." in done.out


def test_a_person_shops(cli, typed):
    typed("")
    page = cli("play", "webshop", "-c", "products=60", "--task", "webshop-5").out
    assert "walking shoes" in page
    words = "search[walking shoes vegan leather easy on water resistant]"
    typed(words, "")
    found = cli("play", "webshop", "-c", "products=60", "--task", "webshop-5").out
    (code,) = re.findall(r"\[(\w{10})\]\n.*Walking Shoes, Non Slip", found)
    typed(words, f"click[{code}]", "click[teal]", "click[6]", "click[Buy Now]")
    assert (
        "You made it after 5 steps, reward 1." in cli("play", "webshop", "-c", "products=60", "--task", "webshop-5").out
    )


def test_a_task_that_is_not_there_is_one_sentence(cli, typed):
    done = cli("play", "emoji", "--task", "none-such")
    assert done.code == 1
    assert "no task of emoji has 'none-such' in its id" in done.err


def test_a_task_is_found_by_its_id_before_any_part_of_it(cli, typed):
    def opened(task):
        typed("")
        return cli("play", "webshop", "-c", "products=60", "--task", task)

    assert opened("webshop-5").out.startswith("webshop-5\n")  # webshop-50 to webshop-59 are there, too
    assert opened("shop-100").out.startswith("webshop-100\n")
    several = opened("shop-11")
    assert (several.code, several.out) == (1, "")
    assert re.search(r"\d+ tasks of webshop have 'shop-11' in their ids: webshop-11\d*, webshop-11", several.err)


@pytest.mark.parametrize(
    ("wanted", "found"), [("put-1", "put-1"), ("put-2", "put-21"), ("two-3", "puttwo-31"), ("put-3", "put-31")]
)
def test_a_beginning_comes_before_what_is_inside(wanted, found):
    ids = ("put-12", "put-1", "put-21", "put-31", "puttwo-31", "output-31")
    assert _meant([Task(id=one, text="t") for one in ids], wanted, "own").id == found


def test_options_are_those_of_the_benchmark(cli, typed):
    def opened(setting):
        typed("")
        return cli("play", "emoji", "-c", setting)

    (own := Path("own.jsonl")).write_text(
        "\n".join(json.dumps({"text": f"case {n}", "emotion": ("joy", "fear")[n % 2]}) for n in range(4)),
        encoding="utf-8",
    )
    for key in ("data", "benchmark.data"):
        assert re.search(r"^case \d$", opened(f"{key}={own}").out, re.M)
    for setting, says in (
        ("data=none.jsonl", "no such file"),
        ("agent.style=act", "agent.style belongs to the section 'agent' of a recipe"),
        ("symbol=codes", "did you mean 'symbols'"),
        ("symbols", "key=value"),
    ):
        done = opened(setting)
        assert (done.code, done.out) == (1, "")
        assert says in done.err
