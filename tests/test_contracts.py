from functools import partial

import numpy as np
import pytest

from seasoned.contracts import check_embedder, check_environment, check_llm
from seasoned.errors import AuthError, ContractError
from seasoned.lab.benchmarks.answer import AnswerEnvironment, Scored
from seasoned.types import Reply, Task, ToolCall, Usage

PAID = Usage(calls=1, prompt_tokens=5)


class Model:
    """Keeps the contract of LLM; the tests break one clause at a time."""

    name = "good"

    def chat(self, messages, *, schema=None, stop=None, max_tokens=None, temperature=0.0):
        if schema is None:
            return Reply(text="y" if stop else "yes", usage=PAID)
        return Reply(text="..", parsed="yes" if "enum" in schema else {"word": "yes"}, usage=PAID)


class Caller(Model):
    """Keeps the contract of LLM with tools."""

    def chat(self, messages, *, tools=None, tool_choice="auto", **options):
        if not tools:
            return super().chat(messages, **options)
        return Reply(text="", calls=[ToolCall(name="answer", arguments={"word": "yes"})], usage=PAID)


class Rows:
    """Keeps the contract of Embedder."""

    name, dim = "good", 8

    def embed(self, texts):
        rows = np.array([[1 + text.count(letter) for letter in "abcdehrl"] for text in texts], dtype=np.float32)
        rows = rows.reshape(len(texts), 8)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(texts) else rows


class Room:
    """Keeps the contract of Environment: ends at the third step."""

    def reset(self, task, *, seed=None):
        self.steps = 0
        return task.text, {}

    def step(self, action):
        self.steps += 1
        return f"you said {action[:9]}", 0.0, self.steps == 3, False, {"success": False} if self.steps == 3 else {}

    def close(self):
        pass


def test_who_keeps_the_contracts_passes():
    check_llm(Model())
    check_llm(Caller())
    check_embedder(Rows())
    check_environment(Room)
    check_environment(broken(Room, step=stepping("a", 0.0, True, False, {"success": None})))
    check_environment(broken(Room, step=stepping("a", 0.0, False, True, {})))
    answered = AnswerEnvironment, lambda text, data: Scored(text, False), True, 7
    check_environment(partial(*answered), actions=["ANSWER[a]", "NOTE[b]: c", "END"])  # success comes before the end
    check_environment(Room, Task(id="t", text="find it"), actions=["look", "go"], steps=2)


def broken(kind, **changes):
    return type("Broken", (kind,), changes)


def replying(**changes):
    def chat(self, messages, *, schema=None, **options):
        return Model.chat(self, messages, schema=schema, **options).model_copy(update=changes)

    return chat


def changing(self, messages, **options):
    if isinstance(messages, list):
        messages[0]["content"] += "!"
    return Model.chat(self, messages, **options)


def raising(error):
    def method(*args, **options):
        raise error

    return method


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"name": ""}, "name must be a text"),
        ({"name": 5}, "name must be a text"),
        ({"chat": None}, "method chat"),
        ({"chat": lambda self, messages, **options: "yes"}, "must return a seasoned.types.Reply; it returned str"),
        ({"chat": lambda self, messages: Reply(text="yes", usage=PAID)}, "it raised TypeError"),
        ({"chat": raising(KeyError("x"))}, "it raised KeyError"),
        ({"chat": replying(usage=Usage())}, "must count itself"),
        ({"chat": replying(usage=Usage(calls=1, prompt_tokens=-1))}, "from 0 up"),
        ({"chat": replying(usage=Usage(calls=1, cached_tokens=1))}, "part of prompt_tokens"),
        ({"chat": replying(usage=Usage(calls=1, cost=-1.0))}, "dollars"),
        ({"chat": replying(text="yes")}, "stop sequence"),
        ({"chat": replying(parsed=None)}, "satisfies the schema"),
        ({"chat": replying(parsed="yes")}, "an object that satisfies"),
        ({"chat": changing}, "must not change the messages"),
    ],
)
def test_a_broken_llm_is_told_which_clause(changes, clause):
    with pytest.raises(ContractError, match=clause):
        check_llm(broken(Model, **changes)())


def test_errors_of_the_tree_come_through():
    with pytest.raises(AuthError):
        check_llm(broken(Model, chat=raising(AuthError("no key")))())


def test_no_llm_at_all():
    with pytest.raises(ContractError, match="object must have a name and a method chat"):
        check_llm(object())


def mapped(change):
    return lambda self, texts: change(Rows.embed(self, texts), texts)


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"name": ""}, "name must be"),
        ({"dim": 0}, "positive whole number"),
        ({"dim": 9}, "one row of 9 per text"),
        ({"embed": mapped(lambda rows, texts: rows.tolist())}, "numpy array; it was 'list'"),
        ({"embed": mapped(lambda rows, texts: rows.astype(np.float64))}, "float32"),
        ({"embed": mapped(lambda rows, texts: rows * 2)}, "length 1"),
        ({"embed": mapped(lambda rows, texts: rows * (1 if "" in texts else 2))}, "length 1"),
        ({"embed": mapped(lambda rows, texts: rows * np.float32("nan"))}, "finite"),
        ({"embed": mapped(lambda rows, texts: rows[:1])}, "per text"),
        ({"embed": mapped(lambda rows, texts: np.roll(rows, len(texts), axis=1))}, "in any batch"),
        ({"embed": mapped(lambda rows, texts: np.eye(8, dtype=np.float32)[[0] * len(texts)])}, "different rows"),
        ({"embed": raising(ValueError("empty"))}, "it raised ValueError: empty"),
        ({"embed": None}, "method embed"),
    ],
)
def test_a_broken_embedder_is_told_which_clause(changes, clause):
    with pytest.raises(ContractError, match=clause):
        check_embedder(broken(Rows, **changes)())


def test_an_empty_text_may_give_zeros():
    def embed(self, texts):
        return Rows.embed(self, texts) * np.array([[float(text != "")] for text in texts], dtype=np.float32).reshape(
            -1, 1
        )

    check_embedder(broken(Rows, embed=embed)())


def stepping(*changed):
    """A step that returns these in place of the first of the good five values."""

    def step(self, action):
        good = Room.step(self, action)
        return (*changed, *good[len(changed) :])

    return step


class Forgetful(Room):
    """Does not begin anew."""

    def __init__(self):
        self.steps = 0

    def reset(self, task, *, seed=None):
        return task.text, {}


class Moody(Room):
    """Goes differently each time."""

    made = 0

    def __init__(self):
        Moody.made += 1
        self.mood = Moody.made

    def reset(self, task, *, seed=None):
        super().reset(task)
        return f"mood {self.mood}", {}


class Once(Room):
    """Cannot be closed twice."""

    open = True

    def close(self):
        if not self.open:
            raise RuntimeError("closed already")
        self.open = False


@pytest.mark.parametrize(
    ("make", "clause"),
    [
        (broken(Room, close=None), "methods reset, step and close"),
        (broken(Room, reset=lambda self, task, *, seed=None: "hello"), r"return \(observation, info\)"),
        (broken(Room, reset=lambda self, task, *, seed=None: (1, {})), "observation as text"),
        (broken(Room, reset=lambda self, task, *, seed=None: ("a", None)), "info as a dict"),
        (broken(Room, reset=lambda self, task: ("a", {})), "it raised TypeError"),
        (broken(Room, step=lambda self, action: ("a", 0.0, False, {})), "terminated, truncated, info"),
        (broken(Room, step=stepping(None)), "observation as text"),
        (broken(Room, step=stepping("a", "1")), "reward as a finite number"),
        (broken(Room, step=stepping("a", float("nan"))), "reward as a finite number"),
        (broken(Room, step=stepping("a", True)), "reward as a finite number"),
        (broken(Room, step=stepping("a", 1, 0)), "terminated as a bool"),
        (broken(Room, step=stepping("a", 1, False, None)), "truncated as a bool"),
        (broken(Room, step=stepping("a", 1, False, False, [])), "info as a dict"),
        (broken(Room, step=stepping("a", 1.0, True, False, {})), r"must return info.*; it was {}"),
        (broken(Room, step=stepping("a", 1.0, False, True, {"success": 1})), "must return info"),
        (broken(Room, step=lambda self, action: ["go"].index(action)), "it raised ValueError"),
        (Forgetful, "start over"),
        (Moody, "the same observations"),
        (Once, "close must raise only"),
    ],
)
def test_a_broken_environment_is_told_which_clause(make, clause):
    with pytest.raises(ContractError, match=clause):
        check_environment(make)


def test_an_environment_instead_of_what_makes_one_is_told():
    with pytest.raises(ContractError, match="takes a function or class that makes environments"):
        check_environment(Room())


def test_one_environment_for_all_is_refused():
    room = Room()
    with pytest.raises(ContractError, match="fresh environment"):
        check_environment(lambda: room)


def test_a_model_that_takes_tools_has_to_call_them():
    class Mute(Caller):
        def chat(self, messages, *, tools=None, tool_choice="auto", **options):
            return Model.chat(self, messages, **options)

    with pytest.raises(ContractError, match="must return in `calls` a call of the tool"):
        check_llm(Mute())


def test_tools_that_an_environment_offers_have_a_form():
    class Offering(Room):
        def reset(self, task, *, seed=None):
            return super().reset(task)[0], {"tools": [{"name": "open"}]}

    with pytest.raises(ContractError, match=r"info\['tools'\] a list of dicts"):
        check_environment(Offering)
