"""Plain functions, synchronous and not."""

import asyncio
import functools

import pytest
from bare_steps import did

from seasoned.adapters.decorator import remembering
from seasoned.errors import ConfigError


def test_a_function_is_given_guidance_and_its_call_is_kept(taught, kept, rule):
    seen = []

    @remembering(taught, check=lambda task, answer: answer == "refused")
    def refund(order, fast=False, *, guidance=""):
        """Refunds."""
        seen.append(guidance)
        return "refused"

    assert refund(17, fast=True) == "refused"
    assert rule in seen[0]
    assert refund.__doc__ == "Refunds."
    [found] = kept()
    assert found.task == "refund(order=17, fast=True)"
    assert did(found) == [("refund(order=17, fast=True)", "refused")]
    assert (found.agent, found.outcome.success, found.guidance) == ("refund", True, seen[0])
    assert found.lesson_ids


def test_nothing_recalled_is_nothing_added_and_what_is_passed_stays(memory):
    seen = []

    @remembering(memory)
    def solve(task, guidance="none"):
        seen.append(guidance)

    solve("a")
    solve("a", guidance="mine")
    solve("a", "mine too")
    assert seen == ["", "mine", "mine too"]


def test_a_text_alone_is_the_task(memory, kept):
    remembering(memory)(lambda words: words)("refund order 17")
    remembering(memory, task=lambda order: f"refund order {order}")(lambda order: order)(18)
    assert [t.task for t in kept()] == ["refund order 17", "refund order 18"]
    assert [t.outcome.success for t in kept()] == [None, None]


def test_a_function_may_record_its_own_steps(memory, kept):
    @remembering(memory)
    def solve(task, *, attempt):
        attempt.step(action="look", observation="shipped")
        attempt.finish(success=False, answer="no")
        return "no"

    assert solve("a") == "no"
    [found] = kept()
    assert [s.action for s in found.steps] == ["look"]
    assert found.outcome.success is False


def test_an_error_goes_on_and_is_kept(memory, kept):
    @remembering(memory, check=lambda task, answer: True)
    def solve(task):
        raise ValueError("no such order")

    with pytest.raises(ValueError, match="no such order"):
        solve("refund order 17")
    [found] = kept()
    assert found.steps[0].observation == "ValueError: no such order"
    assert (found.outcome.success, found.outcome.detail) == (None, "ended by ValueError")


def test_a_result_comes_back_where_it_cannot_be_recorded(memory, confused, lost):
    assert remembering(memory, check=confused)(lambda task: "receipt")("pay") == "receipt"
    assert lost()


def test_of_coroutine_functions_too(memory, confused, lost):
    @remembering(memory, check=confused)
    async def pay(task):
        return "receipt"

    assert asyncio.run(pay("pay")) == "receipt"
    assert lost()


def test_an_attempt_that_is_over_takes_no_result_and_no_error(memory, caplog):
    with memory.attempt("pay") as attempt:
        attempt.finish(success=True)
        assert remembering(attempt)(lambda task: "receipt")("pay") == "receipt"
        with pytest.raises(ZeroDivisionError):
            remembering(attempt)(lambda task: 1 / 0)("pay")
    assert ["ContractError" in sentence for sentence in caplog.messages] == [True, True]


def test_methods_of_classes_and_odd_values(memory, kept):
    class Mute:
        def __repr__(self):
            raise RuntimeError

    class Agent:
        @remembering(memory)
        def solve(self, task):
            return Mute()

        @remembering(memory)
        def take(self, what):
            return "ok"

    assert isinstance(Agent().solve("a"), Mute)
    assert Agent().take(Mute()) == "ok"
    assert [(t.task, t.steps[0].observation) for t in kept()] == [("a", "<Mute>"), ("take(what=<Mute>)", "ok")]


def test_calls_can_be_steps_of_one_attempt(memory, kept):
    with memory.attempt("two calls") as attempt:
        look = remembering(attempt)(lambda order: "shipped")
        look(order=17)
        look(order=18)
        attempt.finish(success=True)
    [found] = kept()
    assert [s.action for s in found.steps] == ["<lambda>(order=17)", "<lambda>(order=18)"]


def test_coroutine_functions(taught, kept, rule):
    @remembering(taught, check=lambda task, answer: 1.0)
    async def solve(task, guidance=""):
        await asyncio.sleep(0)
        if task == "bad":
            raise ValueError("bad")
        return guidance

    async def both():
        return await asyncio.gather(solve("good"), solve("bad"), return_exceptions=True)

    good, bad = asyncio.run(both())
    assert rule in good
    assert isinstance(bad, ValueError)
    assert {t.task: t.outcome.success for t in kept()} == {"good": True, "bad": None}


def test_a_plain_function_around_a_coroutine_is_awaited(memory, kept):
    async def solve(task):
        await asyncio.sleep(0)
        return "yes"

    class Solver:
        async def __call__(self, task):
            return "yes"

    for function in (functools.wraps(solve)(lambda task: solve(task)), Solver()):
        remembered = remembering(memory, check=lambda task, answer: answer == "yes")(function)
        assert asyncio.run(remembered("do it")) == "yes"
    assert [(t.outcome.success, t.outcome.answer) for t in kept()] == [(True, "yes")] * 2


def test_a_wrong_call_fails_as_it_would(memory, kept):
    @remembering(memory)
    def solve(task):
        pass

    with pytest.raises(TypeError, match="task"):
        solve()
    with pytest.raises(TypeError):
        solve("a", other=1)


def test_a_generator_is_refused(memory):
    with pytest.raises(ConfigError, match="generator"):

        @remembering(memory)
        def solve(task):
            yield task

    with pytest.raises(ConfigError, match="generator"):

        @remembering(memory)
        async def later(task):
            yield task
