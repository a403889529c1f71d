"""The five protocols, on one screen. A class that has these methods fits; nothing is inherited or registered.

`LLM`, `Embedder` and `Environment` have an executable contract in `seasoned.contracts`, for your own class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from seasoned.types import Guidance, Message, Reply, Task, Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.pool import ExperiencePool


Advise = Callable[[Trajectory], Guidance]
"""Recall during an attempt: takes the attempt so far, and returns guidance for the next turn."""


@runtime_checkable
class LLM(Protocol):
    """A chat model. With `schema` (a JSON Schema) the reply's `parsed` holds a value that satisfies it.

    With `tools` (each has a name, a description and parameters, a JSON Schema) the reply has `calls`; `tool_choice` is
    auto, required, none, or the name of a tool. Models without these two arguments get the tools explained in words.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def chat(  # noqa: D102
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str = "auto",
    ) -> Reply: ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit rows: float32 of shape (n, dim).

    If it also has `instant = True`, few vectors are made again rather than read from the store.
    """

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...  # noqa: D102


@runtime_checkable
class Environment(Protocol):
    """Gymnasium's five values, with texts as actions and observations.

    Agents read these keys of `info`: `success` (required when a step terminates: True, False, or None if unknown; an
    attempt that is truncated without it has failed), `answer` (the answer as it was read), `reward` (from 0 to 1;
    default: the sum of the steps'), `choices` (also of a reset: the possible next actions), `invalid` (True if the
    action was impossible) and `tools` (also of a reset: the tools available from now on, as `LLM` takes them). A call
    is the action `name({"argument": value})`. With tools, `tool_choice` is "required" if a text alone does nothing, and
    `parallel` is False if a reply may have only one call.
    """

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]: ...  # noqa: D102
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


@runtime_checkable
class Agent(Protocol):
    """Makes one attempt. It knows no method: it gets guidance, and `advise` to ask again during the attempt."""

    def run(  # noqa: D102
        self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None
    ) -> Trajectory: ...


@runtime_checkable
class Method(Protocol):
    """Turns trajectories into lessons (`learn`) and lessons into guidance (`recall`). It knows no agent."""

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None: ...  # noqa: D102
    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance: ...  # noqa: D102
