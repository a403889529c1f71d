"""Plain functions that remember: each call is an attempt.

Always holds: the function gets the arguments it was called with, and its result or its error comes back unchanged; what
the caller passed as `guidance` or `attempt` stays.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from seasoned.adapters.running import Check, Run, Where, checked, shown
from seasoned.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")

_GIVEN = ("guidance", "attempt")


def remembering(
    where: Where, *, check: Check | None = None, task: Callable[..., str] | None = None, agent: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function remember: `@remembering(memory)`. Coroutine functions too.

    A function that has a parameter `guidance` is given what was recalled, as text. One that has a parameter `attempt`
    is given the attempt, and records its own steps; else the call is recorded as one step, its result or error as the
    observation.

    Args:
        where: a memory, or an attempt that the calls are steps of.
        check: told the task and the result, says whether it was solved.
        task: told the arguments, gives the task's text. Without it, the task is the only argument where that is a text,
            and else the call as it would be written.
        agent: who tries, for the record; the function's name where it is empty.

    Raises:
        ConfigError: when one of these is none, or the function is a generator.
    """
    checked(where, check)

    def remember(function: Callable[P, R]) -> Callable[P, R]:
        called = getattr(function, "__name__", type(function).__name__)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"{called} is a generator; record it yourself: with memory.attempt(..) as attempt")
        signature = inspect.signature(function)

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Run, str, dict[str, Any]]:
            given = signature.bind_partial(*args, **kwargs).arguments
            seen = {name: value for name, value in given.items() if name not in (*_GIVEN, "self", "cls")}
            call = _call(called, seen)
            only = next(iter(seen.values())) if len(seen) == 1 else None
            text = task(*args, **kwargs) if task else only if isinstance(only, str) and only else call
            run = Run(where, text, check=check, agent=agent or called)
            extra = {name: value for name, value in zip(_GIVEN, (run.guidance, run.attempt)) if name not in given}
            kwargs |= {name: value for name, value in extra.items() if name in signature.parameters}
            return run, "" if "attempt" in signature.parameters else call, kwargs

        def end(run: Run, call: str, result: object) -> None:
            if call:
                run.attempt.step(action=call, observation=shown(result))
            run.ended(result)

        def failed(run: Run, call: str, error: Exception) -> None:
            if call:
                run.attempt.step(action=call, observation=f"{type(error).__name__}: {error}")

        @functools.wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            run, call, full = begin(args, kwargs)
            with run:
                try:
                    result = cast(Any, function)(*args, **full)
                except Exception as error:
                    failed(run, call, error)
                    raise
                end(run, call, result)
            return result

        @functools.wraps(function)
        async def remembered_later(*args: Any, **kwargs: Any) -> Any:
            run, call, full = await asyncio.to_thread(begin, args, kwargs)
            with run:
                try:
                    result = await cast(Any, function)(*args, **full)
                except Exception as error:
                    failed(run, call, error)
                    raise
                await asyncio.to_thread(end, run, call, result)
            return result

        return cast(Callable[P, R], remembered_later if inspect.iscoroutinefunction(function) else remembered)

    return remember


def _call(name: str, given: Mapping[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={shown(value, repr)}' for key, value in given.items())})"
