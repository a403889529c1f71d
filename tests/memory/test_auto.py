"""Learning that nobody asks for: in the background, debounced, within a budget, flushed at the end."""

import subprocess
import sys
import threading
import time

import pytest

from seasoned.errors import BudgetExceeded, ConfigError, InfrastructureError
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import auto
from seasoned.memory.auto import Background, DayBudget
from seasoned.types import Reply, Usage

HEURISTIC = {"analysis": "It was closed.", "trigger": "a door is closed", "action": "open it first"}
VERDICT = {"reason": "It was not done.", "done": False}


def say_either(messages):
    judging = "look back" not in str(messages[0])
    return VERDICT if judging else HEURISTIC


def tried(memory, task="go out", success=False):
    with memory.attempt(task) as attempt:
        attempt.step(action="go", observation="it did not work")
        return attempt.finish(success)


class Priced:
    """A model that says what each call took."""

    name = "priced"

    def __init__(self, tokens, cost=0.0):
        self.requests, self.usage = [], Usage(prompt_tokens=tokens, calls=1, cost=cost)

    def chat(self, messages, **options):
        self.requests.append(messages)
        return Reply(text="", parsed=HEURISTIC, usage=self.usage)


def wait_for(done, seconds=20.0):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(auto.Background.__init__, "__kwdefaults__", {"quiet": 0.02, "longest": 0.2})


def test_it_learns_by_itself_and_never_on_the_callers_thread(opened, quick):
    threads = []

    def say(messages):
        threads.append(threading.current_thread().name)
        return say_either(messages)

    memory = opened("erl", llm=ScriptedModel(say))
    tried(memory)
    wait_for(memory.lessons)
    assert set(threads) == {"seasoned-auto-learning"}
    wait_for(lambda: memory._auto._thread is None)  # no thread waits where there is nothing to learn


def test_what_waits_when_it_closes_is_learned_before(opened):
    memory = opened("erl", llm=ScriptedModel(say_either))
    tried(memory)
    assert memory.lessons() == []
    memory.close()
    assert len(opened("erl").lessons()) == 1


def test_by_hand_it_is_as_it_was(opened):
    model = ScriptedModel([])
    memory = opened("erl", llm=model, learn="manual")
    tried(memory)
    memory.close()
    assert model.requests == []


def test_an_unknown_outcome_is_judged_in_the_background_with_both_verdicts_kept(opened):
    memory = opened("erl", llm=ScriptedModel(say_either))
    made = tried(memory, success=None)
    assert made.outcome.success is None
    memory.close()
    known = opened("erl").store.get_trajectory(made.id)
    assert (known.outcome.success, known.meta["judged"]["done"]) == (False, False)
    assert [(each["success"], each["who"]) for each in known.meta["verdicts"]] == [(None, "agent"), (False, "model")]
    assert len(opened("erl").lessons()) == 1


def test_the_budget_of_a_day_is_kept_by_all_programs(opened):
    model = Priced(60)
    memory = opened("erl", llm=model, judge=False, learn_budget=100)
    for n in range(4):
        tried(memory, task=f"go out {n}")
    memory.close()
    assert len(model.requests) == 2
    again = opened("erl", llm=model, judge=False, learn_budget=100)
    tried(again, task="go out 9")
    again.close()
    assert len(model.requests) == 2
    by_hand = opened("erl", llm=model, learn="manual")
    assert by_hand.to_learn().spent_today.tokens == 120
    assert by_hand.learn().trajectories == 3


def test_dollars_are_no_limit_where_the_price_is_unknown_so_it_stops(opened, caplog):
    model = Priced(60, None)
    memory = opened("erl", llm=model, judge=False, learn_budget="$0.50")
    with caplog.at_level("INFO"):
        for n in range(3):
            tried(memory, task=f"go out {n}")
        memory.close()
    assert len(model.requests) == 1
    assert "the price of the model is unknown" in caplog.text


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("$0.50", DayBudget(None, 0.5)),
        ("$ .5", DayBudget(None, 0.5)),
        ("200k tokens", DayBudget(200_000)),
        ("1_000_000", DayBudget(1_000_000)),
        (5, DayBudget(5)),
        (None, DayBudget(None)),
    ],
)
def test_budgets(given, read):
    assert DayBudget.read(given) == read


@pytest.mark.parametrize("given", ["much", "", "-1", -1, True, 0.5, "$", "1 EUR"])
def test_what_is_no_budget(opened, given):
    with pytest.raises(ConfigError, match="learn_budget must be"):
        opened(learn_budget=given)


def test_learn_is_auto_or_manual(opened):
    with pytest.raises(ConfigError, match="learn must be 'auto' or 'manual'"):
        opened(learn="sometimes")


def test_an_estimate_before_and_after_the_first_call(opened):
    model = Priced(80, 0.01)
    memory = opened("erl", llm=model, learn="manual")
    for _ in range(3):
        tried(memory)
    tried(memory, task="stay")
    tried(memory, task="unknown", success=None)
    plan = memory.to_learn()
    assert (plan.attempts, plan.calls, plan.tokens) == (5, 3, 4500)
    memory.learn()
    tried(memory, task="another")
    plan = memory.to_learn()
    assert (plan.attempts, plan.calls, plan.tokens, plan.cost) == (1, 1, 80, 0.01)
    assert plan.waiting == {"no outcome is known": 1}
    assert str(plan) == "1 attempt to learn from: 1 call of priced, about 80 tokens, about $0.0100"


def test_an_error_is_logged_and_tried_again_with_the_next_attempt(opened, caplog, quick):
    replies = iter([InfrastructureError("the server is down"), HEURISTIC, {**HEURISTIC, "trigger": "it is dark"}])
    memory = opened("erl", llm=ScriptedModel(lambda _: next(replies)), judge=False)
    tried(memory)
    wait_for(lambda: "the server is down" in caplog.text)
    tried(memory, task="stay in")
    wait_for(lambda: len(memory.lessons()) == 2)


def test_it_waits_until_it_is_quiet_but_not_for_ever():
    done = []
    work = Background(lambda: done.append(time.monotonic()), quiet=0.2, longest=0.6)
    began = time.monotonic()
    while time.monotonic() < began + 0.5:
        work.poke()
        assert done == []
        time.sleep(0.02)
    while time.monotonic() < began + 1.0:
        work.poke()
        time.sleep(0.02)
    work.flush()
    assert 1 <= len(done) <= 3


def test_what_was_done_by_hand_is_not_done_again():
    done = []
    work = Background(lambda: done.append(1), quiet=60)
    work.poke()
    work.done()
    work.flush()
    assert done == []


def test_an_error_of_any_kind_ends_no_thread_badly():
    work = Background(lambda: 1 / 0, quiet=0)
    work.poke()
    work.flush()
    work = Background(lambda: (_ for _ in ()).throw(BudgetExceeded("no more", "run")), quiet=0)
    work.poke()
    work.flush()


def test_a_program_that_ends_without_closing_learns_first(path):
    program = """
import sys
from seasoned import Memory, ScriptedModel
said = {"analysis": "It was closed.", "trigger": "a door is closed", "action": "open it first"}
memory = Memory(sys.argv[1], llm=ScriptedModel(lambda _: said), embedder=None, judge=False)
with memory.attempt("go out") as attempt:
    attempt.finish(False)
"""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)
    from seasoned.memory import Memory

    with Memory(path, embedder=None) as memory:
        assert len(memory.lessons()) == 1
    assert time.monotonic() - began < 60
