"""The files of a run as the tests read them."""

import json


def lines(directory, name):
    """The rows of a JSONL file."""
    return [json.loads(line) for line in (directory / name).read_text(encoding="utf-8").split("\n") if line]


def summary(directory):
    return json.loads((directory / "summary.json").read_text(encoding="utf-8"))


def by_name(directory):
    """The figures of each condition."""
    return {block["name"]: block for block in summary(directory)["conditions"]}
