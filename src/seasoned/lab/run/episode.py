"""The state that a run's episodes share, and the record of each.

Always holds: a stored episode is not made again; an infrastructure error, or a prompt that the server refuses, is
recorded, shown, and tried again when the run is resumed; model replies are on disk before they are used; the limits of
an episode apply to all its calls together, and reaching them does not stop the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seasoned.errors import InfrastructureError
from seasoned.jobs import run_jobs
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.settings import Limits
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.journal import Journaled
from seasoned.protocols import LLM
from seasoned.store.sql import Store
from seasoned.types import Trajectory, Usage

_GIVE_UP_AFTER = 5


@dataclass
class Session:
    """What the episodes of a run share: store and directory, the limits of an episode, and what is already done.

    `llm` counts against the run's limits, and so do `learner`, where another model learns, and the `others` that take
    part. After five errors in a row
    the run stops: the server is gone or takes no request, and every further episode would be an error as well. A task
    whose prompt is refused is one of them, however many conditions meet it. `jobs` is who makes several at once.
    """

    store: Store
    directory: Path
    llm: LLM
    limits: Limits
    done: dict[EpisodeKey, Trajectory]
    learner: LLM | None = None
    others: Mapping[str, LLM] = field(default_factory=dict)
    errors_in_a_row: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    jobs: Callable[[Callable[[Any], Any], Sequence[Any], int], list[Any]] = run_jobs

    @property
    def run_id(self) -> str:
        """The run's id: the name of its directory."""
        return self.directory.name

    def meter(self) -> Metered:
        """The meter of one episode: it counts the agent's calls, and those of recall and reflection."""
        return Metered(self.llm, Budget(**self.limits.model_dump()), scope="episode")

    def journaled(self, journal: str, meter: Metered | None = None, *, turns: bool = False, ranks: bool = False) -> LLM:
        """The model with its replies stored in this journal; a meter counts and limits its calls.

        Prompts are stored too, except an agent's `turns`, which its trajectory has. With `ranks` it is the model that
        ranks, if there is one.
        """
        ranker = self.others.get("ranker") if ranks else None
        kept = self.kept(ranker or self.llm, journal, prompts=not turns)
        return kept if meter is None else Metered(kept, parent=meter)

    def kept(self, llm: LLM, journal: str, *, prompts: bool = False) -> LLM:
        """A model with its replies stored in this journal."""
        return Journaled(llm, self.store, f"{self.run_id}/{journal}", prompts=prompts)

    def learning(self, journal: str, before: Callable[[], None]) -> LLM:
        """The learning model, its replies stored in this journal; calls `before` each request, also replayed ones."""
        return Metered(Journaled(self.learner or self.llm, self.store, f"{self.run_id}/{journal}"), before=before)

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


def episode(
    session: Session,
    key: EpisodeKey,
    scope: str,
    attempt: Callable[[], Trajectory],
    about: dict[str, Any],
    aside: Metered | None = None,
) -> Trajectory:
    """Make one attempt and record it, or return the stored one with this key.

    Args:
        session: what the run shares.
        key: names the episode within the run.
        scope: the pool the trajectory is recorded in.
        attempt: makes it; not called for one that was made.
        about: kept in the trajectory's meta.
        aside: has counted the calls that recalled and reflected; the episode's usage has them too, and its meta says
            under "aside" what they alone used.

    Raises:
        InfrastructureError: this was the fifth episode in a row that ended in a server's error.
    """
    if key in session.done:
        return session.done[key]
    made = attempt()
    meta, usage = {**made.meta, **about}, made.usage
    if aside is not None and aside.usage != Usage():
        meta["aside"] = aside.usage.model_dump()
        usage += aside.usage
    benchmark = about.get("benchmark", "")
    trajectory = made.model_copy(update={"meta": meta, "usage": usage, "benchmark": benchmark})
    session.store.save_episode(session.run_id, str(key), scope, trajectory)
    session.count(trajectory)
    return trajectory
