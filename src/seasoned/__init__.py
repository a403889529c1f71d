"""Seasoned: LLM agents that learn from their own experience, in plain language.

These names are the public interface. Each is imported on first use, so `import seasoned` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seasoned.agents.dialogue import Dialogue as Dialogue
    from seasoned.agents.react import React as React
    from seasoned.contracts import check_embedder as check_embedder
    from seasoned.contracts import check_environment as check_environment
    from seasoned.contracts import check_llm as check_llm
    from seasoned.embed import embedder as embedder
    from seasoned.errors import BudgetExceeded as BudgetExceeded
    from seasoned.errors import ConfigError as ConfigError
    from seasoned.errors import ConflictError as ConflictError
    from seasoned.errors import ContractError as ContractError
    from seasoned.errors import DataError as DataError
    from seasoned.errors import LLMError as LLMError
    from seasoned.errors import MissingExtraError as MissingExtraError
    from seasoned.errors import ParseError as ParseError
    from seasoned.errors import SeasonedError as SeasonedError
    from seasoned.errors import StoreError as StoreError
    from seasoned.lab.benchmarks import load_benchmark as load_benchmark
    from seasoned.lab.benchmarks.answer import AnswerEnvironment as AnswerEnvironment
    from seasoned.lab.benchmarks.answer import Scored as Scored
    from seasoned.lab.benchmarks.base import Benchmark as Benchmark
    from seasoned.lab.benchmarks.base import Retrieval as Retrieval
    from seasoned.lab.methods.autoguide import AutoGuide as AutoGuide
    from seasoned.lab.methods.teachme import TeachMe as TeachMe
    from seasoned.lab.run.experiment import run as run
    from seasoned.lab.run.recipe import Recipe as Recipe
    from seasoned.lab.run.recipe import load_recipe as load_recipe
    from seasoned.lab.run.recipe import make_recipe as make_recipe
    from seasoned.lab.run.rundir import read_summary as read_summary
    from seasoned.lab.run.rundir import to_dataframe as to_dataframe
    from seasoned.llm.budget import Budget as Budget
    from seasoned.llm.budget import Metered as Metered
    from seasoned.llm.journal import Journaled as Journaled
    from seasoned.llm.local import LocalModel as LocalModel
    from seasoned.llm.openai import OpenAIChat as OpenAIChat
    from seasoned.llm.scripted import ScriptedModel as ScriptedModel
    from seasoned.memory import Attempt as Attempt
    from seasoned.memory import Memory as Memory
    from seasoned.methods import make_method as make_method
    from seasoned.methods.erl import ERL as ERL
    from seasoned.methods.expel import ExpeL as ExpeL
    from seasoned.methods.expnote import ExpNote as ExpNote
    from seasoned.methods.nearest import NearestCases as NearestCases
    from seasoned.methods.reflexion import Reflexion as Reflexion
    from seasoned.pool import ExperiencePool as ExperiencePool
    from seasoned.protocols import LLM as LLM
    from seasoned.protocols import Agent as Agent
    from seasoned.protocols import Embedder as Embedder
    from seasoned.protocols import Environment as Environment
    from seasoned.protocols import Method as Method
    from seasoned.store.sql import Store as Store
    from seasoned.types import Block as Block
    from seasoned.types import Entry as Entry
    from seasoned.types import Guidance as Guidance
    from seasoned.types import Lesson as Lesson
    from seasoned.types import Message as Message
    from seasoned.types import Outcome as Outcome
    from seasoned.types import Reply as Reply
    from seasoned.types import Step as Step
    from seasoned.types import Task as Task
    from seasoned.types import ToolCall as ToolCall
    from seasoned.types import Trajectory as Trajectory
    from seasoned.types import Usage as Usage

__version__ = "0.1.0"

_NAMES = {
    "seasoned.agents.dialogue": "Dialogue",
    "seasoned.agents.react": "React",
    "seasoned.lab.benchmarks": "load_benchmark",
    "seasoned.lab.benchmarks.answer": "AnswerEnvironment Scored",
    "seasoned.lab.benchmarks.base": "Benchmark Retrieval",
    "seasoned.contracts": "check_embedder check_environment check_llm",
    "seasoned.embed": "embedder",
    "seasoned.errors": "BudgetExceeded ConfigError ConflictError ContractError DataError LLMError MissingExtraError "
    "ParseError SeasonedError StoreError",
    "seasoned.llm.budget": "Budget Metered",
    "seasoned.llm.journal": "Journaled",
    "seasoned.llm.local": "LocalModel",
    "seasoned.llm.openai": "OpenAIChat",
    "seasoned.llm.scripted": "ScriptedModel",
    "seasoned.memory": "Attempt Memory",
    "seasoned.methods": "make_method",
    "seasoned.lab.methods.autoguide": "AutoGuide",
    "seasoned.methods.erl": "ERL",
    "seasoned.methods.expel": "ExpeL",
    "seasoned.methods.expnote": "ExpNote",
    "seasoned.methods.nearest": "NearestCases",
    "seasoned.methods.reflexion": "Reflexion",
    "seasoned.lab.methods.teachme": "TeachMe",
    "seasoned.pool": "ExperiencePool",
    "seasoned.protocols": "LLM Agent Embedder Environment Method",
    "seasoned.lab.run.experiment": "run",
    "seasoned.lab.run.recipe": "Recipe load_recipe make_recipe",
    "seasoned.lab.run.rundir": "read_summary to_dataframe",
    "seasoned.store.sql": "Store",
    "seasoned.types": "Block Entry Guidance Lesson Message Outcome Reply Step Task ToolCall Trajectory Usage",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - asserted name by name in tests/test_init.py


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'seasoned' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
