"""LangMem on a store of LangGraph: the in-memory store of its guide, or the SQLite store."""

from __future__ import annotations

import json
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langmem import create_memory_store_manager
from work import LESSON, NEAREST, Given, Job, Side

_PLACE = ("memories", "bench")


def open_side(job: Job, given: Given, option: str) -> Side:
    # The in-memory store reads "fields", and the SQLite store (3.x) "text_fields", although its guide says otherwise.
    fields = ["content.content"]
    index: Any = {"dims": given.dim, "embed": given.lists, "fields": fields, "text_fields": fields}
    store = InMemoryStore(index=index) if option == "memory" else _sqlite(job, index)
    model = ChatOpenAI(model="m", base_url=job.url, api_key="none", max_retries=0, temperature=0)
    manager = create_memory_store_manager(model, namespace=_PLACE, store=store)

    def learn(messages: list[dict[str, str]]) -> None:
        assert manager.invoke({"messages": messages})

    def search(text: str) -> list[str]:
        return [item.value["content"]["content"] for item in store.search(_PLACE, query=text, limit=NEAREST)]

    call = {"name": "Memory", "arguments": json.dumps({"content": f"When {LESSON[0]}: {LESSON[1]}"})}
    calls = [{"id": "call-NUMBER", "type": "function", "function": call}]
    return Side(
        store="InMemoryStore, for development: lost at the end"
        if option == "memory"
        else "SqliteStore, for light use: a file",
        fill=lambda texts: store.batch([_put(text) for text in texts]),
        add=lambda text: store.put(_PLACE, str(uuid.uuid4()), _value(text)),
        search=search,
        learn=learn,
        reply={"role": "assistant", "content": None, "tool_calls": calls},
        jobs=lambda work: RunnableLambda(work).batch(list(range(64)), config={"max_concurrency": 16}),
        why={"recall": "returns items"},
        notes={
            "add": "store.put and store.batch",
            "search": "store.search",
            "learn": "create_memory_store_manager, its defaults",
            "jobs": "batch() of LangChain, which it stands on",
        },
    )


def _put(text: str) -> PutOp:
    return PutOp(_PLACE, str(uuid.uuid4()), _value(text))


def _value(text: str) -> dict[str, Any]:
    """A memory in the form that its manager stores and reads."""
    return {"kind": "Memory", "content": {"content": text}}


def _sqlite(job: Job, index: Any) -> Any:
    from langgraph.store.sqlite import SqliteStore

    path = str(Path(job.folder) / "store.db")
    store = SqliteStore(sqlite3.connect(path, check_same_thread=False, isolation_level=None), index=index)
    store.setup()
    return store
