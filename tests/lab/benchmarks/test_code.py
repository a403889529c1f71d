"""The environment of programs, and what a program may try against its judge."""

import pytest

from seasoned import Task
from seasoned.contracts import check_environment
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.benchmarks.code import CodeEnvironment, judged, program_task, same, shared_sandbox
from seasoned.sandbox import Library

pytestmark = pytest.mark.usefixtures("walls")


@pytest.fixture(scope="module")
def library():
    return load_benchmark("library", {"tasks": 20}, 1)


def test_it_keeps_the_contract(library):
    check_environment(lambda: library.make_env(False), library.train[0], actions=[library.train[0].data["naive"]])


def test_a_draft_with_an_error_may_be_written_again(library):
    env, task = library.make_env(True), next(t for t in library.train if "expected" not in t.text)
    env.reset(task)
    observation, _, over, _, info = env.step("def solve(*a):\n    return nothing")
    assert "NameError" in observation
    assert "(line 2: return nothing)" in observation
    assert not over
    observation, reward, over, _, info = env.step(task.data["answer"])
    assert (observation, reward, over, info["success"]) == ("Right.", 1.0, True, True)
    assert info["calls"][0]["library"] == library.libraries[0].name


def test_in_training_the_verdict_says_what_would_be_right_and_in_testing_nothing(library):
    task = library.train[0]
    wrong = "def solve(*a):\n    return 'nonsense'"
    for reveal in (True, False):
        env = library.make_env(reveal)
        env.reset(task)
        observation, _, over, _, info = env.step(wrong)
        assert (over, info["success"]) == (True, False)
        assert (task.data["answers"][0] in observation) is reveal
        assert task.data["answers"][0] in info["verdict"]


def test_probes_are_run_and_counted(library):
    env = library.make_env(False)
    env.reset(library.train[0])
    assert env.step(">>> x = 2\n>>> x * 21")[0] == "42"
    assert env.step(">>> 1")[0] == "No more probes: write the function."


@pytest.mark.parametrize(
    "program",
    [
        "",
        "def other():\n    pass",
        "while True:\n    pass",
        "import os\nos._exit(0)",
        "raise SystemExit(0)",
        "def solve(*a):\n    return type('Yes', (), {'__eq__': lambda s, o: True})()",
        "def solve(*a):\n    return solve(*a)",
        "import nowhere",
        "print('x' * 10 ** 9)",
    ],
)
def test_a_program_that_fails_in_whatever_way_is_wrong(library, program):
    sandbox = shared_sandbox(library.libraries[0], False)
    verdict = judged(sandbox, library.train[0], program)
    assert not verdict.right
    assert verdict.says


def test_drafts_are_run_on_tests_of_the_agents_own():
    task = program_task("t", "def f(x):\n    'One more.'\n", "f", hidden=["assert f(1) == 2"], visible=[])
    env = CodeEnvironment((Library(),), False, drafts=2, probes=0, unsafe=False)
    env.reset(task)
    assert env.step("assert f(1) == 2\nassert f(\n")[2:4] == (False, False)
    observation, _, over, _, _ = env.step("def f(x):\n    return x")
    assert "`assert f(1) == 2` fails: AssertionError (f(1) gave 1)" in observation
    assert not over
    assert env.step("def f(x):\n    return x + 1")[4]["success"]
    env.reset(task)  # wrong tests do not make a right program wrong
    env.step("assert f(1) == 5")
    env.step("def f(x):\n    return x + 1")
    assert env.step("def f(x):\n    return x + 1")[4]["success"]


def test_answers_are_compared_as_values():
    assert same("37", "37.0")
    assert same("{'a', 'b'}", "{'b', 'a'}")
    assert not same("True", "1")
    assert not same("[(2, True)]", "[(2, 1)]")
    assert not same("{'a': {True: 0}}", "{'a': {1: 0}}")
    assert same("{'a': [True, 1.0]}", "{'a': [True, 1]}")
    assert not same("<object>", "1")


def test_hidden_tests_judge_a_whole_function():
    task = program_task("t", "def f(x):\n    ''' '''\n", "f", hidden=["assert f(1) == 2"], visible=[])
    sandbox = shared_sandbox(Library(), False)
    assert judged(sandbox, task, "def f(x):\n    return x + 1").right
    assert "fails: AssertionError (f(1) gave 1)" in judged(sandbox, task, "def f(x):\n    return x").says
    assert isinstance(task, Task)
