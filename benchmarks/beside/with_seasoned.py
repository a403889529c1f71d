"""Seasoned: Memory with its SQLite store, and ERL, which learns from one attempt at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from work import LESSON, NEAREST, Given, Job, Side

from seasoned.jobs import run_jobs
from seasoned.llm.openai import OpenAIChat
from seasoned.memory import Memory


class Embedder:
    """The given vectors as an embedder of Seasoned."""

    name = "given"

    def __init__(self, given: Given) -> None:
        self.dim, self._given = given.dim, given

    def embed(self, texts: Sequence[str]) -> Any:
        return self._given.rows(list(texts))


def open_side(job: Job, given: Given, _option: str) -> Side:
    model = OpenAIChat("m", base_url=job.url, max_retries=0)
    # The others quarantine nothing, so neither does this one: the lesson repeats a limit from a tool's result.
    memory = Memory(Path(job.folder) / "memory.db", method="erl", llm=model, embedder=Embedder(given), trust="page")

    def search(text: str) -> list[str]:
        return [lesson.text for lesson, _ in memory.pool.nearest_lessons(text, NEAREST)]

    def learn(messages: list[dict[str, str]]) -> None:
        with memory.attempt(messages[0]["content"]) as made:
            made.messages(messages)
            made.finish(success=False)
        assert len(memory.learn().lessons) == 1

    def close() -> None:
        memory.close()
        model.close()

    content = {"analysis": "The order was promised before it was looked up.", "trigger": LESSON[0], "action": LESSON[1]}
    return Side(
        store="its SQLite file",
        fill=memory.add,
        filled=lambda: search(job.queries[0]),  # the first search makes and stores the vectors
        add=memory.add,
        search=search,
        recall=memory.recall,
        learn=learn,
        reply={"role": "assistant", "content": json.dumps(content)},
        jobs=lambda work: run_jobs(work, range(64), 16),
        close=close,
        notes={
            "fill": "Memory.add of 1,000 at a time; the vectors, made at the first search, are included",
            "search": "memory.pool.nearest_lessons",
            "learn": "an attempt with its guidance, recorded, then Memory.learn with erl",
        },
    )
