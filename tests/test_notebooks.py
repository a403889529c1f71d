"""The notebooks run, and print what they say."""

import json
from pathlib import Path

import pytest
from loading import program

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
tool = program("tools/notebooks.py")


def test_there_are_three():
    assert [file.stem for file in NOTEBOOKS] == ["bring_your_agent", "read_a_run", "write_a_method"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_prints_what_it_says(file):
    notebook = json.loads(file.read_text(encoding="utf-8"))
    assert tool.printed(notebook) == tool.kept_outputs(notebook)
    assert any(tool.kept_outputs(notebook))


def test_a_cell_that_fails_is_told():
    broken = {"cells": [{"cell_type": "code", "source": ["1 / 0"], "outputs": []}]}
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        tool.printed(broken)
