"""Plain functions with a memory: each call is an attempt.

Always holds: the function gets the arguments of the call, and the caller gets its result or error unchanged, even if
recording fails, which is logged; a `guidance` or `attempt` that the caller passes is not replaced.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from seasoned.adapters.running import Run, Where, checked, shown
from seasoned.errors import ConfigError
from seasoned.jobs import off_loop
from seasoned.memory.checks import Check

P = ParamSpec("P")
R = TypeVar("R")

_ADDED = ("guidance", "attempt")


def remembering(
    where: Where, *, check: Check | None = None, task: Callable[..., str] | None = None, agent: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a function a memory: `@remembering(memory)`. It may be a coroutine function, but no generator.

    A parameter `guidance` of the function gets the recalled text. A parameter `attempt` gets the attempt, so that the
    function can record its own steps; otherwise the call is one step, with its result or error as the observation.

    `task` takes the arguments and returns the task's text; by default, that is the only argument if it is a string,
    otherwise the call as source text. The agent's default name is the function's. See `seasoned.adapters` for the
    other arguments.
    """
    checked(where, check)

    def remember(function: Callable[P, R]) -> Callable[P, R]:
        name = getattr(function, "__name__", type(function).__name__)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"{name} is a generator; record it yourself: with memory.attempt(..) as attempt")
        signature = inspect.signature(function)

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Run, str, dict[str, Any]]:
            """The run, the call as a step ("" if the function records its own), and all keyword arguments."""
            arguments = signature.bind_partial(*args, **kwargs).arguments
            call, text = _call(name, arguments)
            run = Run(where, task(*args, **kwargs) if task else text, check=check, agent=agent or name)
            known = dict(zip(_ADDED, (run.guidance, run.attempt)))
            added = {key: known[key] for key in _ADDED if key in signature.parameters and key not in arguments}
            call = "" if "attempt" in signature.parameters else call
            run.on_error = partial(_failed, run, call)
            return run, call, kwargs | added

        @functools.wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            run, call, full = begin(args, kwargs)
            with run:
                result = cast(Any, function)(*args, **full)
                if inspect.isawaitable(result):  # a plain function that returns a coroutine
                    return _awaited(run, call, result)
                run.record(_end, run, call, result)
            return result

        @functools.wraps(function)
        async def remembered_async(*args: Any, **kwargs: Any) -> Any:
            run, call, full = await off_loop(begin, args, kwargs)
            return await _awaited(run, call, cast(Any, function)(*args, **full))

        return cast(Callable[P, R], remembered_async if inspect.iscoroutinefunction(function) else remembered)

    return remember


def _call(name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """A call as source text, and the text of its task."""
    inputs = {key: value for key, value in arguments.items() if key not in (*_ADDED, "self", "cls")}
    call = f"{name}({', '.join(f'{key}={shown(value, repr)}' for key, value in inputs.items())})"
    only = next(iter(inputs.values())) if len(inputs) == 1 else None
    return call, only if isinstance(only, str) and only else call


def _failed(run: Run, call: str, error: BaseException) -> None:
    """Record the call as a step with the function's error as the observation."""
    if call and isinstance(error, Exception):
        run.attempt.step(action=call, observation=f"{type(error).__name__}: {error}")


async def _awaited(run: Run, call: str, awaitable: Awaitable[Any]) -> Any:
    async with run:
        result = await awaitable
        await off_loop(run.record, _end, run, call, result)
    return result


def _end(run: Run, call: str, result: object) -> None:
    if call:
        run.attempt.step(action=call, observation=shown(result))
    run.ended(result)
