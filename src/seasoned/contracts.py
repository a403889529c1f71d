"""The contracts of the protocols, as functions to run on your own object.

Each function uses the object as Seasoned does, and raises ContractError with the first broken clause. Always holds: a
check needs only the object, changes nothing outside it, and lets other errors of Seasoned (no key, no server, a budget)
through, because they say nothing about the contract.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seasoned.errors import ContractError, SeasonedError
from seasoned.protocols import LLM, Embedder, Environment
from seasoned.types import Message, Reply, Task

_TEXTS = ("a red apple", "die Katze schläft", "سلام 👋🏽 世界", "x" * 20_000)
_ODD_ACTIONS = ("", "no such action", "](}\n\0\u202e👩‍👩‍👧", "x" * 20_000)


def check_llm(llm: LLM) -> None:
    """Run the contract of `LLM`: about six short calls, which may cost money. Tools are checked if `chat` takes them.

    Raises:
        ContractError: a clause is broken; the sentence names it.
        LLMError: the model could not be reached, or did not reply with the requested JSON.
    """
    what = type(llm).__name__
    _expect(isinstance(llm, LLM), f"{what} must have a name and a method chat")
    _expect(isinstance(llm.name, str) and llm.name != "", f"{what}.name must be a text that is not empty")
    messages: list[Message] = [
        {"role": "system", "content": "You answer with one word."},
        {"role": "user", "content": 'Is fire hot? Answer "yes" or "no".'},
    ]
    before = [dict(message) for message in messages]
    with _own_errors_only(f"{what}.chat"):
        _check_reply(what, llm.chat(messages, max_tokens=64))
        _check_reply(what, llm.chat(tuple(messages), max_tokens=64, temperature=0.7))
        stopped = _check_reply(what, llm.chat(messages, stop=["e"], max_tokens=64))
        word = {"type": "string", "enum": ["yes", "no"]}
        closed = {"type": "object", "properties": {"word": word}, "required": ["word"], "additionalProperties": False}
        plain = _check_reply(what, llm.chat(messages, schema=word, max_tokens=64)).parsed
        inside = _check_reply(what, llm.chat(messages, schema=closed, max_tokens=64)).parsed
        takes_tools = "tools" in inspect.signature(llm.chat).parameters
        if takes_tools:
            tool = {"name": "answer", "description": "Gives the answer.", "parameters": closed}
            called = _check_reply(what, llm.chat(messages, tools=[tool], tool_choice="required", max_tokens=128)).calls
    _expect("e" not in stopped.text, f'{what}.chat must end the text before a stop sequence: stop=["e"]', stopped.text)
    _expect(plain in ("yes", "no"), f"{what}.chat must return in `parsed` a value that satisfies the schema", plain)
    satisfies = inside in ({"word": "yes"}, {"word": "no"})
    _expect(satisfies, f"{what}.chat must return in `parsed` an object that satisfies the schema", inside)
    if takes_tools:
        given = [(call.name, call.arguments) for call in called]
        fits = given[:1] in ([("answer", {"word": "yes"})], [("answer", {"word": "no"})])
        _expect(fits, f"{what}.chat must return in `calls` a call of the tool that it is required to call", given)
    _expect(messages == before, f"{what}.chat must not change the messages that it is given")


def check_embedder(embedder: Embedder) -> None:
    """Run the contract of `Embedder` on a few texts. A text without any content may give a row of zeros.

    Raises:
        ContractError: a clause is broken; the sentence names it.
    """
    import numpy as np

    what = type(embedder).__name__
    _expect(isinstance(embedder, Embedder), f"{what} must have a name, a dim and a method embed")
    _expect(isinstance(embedder.name, str) and embedder.name != "", f"{what}.name must be a text that is not empty")
    dim = embedder.dim
    _expect(isinstance(dim, int) and dim > 0, f"{what}.dim must be a positive whole number", dim)

    def rows(texts: Sequence[str]) -> Any:
        with _own_errors_only(f"{what}.embed"):
            matrix = embedder.embed(texts)
        _expect(isinstance(matrix, np.ndarray), f"{what}.embed must return a numpy array", type(matrix).__name__)
        _expect(matrix.dtype == np.float32, f"{what}.embed must return float32", str(matrix.dtype))
        _expect(matrix.shape == (len(texts), dim), f"{what}.embed must return one row of {dim} per text", matrix.shape)
        _expect(bool(np.isfinite(matrix).all()), f"{what}.embed must return finite numbers")
        return matrix

    rows([])
    norm = float(np.linalg.norm(rows([""])[0]))
    _expect(abs(norm - 1) < 1e-3 or norm == 0, f"{what}.embed must return rows of length 1 (0 for an empty text)", norm)
    together = rows(_TEXTS)
    norms = np.linalg.norm(together, axis=1)
    _expect(bool((abs(norms - 1) < 1e-3).all()), f"{what}.embed must return rows of length 1", norms.tolist())
    for place, text in enumerate(_TEXTS):
        alike = float(together[place] @ rows([text])[0])
        # Quantised models differ a little with the batch.
        _expect(alike > 0.98, f"{what}.embed must return the same row for a text in any batch", alike)
    alike = float(together[0] @ together[1])
    _expect(alike < 0.999, f"{what}.embed must return different rows for different texts", alike)


def check_environment(
    make: Callable[[], Environment], task: Task | None = None, *, actions: Sequence[str] = (), steps: int = 50
) -> None:
    """Run the contract of `Environment`: two attempts with equal results, odd actions, a second reset, closing.

    Args:
        make: makes a fresh environment; it is called several times.
        task: a task that the environment knows; default: a task with an id and a text only.
        actions: sensible actions, played in order; the odd ones (empty, unknown, unprintable, very long) follow.
        steps: at most this many steps an attempt.

    Raises:
        ContractError: a clause is broken; the sentence names it.
    """
    task = task or Task(id="contract", text="a task to check the environment with")
    played = (*actions, *_ODD_ACTIONS)
    _expect(callable(make), "check_environment takes a function or class that makes environments, not an environment")
    first, second = make(), make()
    what = type(first).__name__
    _expect(isinstance(first, Environment), f"{what} must have the methods reset, step and close")
    _expect(first is not second, "make() must return a fresh environment at each call")
    try:
        one = _attempt(what, first, task, played[:steps])
        _expect(
            one == _attempt(what, second, task, played[:steps]),
            f"{what} must give the same observations, rewards and ends for the same task, seed and actions",
        )
        for odd in _ODD_ACTIONS:
            _attempt(what, first, task, (odd,))
        _expect(
            one == _attempt(what, first, task, played[:steps]),
            f"{what}.reset must start over: the same actions after it gave other results than the first time",
        )
    finally:
        with _own_errors_only(f"{what}.close"):
            first.close()
            first.close()
            second.close()


def _check_reply(what: str, reply: object) -> Reply:
    if not isinstance(reply, Reply):
        raise ContractError(f"{what}.chat must return a seasoned.types.Reply; it returned {type(reply).__name__}")
    used = reply.usage
    counts = (used.prompt_tokens, used.cached_tokens, used.completion_tokens, used.calls, used.replayed)
    _expect(min(counts) >= 0, f"{what}.chat must count its usage with numbers from 0 up", used)
    _expect(used.calls + used.replayed > 0, f"{what}.chat must count itself in usage.calls or usage.replayed", used)
    _expect(used.cached_tokens <= used.prompt_tokens, f"{what}: cached_tokens must be part of prompt_tokens", used)
    _expect(used.cost is None or used.cost >= 0, f"{what}: cost must be dollars, or None when unknown", used)
    return reply


def _attempt(what: str, env: Environment, task: Task, actions: Sequence[str]) -> list[Any]:
    """Play the actions until the episode ends; return all results except the infos."""
    with _own_errors_only(f"{what}.reset"):
        start: object = env.reset(task, seed=0)
    if not isinstance(start, tuple) or len(start) != 2:
        raise ContractError(f"{what}.reset must return (observation, info); it returned {_short(start)}")
    _expect(isinstance(start[0], str), f"{what}.reset must return its observation as text", start[0])
    _expect(isinstance(start[1], dict), f"{what}.reset must return its info as a dict", start[1])
    _check_tools(what, start[1])
    seen: list[Any] = [start[0]]
    known: dict[str, Any] = {}
    for action in actions:
        with _own_errors_only(f"{what}.step({_short(action)})"):
            result: object = env.step(action)
        if not isinstance(result, tuple) or len(result) != 5:
            raise ContractError(
                f"{what}.step must return (observation, reward, terminated, truncated, info); it returned "
                f"{_short(result)}"
            )
        observation, reward, terminated, truncated, info = result
        _expect(isinstance(observation, str), f"{what}.step must return its observation as text", observation)
        is_number = isinstance(reward, int | float) and not isinstance(reward, bool) and math.isfinite(reward)
        _expect(is_number, f"{what}.step must return its reward as a finite number", reward)
        _expect(isinstance(terminated, bool), f"{what}.step must return terminated as a bool", terminated)
        _expect(isinstance(truncated, bool), f"{what}.step must return truncated as a bool", truncated)
        _expect(isinstance(info, dict), f"{what}.step must return its info as a dict", info)
        _check_tools(what, info)
        seen.append((observation, reward, terminated, truncated))
        known |= info
        _expect(
            isinstance(known.get("success"), bool | None) and ("success" in known or not terminated),
            f"{what}.step must return info['success'] at the latest in the step that terminates: True, False, or None "
            "if unknown",
            known,
        )
        if terminated or truncated:
            break
    return seen


def _check_tools(what: str, info: dict[str, Any]) -> None:
    tools = info.get("tools") or []
    kinds = {"name": str, "description": str, "parameters": dict}
    fit = isinstance(tools, list | tuple) and all(
        isinstance(tool, dict) and all(isinstance(tool.get(name), kind) for name, kind in kinds.items())
        for tool in tools
    )
    _expect(fit, f"{what} must offer as info['tools'] a list of dicts with name, description and parameters", tools)


def _expect(holds: bool, clause: str, value: object = None) -> None:
    if not holds:
        raise ContractError(clause if value is None else f"{clause}; it was {_short(value)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}..."


@contextmanager
def _own_errors_only(what: str) -> Iterator[None]:
    """Turn any error outside Seasoned's tree into a ContractError."""
    try:
        yield
    except SeasonedError:
        raise
    except Exception as error:
        raise ContractError(
            f"{what} must raise only errors of seasoned.errors; it raised {type(error).__name__}: {error}"
        ) from error
