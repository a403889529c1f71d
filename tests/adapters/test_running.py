"""What all adapters share."""

import asyncio
import sys
import threading
import time
from importlib import import_module

import pytest

from seasoned.adapters.running import Run, asked, checked, led
from seasoned.errors import ConfigError, MissingExtraError, StoreError
from seasoned.jobs import off_loop


def test_a_run_in_a_memory_is_an_attempt_of_its_own(taught, kept, rule):
    with Run(taught, "refund 17", check=lambda task, answer: (task, answer) == ("refund 17", 42), agent="a") as run:
        assert rule in run.guidance
        run.ended(42)
    [found] = kept()
    assert (found.task, found.agent, found.outcome.success, found.outcome.answer) == ("refund 17", "a", True, "42")


def test_a_run_in_an_attempt_leaves_it_open(memory, kept):
    with memory.attempt("refund 17") as attempt:
        with Run(attempt, "something else") as run:
            run.ended("done")
        assert kept() == []
        attempt.finish(success=0.5)
    assert [(t.task, t.outcome.success) for t in kept()] == [("refund 17", False)]


def test_an_outcome_is_unknown_where_nobody_says(memory, kept):
    with Run(memory, "a") as run:
        run.ended(None)
    with pytest.raises(KeyError), Run(memory, "b"):
        raise KeyError
    assert [t.outcome.success for t in kept()] == [None, None]
    assert [t.outcome.detail for t in kept()] == ["", "ended by KeyError"]


def test_what_was_finished_inside_stays(memory, kept):
    with Run(memory, "a", check=lambda task, answer: False) as run:
        run.attempt.finish(success=True)
        run.ended("x")
    assert [t.outcome.success for t in kept()] == [True]


def test_a_check_that_fails_goes_on_and_the_attempt_is_kept(memory, kept):
    with pytest.raises(ZeroDivisionError), Run(memory, "a", check=lambda task, answer: 1 / 0) as run:
        run.ended("x")
    assert [t.outcome.detail for t in kept()] == ["ended by ZeroDivisionError"]


def test_what_goes_wrong_once_the_agent_is_done_is_logged(memory, confused, lost):
    with Run(memory, "a", check=confused) as run:
        run.record(run.ended, "x")
    assert lost()


def test_a_store_that_fails_takes_no_result_and_no_error(memory, caplog, monkeypatch):
    def add_trajectories(*given):
        raise StoreError("the disk is full")

    with monkeypatch.context() as full, Run(memory, "a") as run:
        full.setattr(memory.store, "add_trajectories", add_trajectories)
        run.record(run.ended, "x")
        with pytest.raises(KeyError) as caught, run:
            raise KeyError("mine")
    assert [message.partition(": ")[2] for message in caplog.messages] == ["StoreError: the disk is full"]
    assert "could not be stored either" in caught.value.__notes__[0]


def test_a_run_that_nobody_ends_is_kept_as_unknown(memory, kept):
    with Run(memory, "a") as run:
        run.record(run.attempt.messages, [{"role": "user", "content": "wait"}])
    assert [t.outcome.success for t in kept()] == [None]


def test_what_is_no_memory_is_refused(memory):
    with pytest.raises(ConfigError, match=r"seasoned\.Memory"):
        checked("memory.db", None)
    with pytest.raises(ConfigError, match="function of the attempt"):
        checked(memory, True)
    with memory.attempt("a") as attempt, pytest.raises(ConfigError, match="finish this one"):
        checked(attempt, lambda task, answer: True)


@pytest.mark.parametrize(
    ("adapter", "module", "given"),
    [
        ("anthropic", "anthropic", [object()]),
        ("google_adk", "google.adk.plugins", []),
        ("langgraph", "langgraph.pregel", [object()]),
        ("openai_agents", "agents", []),
        ("pydantic_ai", "pydantic_ai.capabilities", []),
        ("smolagents", "smolagents", [object()]),
    ],
)
def test_without_its_framework_an_adapter_says_what_to_install(memory, monkeypatch, adapter, module, given):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"seasoned\[{adapter.replace('_', '-')}\]"):
        import_module(f"seasoned.adapters.{adapter}").remembering(memory, *given)


def test_the_task_is_what_the_user_said_last():
    said = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": [{"type": "text", "text": "second"}]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "third"},
    ]
    assert asked(said) == "second"
    assert asked([{"role": "system", "content": "only this"}]) == "only this"
    assert asked([]) == asked([object()]) == ""


def test_guidance_comes_after_instructions():
    assert led("Be kind.", "Look first.") == "Be kind.\n\nLook first."
    assert led("", "Look first.") == "Look first."
    assert led("Be kind.", "") == "Be kind."


def test_a_check_is_told_the_whole_attempt_and_may_say_why_not(memory, kept):
    def check(attempt):
        return "" if attempt.steps[0].observation == "shipped" else f"{attempt.outcome.answer}: nobody looked"

    for seen in ("shipped", "nothing"):
        with Run(memory, "refund 17", check=check) as run:
            run.attempt.step(action="look_up(17)", observation=seen)
            run.record(run.ended, "refused")
    assert [(t.outcome.success, t.outcome.detail) for t in kept()] == [(True, ""), (False, "refused: nobody looked")]


def test_a_check_that_has_to_be_awaited_is_waited_for_without_an_event_loop(memory, kept):
    async def check(task, answer):
        await asyncio.sleep(0)
        return answer == "refused"

    with Run(memory, "refund 17", check=check) as run:
        run.record(run.ended, "refused")
    assert [t.outcome.success for t in kept()] == [True]


def test_a_check_is_awaited_on_the_callers_event_loop_and_holds_no_thread(memory, kept):
    begun = threading.Semaphore(0)

    async def main():
        loop, gate = asyncio.get_running_loop(), asyncio.Event()

        async def check(attempt):
            assert asyncio.get_running_loop() is loop
            begun.release()
            await gate.wait()  # more checks than threads wait at a time
            await off_loop(time.sleep, 0)
            return 0.25

        async def one(number):
            async with Run(memory, f"refund {number}", check=check) as run:
                await off_loop(run.record, run.ended, "refused")

        async def open_gate():
            for _ in range(12):
                await asyncio.to_thread(begun.acquire, timeout=20)
            gate.set()

        await asyncio.gather(*(one(number) for number in range(12)), open_gate())

    asyncio.run(main())
    assert [(t.outcome.reward, t.outcome.success) for t in kept()] == [(0.25, False)] * 12


def test_a_check_that_fails_when_it_is_awaited_is_logged(memory, lost):
    async def check(attempt):
        raise RuntimeError("who knows")

    async def main():
        async with Run(memory, "a", check=check) as run:
            await off_loop(run.record, run.ended, "x")

    asyncio.run(main())
    assert lost()
