"""What a memory adds to each streamed chunk and to each call of a client, from a server on loopback.

    python benchmarks/adapters.py [--lessons 1000] [--chunks 1000] [--times 30]

The plain client and the one that remembers ask in turns; the figures are medians over the pairs. They are processor
time of the thread that asks, so that what else the machine does counts little; of coroutines it is the event loop's.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import openai

from seasoned import Memory
from seasoned.adapters.openai import remembering
from seasoned.types import Lesson

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "shared"))
from model_server import model_server

ASK = [{"role": "user", "content": "refund order 17"}]


def streamed(client):
    """Seconds until the first chunk, from the first to the last, and from the last to the end."""
    began = time.thread_time()
    stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
    times = [time.thread_time() for _ in stream]
    return times[0] - began, times[-1] - times[0], time.thread_time() - times[-1]


def called(client):
    """Seconds of a call that does not stream."""
    began = time.thread_time()
    client.chat.completions.create(model="m", messages=ASK)
    return (time.thread_time() - began,)


async def streamed_later(client):
    """As `streamed`, of the client for coroutines."""
    began = time.thread_time()
    stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
    times = [time.thread_time() async for _ in stream]
    return times[0] - began, times[-1] - times[0], time.thread_time() - times[-1]


def added(measure, plain, mine, times, before):
    """Medians of what the second client takes more than the first, and of what the first takes."""
    pairs = []
    for _ in range(times):
        before()
        one = measure(plain)
        before()
        pairs.append((one, measure(mine)))
    more = [statistics.median(b[n] - a[n] for a, b in pairs) for n in range(len(pairs[0][0]))]
    return more, [statistics.median(a[n] for a, _ in pairs) for n in range(len(pairs[0][0]))]


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--times", type=int, default=30)
    wanted = parser.parse_args()
    with (
        model_server() as play,
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory.db", embedder="hashing") as memory,
        openai.OpenAI(api_key="none", base_url=play.url) as plain,
        asyncio.Runner() as runner,
    ):
        texts = [
            f"Order {n} needs a look at its papers before anybody promises a refund." for n in range(wanted.lessons)
        ]
        memory.pool.add([Lesson(kind="heuristic", text=text) for text in texts])
        memory.recall("refund order 17")
        words = "abcd" * (wanted.chunks - 3)  # the server adds a first and a last chunk, and [DONE]
        say = lambda: play.says(words)  # noqa: E731
        mine, later = remembering(memory, plain), openai.AsyncOpenAI(api_key="none", base_url=play.url)
        rows = [("a call", added(called, plain, mine, wanted.times, lambda: play.says("done")), ("all of it",))]
        parts = ("the first chunk", "each chunk", "the end")
        rows.append(("a stream", added(streamed, plain, mine, wanted.times, say), parts))
        run = lambda client: runner.run(streamed_later(client))  # noqa: E731
        rows.append(("a stream in coroutines", added(run, later, remembering(memory, later), wanted.times, say), parts))
        runner.run(later.close())
    print(f"{wanted.lessons:,} lessons, {wanted.chunks:,} chunks, medians of {wanted.times} pairs")
    for name, (more, alone), what in rows:
        for part, extra, was in zip(what, more, alone, strict=True):
            each = wanted.chunks if part == "each chunk" else 1
            print(f"{name:24} {part:16} +{extra / each * 1e6:10,.1f} µs   to {was / each * 1e6:10,.1f} µs")


if __name__ == "__main__":
    main()
