"""Episodes on Ray: on the cores of this machine, or on the machines of a cluster.

The run itself stays where it was started: it plans, learns, reports and shows the progress. Its jobs (a task with all
its attempts) go to *hands*, actors that live as long as the run: each has its own plan, store, model and warm
environments. Always holds: a hand stores an episode before it reports it to the run; the job of a hand that died goes
to another hand, which finds finished work and paid calls in the store and journal; results do not depend on the hand.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Unpack

from seasoned.embed import shared_embedder
from seasoned.errors import ConfigError, InfrastructureError, MissingExtraError, SeasonedError
from seasoned.jobs import heeding, tell_at_work
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.part import Part, Session
from seasoned.lab.run.partners import open_models
from seasoned.lab.run.plan import Block, Plan, make_plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.redo import finished
from seasoned.lab.run.rundir import digest
from seasoned.llm.budget import Metered
from seasoned.llm.opening import ModelSettings, open_llm
from seasoned.llm.window import window_of
from seasoned.pool import ExperiencePool
from seasoned.protocols import LLM
from seasoned.store.sql import Store
from seasoned.types import ChatOptions, Message, Reply, Trajectory

Made = list[tuple[EpisodeKey, Trajectory]]
OpenSession = Callable[..., Session]


class Cluster:
    """Ray, and the hands of one run."""

    def __init__(self, ray: Any, store: Store) -> None:
        self._ray, self._store = ray, store
        self._hub: Any = None
        self._number = 0

    @contextmanager
    def open_llm(self, settings: ModelSettings) -> Iterator[LLM]:
        """A model that all hands can call; a bundled one is opened once, in its own actor."""
        if not settings.bundled:
            with open_llm(settings) as model:
                yield model
            return
        hub = self._ray.remote(_Hub).options(num_cpus=0, max_concurrency=settings.slots + 2).remote(settings)
        name, window, error = self._ray.get(hub.about.remote())
        if error is not None:
            raise error
        self._hub = Shared(hub, name, window)
        yield self._hub
        self._ray.kill(hub)

    @contextmanager
    def at_work(self, plan: Plan, session: Session, opens: OpenSession) -> Iterator[None]:
        """While the block runs, hands do the session's jobs; `opens` makes their sessions from store and models."""
        ray, recipe = self._ray, plan.recipe
        acting = ModelSettings(**recipe.llm.model_dump(exclude={"temperature"}))
        others = [recipe.ranker, recipe.longer, *(part for part in (recipe.user, recipe.judge) if part != acting)]
        if any(part is not None and part.bundled for part in others):
            raise ConfigError("on Ray only the acting model can be a bundled one: name a server for the others")
        count = max(1, min(plan.recipe.at_once, int(ray.cluster_resources().get("CPU", 1))))
        self._threads = math.ceil(plan.recipe.at_once / count)
        url = self._store.path or self._store._engine.url.render_as_string(hide_password=False)
        arguments = (recipe, str(url), str(session.directory), digest(plan.tasks), self._hub, opens)
        actor = ray.remote(Hand).options(
            num_cpus=1, max_restarts=-1, max_concurrency=self._threads + 2, scheduling_strategy="SPREAD"
        )
        self._hands = [actor.remote(*arguments) for _ in range(count)]
        self._free: deque[int] = deque()
        self._asleep = Counter(dict.fromkeys(range(count), self._threads))
        self._pings = {hand.ready.remote(): place for place, hand in enumerate(self._hands)}
        self._session, self._plan = session, plan
        session.jobs = self.run_jobs
        try:
            yield
        finally:
            for hand in self._hands:
                ray.kill(hand)

    def run_jobs(self, work: Callable[[Any], Any], jobs: Sequence[Any], workers: int) -> list[Any]:
        """As `seasoned.jobs.run_jobs`, but hands do the work, and this process then reads their episodes as done."""
        self._number += 1
        payload = self._ray.put(dumps((work, list(jobs)), self._plan))
        waiting, again = deque(range(len(jobs))), set[int]()
        at_work: dict[Any, tuple[int, int]] = {}
        results: list[Any] = [None] * len(jobs)
        fault: BaseException | None = None
        try:
            while at_work or (waiting and fault is None):
                while waiting and self._free and fault is None:
                    place, hand = waiting.popleft(), self._free.popleft()
                    do = self._hands[hand].do.remote(self._number, [payload], place, place in again)
                    at_work[do] = (place, hand)
                for ref in self._ray.wait([*at_work, *self._pings], timeout=60)[0]:
                    if ref in self._pings:
                        self._woke(ref)
                        continue
                    place, hand = at_work.pop(ref)
                    try:
                        made, error = self._ray.get(ref)
                    except self._ray.exceptions.RayActorError:
                        self._lost(hand)
                        waiting.appendleft(place)
                        again.add(place)
                        continue
                    self._free.append(hand)
                    fault = fault or error
                    fault = self._take(made, place in again) or fault
                    if error is None:
                        results[place] = work(jobs[place])  # its episodes are done, so this calls no model
                    for key, _ in made:
                        self._session.done.pop(key, None)
        except KeyboardInterrupt:
            tell_at_work(len(at_work))
            for hand_ in self._hands:
                hand_.stop.remote()
            self._ray.wait(list(at_work), num_returns=len(at_work)) if at_work else None
            raise
        if fault is not None:
            raise fault
        return results

    def _take(self, made: Made, again: bool) -> BaseException | None:
        """Count the episodes of a hand; returns an error if a limit is reached or the server fails too often."""
        session = self._session
        if again:  # the hand that died may have stored some
            session.done.update(finished(session.store, session.run_id))
        session.done.update(made)
        try:
            for _, trajectory in made:
                session.count(trajectory)
                if isinstance(session.llm, Metered):
                    session.llm.add(trajectory.usage)
            if isinstance(session.llm, Metered):
                session.llm.check()
        except SeasonedError as error:
            return error
        return None

    def _lost(self, hand: int) -> None:
        """A hand died: Ray starts it again when there is room, and until then it gets no jobs."""
        self._asleep[hand] += 1 + self._free.count(hand)
        self._free = deque(other for other in self._free if other != hand)
        if hand not in self._pings.values():
            self._pings[self._hands[hand].ready.remote()] = hand

    def _woke(self, ping: Any) -> None:
        hand = self._pings.pop(ping)
        try:
            error = self._ray.get(ping)
        except self._ray.exceptions.RayActorError:
            self._pings[self._hands[hand].ready.remote()] = hand
            return
        if error is not None:
            raise error
        self._free.extend([hand] * self._asleep.pop(hand))


@contextmanager
def connect(on: str, store: Store) -> Iterator[Cluster]:
    """Connect to Ray while the block runs: "ray" for this machine or its cluster (RAY_ADDRESS), "ray://HOST" for a
    head.

    Raises:
        ConfigError: the address is invalid, or several machines would share the file of the store.
        MissingExtraError: Ray is not installed.
        InfrastructureError: nothing answers at the address.
    """
    if on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"expected --on ray or --on ray://HOST, but got {on!r}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray") from error
    ours = not ray.is_initialized()
    if ours:
        host = on if on == "ray" or on.rpartition(":")[2].isdecimal() else f"{on}:10001"
        try:
            ray.init(None if on == "ray" else host, logging_level="ERROR", log_to_driver=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InfrastructureError(f"no Ray answers at {on}: {str(error).strip().splitlines()[0]}") from None
    try:
        machines = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        if store.path and (on != "ray" or len(machines) > 1):
            raise ConfigError(
                f"machines of a Ray cluster cannot share the file {store.path}: name a Postgres store with --store "
                "postgresql://USER@HOST/NAME (docs/stores.md)"
            )
        yield Cluster(ray, store)
    finally:
        if ours:
            ray.shutdown()


class Hand:
    """Does jobs of one run, several at a time, in its own process."""

    def __init__(
        self, recipe: Recipe, store: str, directory: str, tasks: str, shared: LLM | None, opens: OpenSession
    ) -> None:
        self._work: tuple[int, Any] = (0, None)
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._stack = ExitStack()
        self._fault: BaseException | None = None
        try:
            self._open(recipe, store, directory, tasks, shared, opens)
        except Exception as error:
            self._fault = portable(error)

    def _open(
        self, recipe: Recipe, store: str, directory: str, tasks: str, shared: LLM | None, opens: OpenSession
    ) -> None:
        plan = make_plan(recipe)
        if digest(plan.tasks) != tasks:
            raise ConfigError("a machine of the cluster has different data from this one: give all the same files")
        self._store: Telling = Telling(store)
        self._stack.enter_context(self._store)
        acting = recipe.model_copy(update={"learner": None})  # a hand learns nothing
        session = opens(Path(directory), recipe, self._store, open_models(acting, self._stack, llm=shared))
        self._session, self._known = session, Known(plan, session)

    def ready(self) -> BaseException | None:
        """None if the hand can work, else the error that prevents it."""
        return self._fault

    def stop(self) -> None:
        """Call no model any more."""
        self._stopping.set()

    def do(self, number: int, payload: Sequence[Any], place: int, again: bool) -> tuple[Made, BaseException | None]:
        """Do one job, and return its episodes and its error, if any.

        Args:
            number: of this list of jobs, among all lists of the run.
            payload: a reference to the function and its jobs, as `dumps` writes them.
            place: the job's place in the list.
            again: a hand that died had begun the job.
        """
        import ray

        with self._lock:
            if self._work[0] != number:
                self._work = (number, self._known.loads(ray.get(payload[0])))
            work, jobs = self._work[1]
            if again:
                self._session.done.update(finished(self._store, self._session.run_id))
        made = self._store.told()
        try:
            with heeding(self._stopping):
                work(jobs[place])
        except BaseException as error:
            return made, portable(error)
        return made, None


class Telling(Store):
    """A store that collects the episodes that each thread stores."""

    _made = threading.local()

    def told(self) -> Made:
        """A new list that collects this thread's episodes from now on."""
        made: Made = []
        self._made.list = made
        return made

    def save_episode(self, run_id: str, key: str, scope: str, trajectory: Trajectory) -> None:
        """As `Store.save_episode`."""
        super().save_episode(run_id, key, scope, trajectory)
        with contextlib.suppress(AttributeError):
            self._made.list.append((EpisodeKey.parse(key), trajectory))


class Known:
    """A hand's own objects, which a job names instead of carrying them: plan, blocks, parts, session, store, pools."""

    def __init__(self, plan: Plan, session: Session) -> None:
        watch = _Silent(0, quiet=True)
        self._plan, self._session = plan, session
        self._objects = {"plan": plan, "session": session, "store": session.store, "watch": watch}
        self._parts = [Part(plan, block, session, watch) for block in plan.blocks]
        self._pools: dict[Any, ExperiencePool] = {}

    def loads(self, payload: bytes) -> Any:
        """Load what `dumps` wrote, with this hand's objects in it."""
        reader = pickle.Unpickler(io.BytesIO(payload))
        reader.persistent_load = self._find  # type: ignore[method-assign]
        return reader.load()

    def _find(self, name: tuple[Any, ...]) -> Any:
        kind, *fields = name
        if kind == "pool":
            if name not in self._pools:
                scope, experience, run_id, embeds, read_only, tasks = fields
                embedder = shared_embedder(self._plan.recipe.embedder) if embeds else None
                options = {"run_id": run_id, "embedder": embedder, "experience": experience}
                self._pools[name] = ExperiencePool(
                    self._session.store, scope, read_only=read_only, tasks=tasks, **options
                )
            return self._pools[name]
        if kind in self._objects:
            return self._objects[kind]
        part = self._parts[fields[0]]
        return {"part": part, "block": part.block, "benchmark": part.benchmark}[kind]


def dumps(value: Any, plan: Plan) -> bytes:
    """A job as bytes: functions by their code, and objects that every hand has by name."""
    from ray import cloudpickle

    blocks = list(plan.blocks)

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def persistent_id(self, thing: Any) -> tuple[Any, ...] | None:
            if isinstance(thing, Part):
                return ("part", blocks.index(thing.block))
            if isinstance(thing, Block):
                return ("block", blocks.index(thing))
            if isinstance(thing, Benchmark):
                return ("benchmark", next(n for n, block in enumerate(blocks) if block.benchmark is thing))
            if isinstance(thing, ExperiencePool):
                fields = (thing.scope, thing.experience, thing.run_id, thing.embedder is not None)
                return ("pool", *fields, thing.read_only, thing.tasks)
            kinds = {Plan: "plan", Session: "session", Store: "store", Watch: "watch"}
            return next(((name,) for kind, name in kinds.items() if isinstance(thing, kind)), None)

    written = io.BytesIO()
    Pickler(written).dump(value)
    return written.getvalue()


def portable(error: BaseException) -> BaseException:
    """An error that another process can load: itself, or one with the same message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        message = str(error) if isinstance(error, SeasonedError) else f"{type(error).__name__}: {error}"
        return SeasonedError(message)
    return error


class _Silent(Watch):
    """A watch that shows nothing, since the run itself shows the progress."""

    def ended(self, stage: str, trajectory: Trajectory) -> None:
        """Nothing."""

    def more(self, name: str) -> None:
        """Nothing."""


class _Hub:
    """The bundled model, in an actor."""

    def __init__(self, settings: ModelSettings) -> None:
        self._stack = ExitStack()
        self._model: Any = None
        self._fault: BaseException | None = None
        try:
            self._model = self._stack.enter_context(open_llm(settings))
        except Exception as error:
            self._fault = portable(error)

    def about(self) -> tuple[str, int | None, BaseException | None]:
        """The model's name and window, and the error if it could not be opened."""
        return getattr(self._model, "name", ""), window_of(self._model), self._fault

    def chat(self, messages: Sequence[Message], options: dict[str, Any]) -> tuple[Reply | None, BaseException | None]:
        """A reply, or the error."""
        try:
            return self._model.chat(messages, **options), None
        except Exception as error:
            return None, portable(error)


class Shared:
    """The client of a model in an actor, for any process of the cluster."""

    def __init__(self, hub: Any, name: str, window: int | None) -> None:
        self._hub, self.name, self.window = hub, name, window

    def chat(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Reply:
        """As the model's own `chat`."""
        import ray

        reply, error = ray.get(self._hub.chat.remote(list(messages), options))
        if error is not None:
            raise error
        return reply  # type: ignore[no-any-return]
