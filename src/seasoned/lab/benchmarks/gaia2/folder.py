"""Gaia2's own files: a folder DIR/<config>/<split>/*.json, each a scenario as ARE exports it.

Always holds: files are untrusted; one that is not a scenario is named and left out; nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seasoned.errors import DataError
from seasoned.types import Task

_UNIVERSE = re.compile(r"universe_(\d+)", re.ASCII)
_TEXTS = {
    "send_message_to_user",
    "send_email",
    "reply_to_email",
    "send_message",
    "send_message_to_group_conversation",
    "create_group_conversation",
    "change_conversation_title",
    "add_calendar_event",
    "edit_contact",
    "order_ride",
}
"""Functions with a text argument that ARE's judge compares with a model."""


def read_folder(root: Path, configs: Sequence[str], split: str) -> tuple[list[Task], list[str]]:
    """The scenarios of these configs (the tasks' categories), and the faults of the files that cannot be read.

    A task's data has `judged`: whether its oracle writes a text, which a model has to compare.

    Raises:
        DataError: there is no file, or none can be read.
    """
    files = [(config, path) for config in configs for path in sorted((root / config / split).glob("*.json"))]
    if not files:
        patterns = " and ".join(f"{config}/{split}/*.json" for config in configs)
        raise DataError(f"{root} should hold {patterns}, as Gaia2's data does, but has none of them")
    tasks: list[Task] = []
    broken: list[str] = []
    for config, path in files:
        try:
            tasks.append(_task(config, path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            broken.append(f"{path}: {type(error).__name__}: {error}")
    if not tasks:
        raise DataError(f"none of the {len(files)} scenarios can be read; the first: {broken[0]}")
    return tasks, broken


def _task(config: str, path: Path) -> Task:
    raw = json.loads(path.read_text(encoding="utf-8"))
    name = str(raw["metadata"]["definition"]["scenario_id"])
    match = _UNIVERSE.search(name)
    if match is None:
        raise ValueError(f"its id, {name!r}, does not say which universe it belongs to")
    events = list(raw["events"])
    first = [event for event in events if _function(event) == "send_message_to_agent" and not event["dependencies"]]
    text = "\n".join(_content(event) for event in first).strip()
    if not text:
        raise ValueError("it has no first message of the user")
    oracle = {_function(event) for event in events if event.get("class_name") == "OracleEvent"}
    if not oracle:
        raise ValueError("it has no oracle")
    data = {"file": str(path.resolve()), "universe": int(match[1]), "judged": bool(oracle & _TEXTS)}
    return Task(id=name, text=text, category=config, data=data)


def _function(event: dict[str, Any]) -> str:
    action = event.get("action")
    return str(action.get("function")) if isinstance(action, dict) else ""


def _content(event: dict[str, Any]) -> str:
    return next((str(arg["value"]) for arg in event["action"]["args"] or [] if arg["name"] == "content"), "")
