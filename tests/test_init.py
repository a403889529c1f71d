"""The public names, and that importing them costs nothing until they are used."""

import importlib.metadata
import subprocess
import sys

import pytest

import seasoned

PUBLIC = {
    "ExpNote",
    "ExperiencePool",
    "Guidance",
    "Lesson",
    "LocalModel",
    "Memory",
    "OpenAIChat",
    "Outcome",
    "ScriptedModel",
    "SeasonedError",
    "Step",
    "Store",
    "Task",
    "Trajectory",
    "Usage",
    "run",
}
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


def test_the_public_names_are_these_and_each_is_there():
    assert set(seasoned.__all__) == PUBLIC
    assert {*PUBLIC, "__version__"} == set(dir(seasoned))
    for name in PUBLIC:
        assert getattr(seasoned, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Storr'"):
        _ = seasoned.Storr


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
