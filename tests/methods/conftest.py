import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def pool(store):
    return ExperiencePool(store, "test", embedder=HashingEmbedder())
