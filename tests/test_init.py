"""The public names, and that importing them costs nothing until they are used."""

import ast
import importlib.metadata
import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import seasoned

HEAVY = (
    "numpy",
    "sqlalchemy",
    "alembic",
    "openai",
    "httpx",
    "jinja2",
    "scipy",
    "matplotlib",
    "xllamacpp",
    "wordllama",
    "genai_prices",
)


def loaded(code):
    """Which modules a new process has after running this."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules))"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def declared():
    """The public names and their homes, as a type checker reads them."""
    tree = ast.parse(inspect.getsource(seasoned))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {name.asname: node.module for node in block.body for name in node.names}


def test_the_public_names_are_each_there_and_known_to_type_checkers():
    assert declared() == seasoned._HOMES
    assert [*seasoned.__all__, "__version__"] == seasoned.__dir__()
    for name, home in declared().items():
        assert getattr(seasoned, name) is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'Storr'"):
        _ = seasoned.Storr


def test_what_a_run_a_model_or_a_benchmark_of_ones_own_needs_is_public():
    run = {"run", "make_recipe", "load_recipe", "Recipe", "read_summary", "Store"}
    own = {"LLM", "Reply", "Message", "Usage", "Embedder", "Environment", "Agent", "Method", "Benchmark", "check_llm"}
    assert run | own | {"ConfigError", "StoreError", "LLMError", "SeasonedError"} <= set(seasoned.__all__)


def test_the_version_is_that_of_the_project():
    try:
        installed = importlib.metadata.version("seasoned")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("seasoned is not installed")
    assert seasoned.__version__ == installed


def test_importing_seasoned_imports_nothing_heavy():
    assert not loaded("import seasoned") & {*HEAVY, "pydantic", "typer", "rich"}


def test_the_command_line_imports_nothing_heavy_before_a_command_needs_it():
    assert not loaded("import seasoned.cli") & set(HEAVY)
