"""Figures of model calls: the overhead of the framework over the raw `openai` client, with many lessons in the store.

The server answers at once and runs in its own process. Always holds: both sides send the same messages and options to
the same server, in turn, so that other work on the machine slows both.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

import openai
from samples import fresh_store, notes
from timing import Figure, Sizes, above, in_turn

from seasoned import loop
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.conditions import dialogue
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.part import Session
from seasoned.lab.run.recipe import Recipe, make_recipe
from seasoned.lab.run.settings import Limits
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.openai import OpenAIChat
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.expnote import ExpNote
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Message, Task, Trajectory

_SERVER = Path(__file__).with_name("loopback.py")


@contextmanager
def answering(pause: float = 0.0, program: Path = _SERVER) -> Iterator[str]:
    """Run a server during the block, which waits `pause` seconds before each answer; yields its address."""
    with subprocess.Popen(
        [sys.executable, str(program), str(pause)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"  # the end of the block closes its stdin


@contextmanager
def answering_model(pause: float = 0.0, told: object = None) -> Iterator[OpenAIChat]:
    """A model on such a server, which gives the message `told`, if any, as each answer."""
    with answering(pause) as url, closing(OpenAIChat("m", base_url=url, max_retries=0)) as model:
        if told is not None:
            with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
                client.put("/told", body=told, cast_to=object)
        yield model


def figures(sizes: Sizes) -> list[Figure]:
    """The raw client, and the extra time of a single call and of a call within an episode."""
    with answering() as url, fresh_store() as store:
        ExperiencePool(store, "bench").add(notes(sizes.lessons))
        store.add_run("bench", "bench", "", {})
        raw = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        with closing(raw), closing(OpenAIChat("m", base_url=url, max_retries=0)) as model:
            return [*_single(sizes, raw, model, store), *_episodes(sizes, raw, model, store)]


def _single(sizes: Sizes, raw: openai.OpenAI, model: OpenAIChat, store: Store) -> list[Figure]:
    session = _session(model, store)
    kept = session.journaled("single")
    prompt, number = emoji_prompt(), count()

    def plain() -> None:
        ask_raw(raw, prompt, next(number))

    def wrapped() -> None:
        kept.chat(_case(prompt, next(number)), max_tokens=80)

    bare, full = in_turn((plain, wrapped), sizes.repeats, inner=sizes.calls)
    what = f"a call above raw: metered, journalled, {sizes.lessons:,} lessons in the store"
    return [Figure("a call of the raw openai client", bare), above(what, bare, full, target=1e-3)]


def _episodes(sizes: Sizes, raw: openai.OpenAI, model: OpenAIChat, store: Store) -> list[Figure]:
    """A test episode of EMOJI in the guided dialogue, with recall among 10,000 notes and its record."""
    session, number = _session(model, store), count()
    return [_episode(on, sizes, raw, session, number) for on in ("thought", "question")]


def _episode(
    on: Literal["thought", "question"], sizes: Sizes, raw: openai.OpenAI, session: Session, number: count[int]
) -> Figure:
    benchmark = load_benchmark("emoji", {"symbols": "codes"}, seed=0)
    make_agent = partial(dialogue, _recipe(on), benchmark, training=())
    method, pool = ExpNote(k=5, on=on), ExperiencePool(session.store, "bench", read_only=True)
    keys = [note.key for note in session.store.lessons("bench", limit=400)]
    task = benchmark.test[0]
    tasks = _tasks(task, 2 * (2 + (sizes.repeats + 1) * sizes.calls), keys)

    def attempt() -> Trajectory:
        turn = next(number)
        fresh = tasks[turn % len(tasks)]
        key = EpisodeKey("s0f0", "bench", str(turn))
        agent = make_agent(llm=session.journaled(str(key), session.meter(), turns=True))
        with closing(benchmark.make_env(False)) as env:
            made = loop.attempt(agent, env, fresh, partial(loop.recall, method, fresh, pool))
        session.record(key, "out", made)
        return made

    requests = _requests(attempt(), task.data["choices"])

    def plain() -> None:
        for request in requests:
            _create(raw, **request)

    times, each = max(1, sizes.calls // len(requests)), len(requests)
    spent = [tuple(one / each for one in side) for side in in_turn((plain, attempt), sizes.repeats, inner=times)]
    return above(f"a call above raw: whole EMOJI episode, notes for the {on}", *spent, target=1e-3)


def _session(model: OpenAIChat, store: Store) -> Session:
    return Session(store, Path("bench"), Metered(model, Budget(), scope="run"), Limits(calls=10**6), {})


def _recipe(on: str = "thought") -> Recipe:
    return make_recipe({"name": "bench", "benchmark": {"name": "emoji", "symbols": "codes"}, "method": {"on": on}})


def emoji_prompt() -> list[Message]:
    """The messages before a case of EMOJI, about 20."""
    benchmark = load_benchmark("emoji", {"symbols": "codes"}, seed=0)
    return dialogue(_recipe(), benchmark, ScriptedModel([]), ()).preamble()


def ask_raw(raw: openai.OpenAI, prompt: Sequence[Message], number: int) -> None:
    """Let the raw client ask for the thought of a case."""
    _create(raw, _case(prompt, number), max_tokens=80)


def _case(prompt: Sequence[Message], number: int) -> list[Message]:
    return [*prompt, {"role": "user", "content": f"Case {number}: I found my lost dog again today.\nTHINK"}]


def _tasks(task: Task, n: int, keys: Sequence[str]) -> list[Task]:
    """The task n times with different texts; each contains the keys of five notes."""
    variants = [f"Case {i}: {' '.join(keys[i % 40 :: 10][:5])} {task.text}" for i in range(n)]
    return [task.model_copy(update={"id": f"{task.id}-{i}", "text": text}) for i, text in enumerate(variants)]


def _requests(made: Trajectory, choices: Sequence[str]) -> list[dict[str, Any]]:
    """The requests of an episode, as the raw client sends them: the thought, then the answer with its schema."""
    ends = [place for place, message in enumerate(made.messages) if message["role"] == "assistant"][-made.usage.calls :]
    schema = {"type": "string", "enum": list(choices)}
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}
    thought = {"messages": list(made.messages[: ends[0]]), "max_tokens": 80, "stop": ["\n"]}
    answer = {"messages": list(made.messages[: ends[-1]]), "max_tokens": 24, "response_format": form}
    return [thought, answer]


def _create(raw: openai.OpenAI, messages: Any, **options: Any) -> None:
    raw.chat.completions.create(model="m", messages=messages, temperature=0.0, seed=0, **options)
