"""Programs of tools/, experiments/ and benchmarks/ as modules."""

import importlib.util
import sys
from pathlib import Path


def program(place):
    """Run a file of the repository, such as tools/tour.py, as a module of its own."""
    path = Path(__file__).parents[2] / place
    spec = importlib.util.spec_from_file_location(place.replace("/", "_").removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
