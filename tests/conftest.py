"""What all tests share: the network is closed but for loopback, and nothing of the user's is touched."""

import gc
import json
import os
import random
import re
import socket
import ssl
import sys
import threading
import uuid
from pathlib import Path

import pytest
from hypothesis import settings

from seasoned.errors import ConfigError
from seasoned.lab.benchmarks.emoji import OWN_TEXTS
from seasoned.lab.benchmarks.install import interpreter
from seasoned.store import upgrade
from seasoned.store.schema import HEAD, VERSION_TABLE

# Where the environment forbids bytecode, each process that a test starts would compile all that it imports anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Each client of a model would read all certificates, which takes longer than most tests; no test uses TLS.
ssl.SSLContext.load_verify_locations = lambda *args, **options: None

# How long an example takes depends on what else the machine does.
settings.register_profile("seasoned", deadline=None)
settings.load_profile("seasoned")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One process more than there are cores, since tests wait for disks, servers and other processes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) + 1


STORE_TESTS = Path(__file__).parent / "store"
_MADE = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
_recorded: list[str] = []


def pytest_configure():
    """No keys, no data folder and no store of the person who runs the tests, also for fixtures of a whole module."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "SEASONED_DATA",
        "SEASONED_STORE",
        "SEASONED_RUNS",
        "ALFWORLD_DATA",
        "TAU2_DATA_DIR",
    ):
        os.environ.pop(name, None)


def pytest_collection_finish():
    """Thousands of collected tests are never garbage, so no collection of garbage looks at them again."""
    gc.collect()
    gc.freeze()


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
def quick_stores(request, monkeypatch):
    """Makes the tables of a new SQLite store from recorded statements; the tests of the store run the migrations."""
    if STORE_TESTS in request.path.parents:
        return
    real = upgrade._run_migrations

    def run(connection):
        if connection.dialect.name != "sqlite" or connection.exec_driver_sql(_MADE).first() is not None:
            real(connection)
        elif _recorded:
            for statement in _recorded:
                connection.exec_driver_sql(statement)
        else:
            real(connection)
            _recorded.extend(row[0] for row in connection.exec_driver_sql(_MADE))
            _recorded.append(f"INSERT INTO {VERSION_TABLE} VALUES ('{HEAD}')")

    monkeypatch.setattr(upgrade, "_run_migrations", run)


@pytest.fixture
def without_figures(monkeypatch):
    """Reports without plots, which take half of a small run's time; the tests of reports draw them."""
    monkeypatch.setattr("seasoned.lab.report.html.draw_figures", lambda summary: [])


@pytest.fixture
def fixed_coins(monkeypatch):
    """Makes ids and a holdout's key the same in every run, and so every coin that is drawn from them."""
    dice = random.Random(0)
    monkeypatch.setattr("seasoned.types.uuid.uuid4", lambda: uuid.UUID(int=dice.getrandbits(128), version=4))
    monkeypatch.setattr("seasoned.memory.holdout.secrets.token_hex", lambda size: dice.randbytes(size).hex())


@pytest.fixture(scope="session")
def engine_python():
    """The Python that has ALFWorld's engine; where there is none, the test is skipped."""
    try:
        return os.environ.get("SEASONED_ALFWORLD_PYTHON", "") or str(interpreter("alfworld"))
    except ConfigError as error:
        pytest.skip(f"{error}, or name its Python in SEASONED_ALFWORLD_PYTHON")


@pytest.fixture(scope="session")
def tau2_python():
    """The Python that has τ²-bench's engine; where there is none, the test is skipped."""
    try:
        return os.environ.get("SEASONED_TAU2_PYTHON", "") or str(interpreter("tau2"))
    except ConfigError as error:
        pytest.skip(f"{error}, or name its Python in SEASONED_TAU2_PYTHON")


@pytest.fixture(scope="session")
def are_python():
    """The Python that has ARE, which Gaia2 runs on; where there is none, the test is skipped."""
    try:
        return os.environ.get("SEASONED_GAIA2_PYTHON", "") or str(interpreter("gaia2"))
    except ConfigError as error:
        pytest.skip(f"{error}, or name its Python in SEASONED_GAIA2_PYTHON")


class Apprentice:
    """Plays a model that knows what a text feels like, and of the codes only what its notes say.

    `stop` is given the number of each call from 1 and may raise; `answered` holds the requests that were answered.
    """

    def __init__(self):
        texts = (json.loads(line) for line in OWN_TEXTS.read_text(encoding="utf-8").splitlines())
        self.feelings = {" ".join(row["text"].split()): row["emotion"] for row in texts}
        self.stop = lambda call: None
        self.calls = 0
        self.answered = []
        self.lock = threading.Lock()

    def __call__(self, messages):
        with self.lock:
            self.calls += 1
            call = self.calls
        self.stop(call)
        reply = self.say(messages)
        with self.lock:
            self.answered.append(json.dumps(messages))
        return reply

    def say(self, messages):
        last = messages[-1]["content"]
        asked = [m["content"].splitlines()[0] for m in messages if m["content"].endswith("\nTHINK")]
        feeling = self.feelings.get(asked[-1], "?") if asked else "?"
        if last.endswith("THINK"):
            return feeling
        if last.endswith("NOTE"):
            right = re.search(r"right answer is (\S+)\.", last)
            code = right[1] if right else messages[-2]["content"].strip('"')
            return json.dumps([f"{code}: {feeling}"])
        choices = next(line for line in last.splitlines() if re.fullmatch(r"\S\S(  \S\S){3}", line)).split()
        noted = dict(re.findall(r"^- (\S+): (.+)$", last, re.MULTILINE))
        fits = [code for code in choices if feeling in noted.get(code, "")]
        return json.dumps((fits or choices)[0])


@pytest.fixture(scope="session")
def new_apprentice():
    """Makes an apprentice, for fixtures of a whole module."""
    return Apprentice


@pytest.fixture
def apprentice():
    return Apprentice()
