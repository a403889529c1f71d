import pytest

from seasoned.store.sql import Store


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "seasoned.db") as opened:
        yield opened
