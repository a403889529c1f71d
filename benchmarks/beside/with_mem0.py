"""mem0 with its default store, Qdrant's local mode in a folder."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from datetime import UTC, datetime
from pathlib import Path

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from work import LESSON, NEAREST, Given, Job, Side

_WHO = "bench"


class Embedder(EmbeddingBase):
    """The given vectors as an embedder of mem0."""

    def __init__(self, given: Given) -> None:
        super().__init__()
        self._given = given

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._given.row(text).tolist()


def open_side(job: Job, given: Given, _option: str) -> Side:
    logging.getLogger().setLevel(logging.ERROR)
    folder = Path(job.folder)
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder / "qdrant"), "embedding_model_dims": given.dim, "on_disk": True},
            },
            "llm": {"provider": "openai", "config": {"model": "m", "api_key": "none", "openai_base_url": job.url}},
            "embedder": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = Embedder(given)

    def fill(texts: list[str]) -> None:
        now = datetime.now(UTC).isoformat()
        payloads = [
            {
                "user_id": _WHO,
                "role": "user",
                "data": text,
                "hash": hashlib.md5(text.encode()).hexdigest(),
                "created_at": now,
                "updated_at": now,
                "text_lemmatized": text,
            }
            for text in texts
        ]
        memory.vector_store.insert(given.lists(texts), payloads, [str(uuid.uuid4()) for _ in texts])

    def search(text: str) -> list[str]:
        matches = memory.search(text, filters={"user_id": _WHO}, top_k=NEAREST, threshold=0.0)
        return [each["memory"] for each in matches["results"]]

    def learn(messages: list[dict[str, str]]) -> None:
        assert memory.add(messages, user_id=_WHO)["results"]

    content = {"memory": [{"text": f"When {LESSON[0]}: {LESSON[1]}", "attributed_to": "user"}]}
    return Side(
        store="Qdrant's local mode, a folder; it advises against more than 20,000",
        fill=fill,
        add=lambda text: memory.add(text, user_id=_WHO, infer=False),
        search=search,
        learn=learn,
        reply={"role": "assistant", "content": json.dumps(content)},
        close=memory.close,
        why={"jobs": "it runs no jobs", "recall": "returns items"},
        notes={
            "fill": "through its vector store: Memory.add takes many, and adds them one by one",
            "add": "Memory.add(infer=False)",
            "search": "Memory.search(threshold=0)",
            "learn": "Memory.add(messages), its defaults",
        },
    )
