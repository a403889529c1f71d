"""Episodes: the act of making one attempt, with its journal, its limits and its record.

Always holds: an episode that is in the store is not made again; an infrastructure error, or a prompt that the server
refuses, is recorded, shown and made again when the run is resumed; model replies are on disk before they are used; the
limits of an episode hold for all its calls together, and ending one stops no run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from seasoned.errors import BudgetExceeded, ConfigError, InfrastructureError, RefusedError
from seasoned.lab.run.plan import Block
from seasoned.lab.run.settings import Limits
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.journal import Journaled
from seasoned.protocols import LLM, Advise, Agent, Environment
from seasoned.store.sql import Store
from seasoned.types import Guidance, Outcome, Task, Trajectory, Usage

_GIVE_UP_AFTER = 5


@dataclass
class Session:
    """What the episodes of a run share: store and directory, the limits of an episode, and what is already done.

    `llm` counts against the run's limits, and so does `learner`, where another model learns. After five errors in a row
    the run stops: the server is gone or takes no request, and every further episode would be an error as well. A task
    whose prompt is refused is one of them, however many conditions meet it.
    """

    store: Store
    directory: Path
    llm: LLM
    limits: Limits
    done: dict[str, Trajectory]
    learner: LLM | None = None
    errors_in_a_row: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def run_id(self) -> str:
        """The run's id: the name of its directory."""
        return self.directory.name

    def meter(self) -> Metered:
        """What one episode may use: it counts the agent's calls, and those that recall and reflect beside it."""
        return Metered(self.llm, Budget(**self.limits.model_dump()), scope="episode")

    def journaled(self, key: str, meter: Metered | None = None, *, turns: bool = False) -> LLM:
        """The model with its replies kept under this key; a meter counts its calls, and its limits hold for them.

        What was asked is kept, too, but for an agent's `turns`: its trajectory has them.
        """
        kept: LLM = Journaled(self.llm, self.store, f"{self.run_id}/{key}", prompts=not turns)
        return kept if meter is None else Metered(kept, parent=meter)

    def learning(self, key: str, before: Callable[[], None]) -> LLM:
        """The model that learns; what it was asked and its replies are kept under this key.

        Args:
            key: of the pool.
            before: called before each request, also where its reply is known already.
        """
        return Metered(Journaled(self.learner or self.llm, self.store, f"{self.run_id}/{key}"), before=before)

    def count(self, trajectory: Trajectory) -> None:
        """Notice servers that are gone.

        Raises:
            InfrastructureError: after too many errors in a row.
        """
        with self.lock:
            if trajectory.outcome.reason != "error":
                self.errors_in_a_row.clear()
                return
            self.errors_in_a_row.add(trajectory.task_id if trajectory.meta.get("refused") else trajectory.id)
            if len(self.errors_in_a_row) >= _GIVE_UP_AFTER:
                raise InfrastructureError(
                    f"{len(self.errors_in_a_row)} episodes in a row ended in a server error, so the run stops here; "
                    f"the last: {trajectory.outcome.detail}"
                )


def with_llm(part: Any, llm: LLM) -> Any:
    """The same agent or method with another model in its field `llm`; a method without a model stays as it is.

    Raises:
        ConfigError: it is an agent without that field, or has a model elsewhere, whose calls would be neither
            journalled nor counted.
    """
    has = is_dataclass(part) and any(each.name == "llm" and each.init for each in fields(part))
    others = [name for name, held in getattr(part, "__dict__", {}).items() if hasattr(held, "chat")]
    if set(others) - {"llm"} or (not has and (others or hasattr(part, "run"))):
        raise ConfigError(
            f"{type(part).__name__} cannot be given the run's model, so its calls would be neither journalled nor "
            "counted: make it a dataclass with a field llm, and with no other model"
        )
    return replace(part, llm=llm) if has else part


def episode(
    session: Session,
    key: str,
    scope: str,
    agent: Agent,
    env: Environment,
    task: Task,
    guide: Callable[[], Guidance],
    about: dict[str, Any],
    advise: Advise | None = None,
    shares: str | None = None,
    spent: Metered | None = None,
    aside: Metered | None = None,
) -> Trajectory:
    """Make one attempt, or return the one that was already made under this key.

    Args:
        session: what the run shares.
        key: names the episode within the run.
        scope: the pool the trajectory is recorded in.
        agent: makes the attempt; its `llm` is replaced by a journalled one.
        env: where; closed by the caller.
        task: what has to be solved.
        guide: recalls what the agent is told first; not called for an attempt that was made.
        advise: recalls again on the way, for agents that ask.
        shares: episodes with the same value share their journal: an identical request is made once. For
            temperature 0 only.
        spent: the episode's `Session.meter`, where other calls than the agent's count against its limits.
        aside: has counted the calls that recalled and reflected; the episode's usage has them too, and its meta says
            under "aside" what they alone used.
        about: kept with the trajectory; see `meta`.
    """
    if key in session.done:
        return session.done[key]
    try:
        guidance = guide()
        model = session.journaled(shares or key, spent or session.meter(), turns=True)
        made: Trajectory = with_llm(agent, model).run(task, env, guidance, advise)
    except BudgetExceeded as error:
        if error.scope == "run":
            raise
        made = _not_begun(task, Outcome(success=False, reward=0.0, reason="budget", detail=str(error)))
    except (InfrastructureError, RefusedError) as error:
        refused = {"refused": True} if isinstance(error, RefusedError) else {}
        made = _not_begun(task, Outcome(reason="error", detail=str(error)), refused)
    meant = {**made.meta, **about}
    if aside is not None and aside.usage != Usage():
        meant["aside"] = aside.usage.model_dump()
        made = made.model_copy(update={"usage": made.usage + aside.usage})
    trajectory = made.model_copy(update={"meta": meant, "benchmark": about.get("benchmark", "")})
    session.store.save_episode(session.run_id, key, scope, trajectory)
    session.count(trajectory)
    return trajectory


def _not_begun(task: Task, outcome: Outcome, known: Mapping[str, Any] | None = None) -> Trajectory:
    """The record of an attempt that ended before its agent began; `known` is its meta."""
    meta = dict(known or {})
    return Trajectory(task_id=task.id, task=task.text, category=task.category, outcome=outcome, meta=meta)


def meta(block: Block, condition: str, split: str, trained_on: int, trial: int = 0, repeat: int = 0) -> dict[str, Any]:
    """What is kept with a trajectory of a run."""
    return {
        "benchmark": block.benchmark.name,
        "condition": condition,
        "seed": block.seed,
        "fold": block.fold,
        "split": split,
        "trained_on": trained_on,
        "trial": trial,
        "repeat": repeat,
    }
