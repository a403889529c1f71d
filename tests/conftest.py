"""What all tests share: the network is closed but for loopback, and nothing of the user's is touched."""

import socket

import pytest


@pytest.fixture(autouse=True)
def closed_network(monkeypatch):
    """Refuse every connection that does not stay on this machine."""
    real = socket.socket.connect

    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    """No keys, no data folder and no store of the person who runs the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SEASONED_DATA", "SEASONED_STORE", "SEASONED_RUNS"):
        monkeypatch.delenv(name, raising=False)
