import asyncio
import subprocess
import sys
import threading
import time

import pytest

from seasoned.errors import ConfigError, ContractError, StoreError
from seasoned.memory import Memory
from seasoned.memory.attempt import Attempt, close_open
from seasoned.methods.expnote import ExpNote
from seasoned.types import Guidance, Lesson, Step, Task

TASK = Task(id="t", text="refund order 17")
LEFT_OPEN = """
import sys
from seasoned import Memory
memory = Memory(sys.argv[1], method="expnote", embedder=None)
attempt = memory.attempt("left open")
attempt.step(action="a")
"""


class Kept:
    """Keeps what it is given, or fails."""

    def __init__(self):
        self.made, self.asked, self.error = [], [], None

    def __call__(self, trajectory, ask):
        if self.error:
            raise self.error
        self.made.append(trajectory)
        self.asked.append(ask)
        return trajectory


@pytest.fixture
def kept():
    keep = Kept()
    yield keep
    keep.error = None
    close_open(keep)


def quick():
    return Guidance(text="be quick")


def begin(kept, **more):
    return Attempt(TASK, quick, kept, **more)


def test_a_block_without_an_outcome_is_kept_as_unknown(kept):
    with begin(kept, agent="shop", drawn=lambda: {"trial": 2}) as attempt:
        attempt.step(action="look()")
    [made] = kept.made
    assert (made.outcome.success, made.outcome.reason, made.outcome.detail) == (None, "unfinished", "")
    assert (made.steps, made.guidance, made.agent, made.meta) == (
        (Step(action="look()"),),
        "be quick",
        "shop",
        {"trial": 2},
    )
    assert kept.asked == [False]
    assert made.id == attempt.id


@pytest.mark.parametrize("error", [ValueError("no 17"), KeyboardInterrupt(), GeneratorExit()])
def test_an_error_in_the_block_is_kept_and_goes_on(kept, error):
    attempt = begin(kept)
    attempt.step(action="look()")
    with pytest.raises(type(error)), attempt:
        raise error
    [made] = kept.made
    assert (made.outcome.success, made.outcome.reason) == (None, "unfinished")
    assert made.outcome.detail == f"ended by {type(error).__name__}"
    assert len(made.steps) == 1


def test_an_error_after_the_outcome_changes_nothing(kept):
    attempt = begin(kept)
    attempt.finish(True)
    with pytest.raises(ValueError, match="late"), attempt:
        raise ValueError("late")
    assert [made.outcome.success for made in kept.made] == [True]


def test_the_users_error_is_not_hidden_by_the_stores(kept):
    kept.error = StoreError("the disk is full")
    with pytest.raises(ValueError, match="no 17") as caught, begin(kept):
        raise ValueError("no 17")
    assert caught.value.__notes__ == ["The attempt could not be stored either: the disk is full"]
    with pytest.raises(StoreError, match="disk is full"), begin(kept):
        pass


@pytest.mark.parametrize(
    ("given", "success", "reward"),
    [(True, True, 1.0), (False, False, 0.0), (None, None, None), (1, True, 1.0), (0.7, False, 0.7), (-3, False, -3.0)],
)
def test_outcomes(kept, given, success, reward):
    for answer, reason in (("a", "answered"), ("", "reported")):
        made = begin(kept).finish(given, answer=answer)
        assert (made.outcome.success, made.outcome.reward, made.outcome.reason) == (success, reward, reason)
    assert kept.asked == [True, True]


def test_rewards_of_numpy_are_rewards(kept):
    np = pytest.importorskip("numpy")
    assert begin(kept).finish(np.float32(1.0)).outcome.success is True
    assert begin(kept).finish(np.bool_(False)).outcome.success is False


@pytest.mark.parametrize("given", ["yes", b"1", float("nan"), float("inf"), object(), [1], 10**400])
def test_an_outcome_that_is_none_loses_nothing(kept, given):
    attempt = begin(kept)
    attempt.step(action="a")
    with pytest.raises(ConfigError, match="True, False, None or a finite reward"):
        attempt.finish(given)
    assert len(attempt.finish(True).steps) == 1


def test_what_comes_after_the_end_is_refused_and_the_first_outcome_stays(kept):
    with begin(kept) as attempt:
        attempt.step(action="a")
        first = attempt.finish(True)
        for what, act in (
            ("an outcome", lambda: attempt.finish(False)),
            ("a step", lambda: attempt.step(action="b")),
            ("messages", lambda: attempt.messages([{"role": "user", "content": "x"}])),
        ):
            words = f"{what} came too late: the attempt at 'refund order 17' was finished already, .* as {first.id}"
            with pytest.raises(ContractError, match=words):
                act()
    assert kept.made == [first]
    assert repr(attempt) == "Attempt('refund order 17', finished)"


def test_a_store_that_fails_leaves_the_attempt_open(kept):
    attempt = begin(kept)
    attempt.step(action="a")
    kept.error = StoreError("the disk is full")
    with pytest.raises(StoreError):
        attempt.finish(True)
    kept.error = None
    attempt.step(action="b")
    assert [step.action for step in attempt.finish(True).steps] == ["a", "b"]


def test_steps_take_anything_as_text(kept):
    attempt = begin(kept)
    attempt.step(17, {"status": "shipped"}, None, reward=1)
    assert attempt.finish().steps == (Step(action="17", observation="{'status': 'shipped'}", thought="None", reward=1),)
    with pytest.raises(ConfigError, match="the reward of a step"):
        begin(kept).step(reward="much")


def test_asking_again_on_the_way(kept):
    asked = []

    def ask(progress):
        asked.append([step.action for step in progress.steps])
        lesson = Lesson(id=f"les-{len(progress.steps)}", kind="guideline", text="x")
        return Guidance(lessons=(lesson,), text="look first" if len(progress.steps) < 2 else "")

    attempt = Attempt(TASK, quick, kept, ask)
    attempt.step(action="a")
    assert attempt.advise().text == attempt.advise().text == "look first"
    attempt.step(action="b")
    assert attempt.advise().text == ""
    made = attempt.finish()
    assert (made.guidance, made.lesson_ids) == ("be quick\n\nlook first", ("les-1", "les-2"))
    assert asked == [["a"], ["a"], ["a", "b"]]
    with pytest.raises(ContractError, match="a question came too late"):
        attempt.advise()
    assert begin(kept).advise() == Guidance()


def test_what_is_in_force_keeps_to_the_cap_and_all_of_it_is_kept(kept):
    answers = iter([Guidance(text=f"rule {n} {'x' * 50}") for n in range(20)])
    attempt = Attempt(TASK, quick, kept, lambda progress: next(answers), cap=70)
    for n in range(20):
        attempt.advise()
        assert attempt.guidance.text == f"be quick\n\nrule {n} {'x' * 50}"
    tight = Attempt(TASK, quick, kept, lambda progress: Guidance(text="y" * 60), cap=65)
    tight.advise()
    assert tight.guidance.text == "y" * 60
    silent = Attempt(TASK, quick, kept, lambda progress: Guidance(), cap=5)
    silent.advise()
    assert silent.guidance.text == "be quick"
    told = attempt.finish().guidance
    assert all(f"rule {n} " in told for n in range(20))


CHAT = [
    {"role": "user", "content": "Where is order 17?"},
    {"role": "assistant", "content": "Let me look."},
]


def test_messages_give_the_steps_unless_there_are_some(kept):
    attempt = begin(kept)
    attempt.messages(CHAT)
    made = attempt.finish()
    assert [m["content"] for m in made.messages] == ["Where is order 17?", "Let me look."]
    assert [s.action for s in made.steps] == ["Let me look."]
    attempt = begin(kept)
    attempt.step(action="own")
    attempt.messages(CHAT)
    made = attempt.finish()
    assert [s.action for s in made.steps] == ["own"]
    assert len(made.messages) == 2


def test_a_conversation_that_grew_is_kept_once(kept):
    attempt = begin(kept)
    attempt.messages(CHAT)
    attempt.messages([*CHAT, {"role": "user", "content": "Thanks."}])
    attempt.messages([{"role": "user", "content": "Another."}, 17])
    made = attempt.finish()
    assert [m["content"] for m in made.messages] == ["Where is order 17?", "Let me look.", "Thanks.", "Another."]
    assert len(made.steps) == 1
    assert made.meta == {"trial": 0, "broken_messages": 1}


def test_those_left_open_are_kept_by_whoever_closes(kept):
    other = Kept()
    mine, others = begin(kept), begin(other)
    close_open(kept)
    assert len(kept.made) == 1
    assert other.made == []
    with pytest.raises(ContractError):
        mine.finish(True)
    others.finish(True)
    close_open(other)
    assert len(other.made) == 1


def test_a_program_that_ends_keeps_what_it_left_open(path, opened):
    subprocess.run([sys.executable, "-c", LEFT_OPEN, str(path)], check=True)
    [made] = opened().pool.trajectories()
    assert (made.task, made.outcome.reason, made.outcome.detail) == ("left open", "unfinished", "never finished")


def test_guidance_is_asked_for_once_and_before_anything_is_done(kept):
    asked = []

    def first():
        asked.append(repr(attempt))
        return Guidance(text="be quick")

    attempt = Attempt(TASK, first, kept)
    assert asked == []
    attempt.step("look")
    assert attempt.guidance.text == attempt.finish(True).guidance == "be quick"
    assert asked == ["Attempt('refund order 17', 0 steps)"]


def test_an_attempt_that_nobody_began_is_shown_nothing(kept):
    Attempt(TASK, lambda: 1 / 0, kept)
    close_open(kept)
    assert [(t.guidance, t.outcome.detail) for t in kept.made] == [("", "never finished")]


def test_in_coroutines_it_is_recalled_and_stored_beside_the_loop(tmp_path):
    threads = set()

    class Slow(ExpNote):
        def recall(self, task, pool, progress=None):
            threads.add(threading.current_thread().name)
            time.sleep(0.05)
            return Guidance(text="be quick")

    async def one(memory, number):
        async with memory.attempt(f"task {number}") as attempt:
            assert attempt.guidance.text
            attempt.step("look")
            if number == 3:
                raise KeyError(number)

    async def tick(ticks):
        while True:
            await asyncio.sleep(0.005)
            ticks.append(1)

    async def many(memory):
        ticks = []
        ticking = asyncio.create_task(tick(ticks))
        ended = await asyncio.gather(*(one(memory, number) for number in range(4)), return_exceptions=True)
        ticking.cancel()
        assert [type(each) for each in ended] == [type(None)] * 3 + [KeyError]
        assert len(ticks) > 3  # the loop went on meanwhile

    with Memory(tmp_path / "m.db", method=Slow(), embedder="hashing") as memory:
        asyncio.run(many(memory))
        found = {t.task: t for t in memory.pool.trajectories()}
    assert len(found) == 4
    assert found["task 3"].outcome.detail == "ended by KeyError"
    assert all(name.startswith("seasoned-beside") for name in threads)
