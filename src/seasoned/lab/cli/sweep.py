"""Sweeps: `-c train=20,40,80` makes a run for each value, or for each combination of several settings.

Always holds: only numbers and true or false are split, so a text with a comma stays a text; the name of each run
contains its values.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_VALUES = re.compile(r"\s*(?:[+-]?\d[\d_]*(?:\.\d+)?|true|false)(?:\s*,\s*(?:[+-]?\d[\d_]*(?:\.\d+)?|true|false))+\s*")


def combinations(settings: Sequence[str]) -> list[list[str]]:
    """The settings of each run; one list if no setting has several values."""
    choices = []
    for setting in settings:
        key, sign, values = setting.partition("=")
        swept = sign and _VALUES.fullmatch(values)
        choices.append([f"{key}={value.strip()}" for value in values.split(",")] if swept else [setting])
    return [list(chosen) for chosen in itertools.product(*choices)]


def label(chosen: Sequence[str], settings: Sequence[str]) -> str:
    """The label that distinguishes a run of a sweep: "train20-seeds2"."""
    changed = (one.partition("=") for one, given in zip(chosen, settings, strict=True) if one != given)
    return "-".join(key.rpartition(".")[2].strip() + value for key, _, value in changed)
