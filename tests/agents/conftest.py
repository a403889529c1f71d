import pytest

from seasoned.lab.benchmarks import load_benchmark


@pytest.fixture
def lets():
    return load_benchmark("lets", {}, seed=0)


@pytest.fixture
def emoji():
    return load_benchmark("emoji", {"symbols": "codes"}, seed=0)
