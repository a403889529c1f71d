"""`seasoned bench`."""

import json
import sys

import pytest

from seasoned.lab.benchmarks import NAMES

COUNTED = {"attacks": 8, "flagged_by_patterns": 3, "defences": {"on": {"n": 8, "succeeded": 1}}}
SOLVED = "tasks are solved by what is known to solve them"


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
    assert f"4/4 {SOLVED}" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("emojy",), "did you mean 'emoji'"),
        (("emoji", "-c", "symbol=codes"), "did you mean 'symbols'"),
        (("emoji", "-c", "symbols"), "key=value"),
        (("emoji", "-c", "llm.model=x"), "llm.model belongs to the section 'llm' of a recipe"),
        (("emoji", "-c", "data=none.jsonl"), "no such file"),
    ],
)
def test_wrong_words(cli, words, says):
    done = cli("bench", "check", *words)
    assert (done.code, done.out) == (1, "")
    assert says in done.err


class TestOwnChecks:
    """Benchmarks whose module checks its data itself."""

    @pytest.fixture
    def found(self, folder, monkeypatch):
        """A benchmark `seasonedtest.own`, whose check finds what it is told to; gives its name."""

        def write(good, total, problems=(), source="", unwinnable=0):
            (folder / "seasonedtest").mkdir(exist_ok=True)
            text = (
                "from seasoned.lab.benchmarks.base import Check\n"
                "def check(options, *, seed):\n"
                f"    problems = {tuple(problems)!r} or tuple(map(str, options.values()))\n"
                f"    source = {source!r} and f'{source} of seed {{seed}}'\n"
                f"    return Check({good}, {total}, problems, source, {unwinnable})\n"
            )
            (folder / "seasonedtest" / "own.py").write_text(text, encoding="utf-8")
            monkeypatch.setattr(
                sys, "dont_write_bytecode", True
            )  # bytecode of a file written twice in a second is stale
            monkeypatch.syspath_prepend(folder)
            monkeypatch.delitem(sys.modules, "seasonedtest.own", raising=False)
            monkeypatch.delitem(sys.modules, "seasonedtest", raising=False)
            return "seasonedtest.own"

        return write

    def test_all_good(self, cli, found):
        done = cli("bench", "check", found(138, 138))
        assert (done.code, done.out) == (0, f"138/138 {SOLVED}\n")

    def test_problems_are_shown_and_counted(self, cli, found):
        done = cli("bench", "check", found(1, 13, [f"game {n} is broken" for n in range(12)]))
        assert done.code == 1
        assert done.out.splitlines() == [*(f"game {n} is broken" for n in range(10)), "and 2 more", f"1/13 {SOLVED}"]

    @pytest.mark.parametrize(("good", "total", "problems"), [(0, 0, ()), (0, 0, ("odd",)), (3, 3, ("a page is lost",))])
    def test_no_task_or_any_problem_is_a_fault(self, cli, found, good, total, problems):
        done = cli("bench", "check", found(good, total, problems))
        assert (done.code, done.out.splitlines()) == (1, [*problems, f"{good}/{total} {SOLVED}"])

    def test_the_data_of_another_benchmark(self, cli, folder):
        (folder / "own.jsonl").write_text('{"question": "Who?", "answer": "Me"}\n', encoding="utf-8")
        done = cli("bench", "check", "fever", "--data", "own.jsonl")
        assert done.code == 1
        assert done.out.splitlines()[-1] == f"0/0 {SOLVED}"

    def test_json(self, cli, found):
        done = cli("bench", "check", found(1, 2, ["x"], "goods"), "--seed", 3, "--json")
        assert done.code == 1
        assert done.json == {
            "benchmark": "seasonedtest.own",
            "good": 1,
            "total": 2,
            "problems": ["x"],
            "source": "goods of seed 3",
            "unwinnable": 0,
            "facts": [],
        }

    def test_which_data_was_checked_is_said(self, cli, found):
        done = cli("bench", "check", found(1, 1, source="goods"), "--seed", 3)
        assert (done.code, done.out) == (0, f"the data: goods of seed 3\n1/1 {SOLVED}\n")

    def test_what_the_options_make_unwinnable_is_no_fault(self, cli, found):
        assert cli("bench", "check", found(1, 3, ["x"], unwinnable=2)).code == 0
        assert cli("bench", "check", found(1, 3, ["x"], unwinnable=1)).code == 1

    def test_options_may_be_named_as_in_a_recipe(self, cli, found):
        words = ("-c", "benchmark.data=DIR", "--upstream-colors")
        assert cli("bench", "check", found(0, 0), *words).out.splitlines() == ["DIR", "True", f"0/0 {SOLVED}"]

    def test_data_is_an_option(self, cli, found):
        name = found(0, 0)
        for words in (("--data", "DIR"), ("-c", "data=DIR")):
            assert cli("bench", "check", name, *words).out.splitlines() == ["DIR", f"0/0 {SOLVED}"]

    def test_alfworld(self, cli, folder, monkeypatch):
        monkeypatch.delenv("ALFWORLD_DATA", raising=False)
        monkeypatch.setenv("SEASONED_CACHE", str(folder))
        done = cli("bench", "check", "alfworld")
        assert (done.code, done.out) == (1, "")
        assert "`seasoned bench install alfworld`" in done.err
        (folder / "game.tw-pddl").write_text("{", encoding="utf-8")
        done = cli("bench", "check", "alfworld", "--data", folder, "-c", f"python={sys.executable}")
        assert done.code == 1
        assert done.out.splitlines()[-1] == f"0/1 {SOLVED}"
        assert "game.tw-pddl is not a game" in done.out


def test_install(cli, monkeypatch):
    given = {}

    def make(name, *, progress, python):
        progress("Collecting things")
        given.update(name=name, python=python)
        return "/there/bin/python"

    monkeypatch.setattr("seasoned.lab.benchmarks.install.install", make)
    done = cli("bench", "install", "alfworld")
    assert (done.code, done.out) == (0, "/there/bin/python\n")
    assert "Collecting things" in done.err
    assert given == {"name": "alfworld", "python": sys.executable}
    cli("bench", "install", "alfworld", "--python", "python9")
    assert given["python"] == "python9"
    assert cli("bench", "install", "tau2", "--json").json == {"benchmark": "tau2", "python": "/there/bin/python"}


def test_install_of_what_needs_none(cli):
    done = cli("bench", "install", "emoji")
    assert (done.code, done.out) == (1, "")
    assert "alfworld" in done.err


def test_generate(cli, folder, monkeypatch):
    def make(games, seed, out, *, python, progress):
        for n in range(games):
            progress(n + 1, games)
        assert (seed, python) == (1, None)
        return [out / f"{n}" for n in range(games)]

    monkeypatch.setattr("seasoned.lab.benchmarks.alfworld.games.generate", make)
    done = cli("bench", "generate", "alfworld", "--games", 12, "--seed", 1, "--out", "games")
    assert (done.code, done.out) == (0, "12 games in games\n")
    assert done.err.splitlines() == ["10 of 12 games", "12 of 12 games"]
    told = cli("bench", "generate", "alfworld", "--games", 3, "--seed", 1, "--out", "games", "--json").json
    assert told == {"folder": "games", "games": 3}
    done = cli("bench", "generate", "emoji", "--out", "games")
    assert done.code == 1
    assert "alfworld" in done.err


def test_attacks_are_tried_and_counted(cli, monkeypatch):
    done = cli("bench", "attack", "emoji", "--defence", "on", "--defence", "off", "--json")
    assert done.code == 0
    assert {name: each["succeeded"] for name, each in done.json["defences"].items()} == {"off": 8, "on": 0}
    assert len(done.json["each"]) == 2 * done.json["attacks"] == 16
    monkeypatch.setattr("seasoned.lab.attacks.attack_all", lambda *given: [])
    monkeypatch.setattr("seasoned.lab.attacks.summary", lambda tried: COUNTED)
    said = cli("bench", "attack", "emoji", "--defence", "on").out
    assert said == "8 attacks, of which the patterns flag 3; model: gullible\non        1 of 8 succeed\n"
    assert "a defence is one of clean, off, patterns, on" in cli("bench", "attack", "--defence", "maybe").err
    assert "and none on 'moon'" in cli("bench", "attack", "moon").err
