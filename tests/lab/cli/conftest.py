"""The fixtures of the command line, for these tests too."""

import pytest
from command_line import *  # noqa: F403


@pytest.fixture(autouse=True)
def quick_reports(without_figures):
    """No test here looks at a plot."""
