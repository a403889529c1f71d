"""Seasoned: LLM agents that learn from their own experience, in words a person can read.

These names are the public interface; each is imported on first use, so `import seasoned` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seasoned.errors import SeasonedError as SeasonedError
    from seasoned.llm.local import LocalModel as LocalModel
    from seasoned.llm.openai import OpenAIChat as OpenAIChat
    from seasoned.llm.scripted import ScriptedModel as ScriptedModel
    from seasoned.memory import Memory as Memory
    from seasoned.methods.expnote import ExpNote as ExpNote
    from seasoned.pool import ExperiencePool as ExperiencePool
    from seasoned.runner.experiment import run as run
    from seasoned.store.sql import Store as Store
    from seasoned.types import Guidance as Guidance
    from seasoned.types import Lesson as Lesson
    from seasoned.types import Outcome as Outcome
    from seasoned.types import Step as Step
    from seasoned.types import Task as Task
    from seasoned.types import Trajectory as Trajectory
    from seasoned.types import Usage as Usage

__version__ = "0.1.0"

_HOMES = {
    "ExpNote": "seasoned.methods.expnote",
    "ExperiencePool": "seasoned.pool",
    "Guidance": "seasoned.types",
    "Lesson": "seasoned.types",
    "LocalModel": "seasoned.llm.local",
    "Memory": "seasoned.memory",
    "OpenAIChat": "seasoned.llm.openai",
    "Outcome": "seasoned.types",
    "ScriptedModel": "seasoned.llm.scripted",
    "SeasonedError": "seasoned.errors",
    "Step": "seasoned.types",
    "Store": "seasoned.store.sql",
    "Task": "seasoned.types",
    "Trajectory": "seasoned.types",
    "Usage": "seasoned.types",
    "run": "seasoned.runner.experiment",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - asserted name by name in tests/test_init.py


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'seasoned' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
