"""The state that a run's episodes share, and the record of each.

Always holds: a stored episode is not made again, except after an infrastructure error or a refused prompt, which is
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

_MAX_ERRORS = 5


@dataclass
class Session:
    """The state that a run's episodes share: store, directory, models, the limits of an episode, and finished episodes.

    `llm`, the `learner` (if another model learns) and the `others` count against the run's limits. After five errors in
    a row the run stops, since every further episode would probably fail, too. A task whose prompt is refused counts as
    one error for all conditions. `jobs` runs several episodes at once.
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
        """The meter of one episode, for the calls of the agent, of recall and of reflection."""
        return Metered(self.llm, Budget(**self.limits.model_dump()), scope="episode")

    def journaled(self, journal: str, meter: Metered | None = None, *, turns: bool = False, ranks: bool = False) -> LLM:
        """The model, with its replies stored in this journal; a meter counts and limits its calls.

        Prompts are stored, too, except for an agent's `turns`, which are in its trajectory. With `ranks`, the model is
        the ranker, if there is one.
        """
        ranker = self.others.get("ranker") if ranks else None
        kept = self.kept(ranker or self.llm, journal, prompts=not turns)
        return kept if meter is None else Metered(kept, parent=meter)

    def kept(self, llm: LLM, journal: str, *, prompts: bool = False) -> LLM:
        """A model that stores its replies in this journal."""
        return Journaled(llm, self.store, f"{self.run_id}/{journal}", prompts=prompts)

    def learning(self, journal: str, before: Callable[[], None]) -> LLM:
        """The learning model, which stores its replies in this journal and calls `before` each request or replay."""
        return Metered(Journaled(self.learner or self.llm, self.store, f"{self.run_id}/{journal}"), before=before)

    def count(self, trajectory: Trajectory) -> None:
        """Count errors in a row.

        Raises:
            InfrastructureError: there were too many.
        """
        with self.lock:
            if trajectory.outcome.reason != "error":
                self.errors_in_a_row.clear()
                return
            self.errors_in_a_row.add(trajectory.task_id if trajectory.meta.get("refused") else trajectory.id)
            if len(self.errors_in_a_row) >= _MAX_ERRORS:
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
        session: the session of the run.
        key: names the episode within the run.
        scope: the pool that records the trajectory.
        attempt: makes the attempt; not called if it is stored.
        about: stored in the trajectory's meta.
        aside: has counted the calls of recall and reflection; they are added to the episode's usage, and stored
            separately in its meta under "aside".

    Raises:
        InfrastructureError: this was the fifth episode in a row that ended in a server error.
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
