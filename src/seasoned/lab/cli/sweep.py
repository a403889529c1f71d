"""Sweeps: `-c train=20,40,80` is a run for each value, and for each combination where several settings have several.

Always holds: only numbers and true or false are taken apart, so a text with a comma stays a text; each run bears its
values in its name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_VALUES = re.compile(r"\s*(?:[+-]?\d[\d_]*(?:\.\d+)?|true|false)(?:\s*,\s*(?:[+-]?\d[\d_]*(?:\.\d+)?|true|false))+\s*")


def combinations(settings: Sequence[str]) -> list[list[str]]:
    """The settings of each run; one list where nothing is swept."""
    choices = []
    for setting in settings:
        key, sign, values = setting.partition("=")
        swept = sign and _VALUES.fullmatch(values)
        choices.append([f"{key}={value.strip()}" for value in values.split(",")] if swept else [setting])
    return [list(chosen) for chosen in itertools.product(*choices)]


def label(chosen: Sequence[str], settings: Sequence[str]) -> str:
    """What tells one run of a sweep from the others: "train20-seeds2"."""
    own = (one.partition("=") for one, given in zip(chosen, settings, strict=True) if one != given)
    return "-".join(key.rpartition(".")[2].strip() + value for key, _, value in own)
