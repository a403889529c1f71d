"""The overhead of a memory for each streamed chunk and each call of a client, with a server on loopback.

    python benchmarks/adapters.py [--lessons 1000] [--chunks 1000] [--times 30]

The plain client and the remembering one call in turn; the figures are medians over the pairs. They are processor time
of the calling thread (for coroutines the event loop's), so that other work on the machine counts little.
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
    """As `streamed`, for a client with coroutines."""
    began = time.thread_time()
    stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
    times = [time.thread_time() async for _ in stream]
    return times[0] - began, times[-1] - times[0], time.thread_time() - times[-1]


def added(measure, plain, mine, times, before):
    """The median extra time of the second client, and the median time of the first."""
    pairs = []
    for _ in range(times):
        before()
        one = measure(plain)
        before()
        pairs.append((one, measure(mine)))
    extra = [statistics.median(b[n] - a[n] for a, b in pairs) for n in range(len(pairs[0][0]))]
    return extra, [statistics.median(a[n] for a, _ in pairs) for n in range(len(pairs[0][0]))]


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--times", type=int, default=30)
    args = parser.parse_args()
    with (
        model_server() as server,
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory.db", embedder="hashing") as memory,
        openai.OpenAI(api_key="none", base_url=server.url) as plain,
        asyncio.Runner() as runner,
    ):
        texts = [f"Order {n} needs a look at its papers before anybody promises a refund." for n in range(args.lessons)]
        memory.pool.add([Lesson(kind="heuristic", text=text) for text in texts])
        memory.recall("refund order 17")
        words = "abcd" * (args.chunks - 3)  # the server adds a first and a last chunk, and [DONE]
        say = lambda: server.says(words)  # noqa: E731
        mine, later = remembering(memory, plain), openai.AsyncOpenAI(api_key="none", base_url=server.url)
        rows = [("a call", added(called, plain, mine, args.times, lambda: server.says("done")), ("all of it",))]
        parts = ("the first chunk", "each chunk", "the end")
        rows.append(("a stream", added(streamed, plain, mine, args.times, say), parts))
        run = lambda client: runner.run(streamed_later(client))  # noqa: E731
        rows.append(("a stream in coroutines", added(run, later, remembering(memory, later), args.times, say), parts))
        runner.run(later.close())
    print(f"{args.lessons:,} lessons, {args.chunks:,} chunks, medians of {args.times} pairs")
    for name, (extras, bases), what in rows:
        for part, extra, base in zip(what, extras, bases, strict=True):
            each = args.chunks if part == "each chunk" else 1
            print(f"{name:24} {part:16} +{extra / each * 1e6:10,.1f} µs   to {base / each * 1e6:10,.1f} µs")


if __name__ == "__main__":
    main()
