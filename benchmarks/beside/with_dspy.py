"""DSPy: it optimises programs and has no memory, so its closest parts are measured."""

from __future__ import annotations

from typing import Any

import dspy
from work import LESSON, NEAREST, Given, Job, Side

_EXACT = 10**9  # texts up to which it searches exactly, as the others do; by default 20,000, and faiss above


class Waiting(dspy.Module):
    """A job as a program of DSPy."""

    def __init__(self, work: Any) -> None:
        super().__init__()
        self._work = work

    def forward(self, number: int) -> Any:
        self._work(number)
        return dspy.Prediction(number=number)


def open_side(job: Job, given: Given, _option: str) -> Side:
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    dspy.configure(lm=dspy.LM("openai/m", api_base=job.url, api_key="none", cache=False, num_retries=0))
    embedder = dspy.Embedder(given.rows, caching=False, batch_size=1000)
    texts: list[str] = []
    index: list[Any] = []
    lessons: list[str] = []
    signature = dspy.Signature("attempt -> trigger, action", "Say what the attempt teaches for the next time.")
    teach = dspy.Predict(signature)

    def build() -> None:
        index[:] = [dspy.retrievers.Embeddings(list(texts), embedder, k=NEAREST, brute_force_threshold=_EXACT)]

    def learn(messages: list[dict[str, str]]) -> None:
        made = teach(attempt="\n".join(f"{message['role']}: {message['content']}" for message in messages))
        lessons.append(f"When {made.trigger}: {made.action}")

    def jobs(work: Any) -> None:
        program = Waiting(work)
        run = dspy.Parallel(num_threads=16, disable_progress_bar=True)
        run([(program, dspy.Example(number=number).with_inputs("number")) for number in range(64)])

    def search(text: str) -> list[str]:
        return list(index[0](text).passages)

    return Side(
        store="none: an index in memory",
        fill=texts.extend,
        filled=build,
        search=search,
        learn=learn,
        reply={
            "role": "assistant",
            "content": f"[[ ## trigger ## ]]\n{LESSON[0]}\n\n[[ ## action ## ]]\n{LESSON[1]}\n\n[[ ## completed ## ]]",
        },
        jobs=jobs,
        why={
            "add": "builds a new index",
            "again": "builds a new index",
            "recall": "returns items",
        },
        notes={
            "fill": "an index built at once, not stored",
            "search": "dspy.retrievers.Embeddings, exact; it waits up to 0.1 s for more queries to go with one",
            "learn": "its optimisers need a metric and many runs, so: one dspy.Predict, kept in a list of ours",
            "jobs": "dspy.Parallel",
        },
    )
