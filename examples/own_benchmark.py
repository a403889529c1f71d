"""Your own benchmark, run without a model server. Run it: python examples/own_benchmark.py

A store room: the shelf of a thing can only be learned from experience. The model here is a function that reads notes
and writes them; for a real one, name it in the recipe ("llm": {"model": ..}), and leave out `llm=`.
"""

import re
from functools import partial

import seasoned

THINGS = ("lamp", "rope", "paint", "glue", "bucket", "saw", "nails", "wire")
SHELVES = {thing: f"shelf {number}" for number, thing in enumerate(THINGS, 2)}


def load(options, *, seed):
    """A recipe names this as `own_benchmark:load`; `options` is the rest of its [benchmark] section."""
    train = [seasoned.Task(id=f"ask-{x}", text=f"Where is the {x}?", data={"answer": at}) for x, at in SHELVES.items()]
    test = [seasoned.Task(id=f"get-{x}", text=f"Fetch the {x}.", data={"answer": at}) for x, at in SHELVES.items()]
    return seasoned.Benchmark(
        name="store-room",
        instruction="Name the shelf, such as shelf 1.",
        train=tuple(train),
        test=tuple(test),
        examples=(),
        retrieval=seasoned.Retrieval(k=3, share=1.0),
        max_turns=10,
        think_hint="what the notes say.",
        note_hint="Note the shelf under the name of the thing.",
        make_env=partial(seasoned.AnswerEnvironment, score, max_turns=10),
        source="made-up things",
    )


def score(text, data):
    return seasoned.Scored(text, text.strip() == data["answer"])


def model(messages):
    """Replaces a language model: guesses shelf 1 unless a note names the shelf."""
    case, last = "\n".join(m["content"] for m in messages), messages[-1]["content"]
    note = re.search(r"- \w+: (shelf \d)", case)
    right, thing = re.search(r"right answer is (shelf \d)", last), re.search(r"(?:Where is|Fetch) the (\w+)", case)
    if right:
        return f"NOTE[{thing[1]}]: {right[1]}\nEND"
    return f"ANSWER[{note[1] if note else 'shelf 1'}]"


if __name__ == "__main__":
    raw = {"name": "own", "benchmark": {"name": "own_benchmark:load"}, "train": 8, "test": 8}
    raw |= {"conditions": ["disabled", "expnote"], "agent": {"style": "free"}}
    with seasoned.Store("own.db") as store:
        folder = seasoned.run(seasoned.make_recipe(raw), store=store, llm=seasoned.ScriptedModel(model), quiet=True)
    print(seasoned.read_summary(folder).headline)
