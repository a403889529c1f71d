"""The five protocols, on one screen. A class that has these methods fits; nothing is inherited or registered.

`LLM`, `Embedder` and `Environment` have an executable contract in `seasoned.contracts`, to be run on one's own class.
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
"""Recall in the middle of an attempt: what has been done so far in, guidance for the next turn out."""


@runtime_checkable
class LLM(Protocol):
    """A chat model. With `schema` (a JSON Schema) the reply's `parsed` holds a value that satisfies it.

    With `tools` (each has a name, a description and parameters, a JSON Schema) the reply has `calls`; `tool_choice` is
    auto, required (some call), none, or the name of a tool. A model that lacks these two is told of tools in words.
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
    """Texts to unit rows: float32 of shape (n, dim)."""

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...  # noqa: D102


@runtime_checkable
class Environment(Protocol):
    """Gymnasium's five values, text in and text out: observation, reward, terminated, truncated, info.

    What is read of `info`: `success` (said by the time a step terminates: True, False, or None where nobody knows; an
    attempt that is truncated without it has failed), `answer` (what was taken for the answer), `reward` (from 0 to 1,
    in place of the sum of the steps'), `choices` (a list of texts, of a reset too: what may be said next), `invalid`
    (True where an action could not be done) and `tools` (of a reset too: those that may be called from now on, as `LLM`
    takes them). A call is the action `name({"argument": value})`. Beside them may stand `tool_choice` (required where a
    text alone does nothing) and `parallel` (False where a reply may hold one call alone).
    """

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]: ...  # noqa: D102
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


@runtime_checkable
class Agent(Protocol):
    """Makes one attempt. It knows no method: guidance is all it gets, and `advise` if it asks again on the way."""

    def run(  # noqa: D102
        self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None
    ) -> Trajectory: ...


@runtime_checkable
class Method(Protocol):
    """How trajectories become lessons, and lessons guidance. It knows no agent."""

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None: ...  # noqa: D102
    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance: ...  # noqa: D102
