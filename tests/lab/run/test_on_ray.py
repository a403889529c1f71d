"""Runs on Ray come to what runs in one process come to, also where a machine goes in the middle.

Two nodes of a cluster are here two sets of processes on loopback.
"""

import json
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import pytest

from seasoned.errors import BudgetExceeded, ConfigError, InfrastructureError, MissingExtraError
from seasoned.lab.run.experiment import run
from seasoned.lab.run.rundir import read_summary
from seasoned.store.sql import Store

RECIPE = """
name = "small"
conditions = ["disabled", "expnote"]
train = 10
test = 10
workers = 4
benchmark = {{ name = "emoji", symbols = "codes" }}
llm = {{ model = "played", base_url = "{url}" }}
"""


@pytest.fixture(scope="module")
def nodes():
    """A cluster of two nodes that this process is connected to; the second one can be killed."""
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")
    ray = pytest.importorskip("ray", exc_type=ImportError)
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **memory})
    second = cluster.add_node(num_cpus=1, **memory)
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    yield cluster, second
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def served(recipe, server):
    """A recipe whose model is a server on loopback."""

    def make(**changes):
        model = {"model": "apprentice", "base_url": server.url}
        raw = {"conditions": ["disabled", "expnote"], "train": 12, "test": 12, "workers": 4, "llm": model}
        return recipe(**{**raw, **changes})

    return make


def came_to(store, directory):
    """What must not depend on who made it: each episode's steps and verdict, and the table."""
    made = {key: (t.outcome, [step.action for step in t.steps]) for key, t in store.episodes(directory.name).items()}
    rows = read_summary(directory).to_json()["conditions"]
    return made, [{name: row[name] for name in ("name", "n", "successes", "errors", "tokens")} for row in rows]


def here_and_there(recipe, tmp_path, server, **more):
    """The same run in this process and on Ray, and how many requests each made."""
    found, asked = [], []
    for place in ("", "ray"):
        with Store(tmp_path / f"{place or 'here'}.db") as store:
            before = server.apprentice.calls
            directory = run(recipe, store=store, runs_dir=tmp_path / "runs", quiet=True, on=place, **more)
            found.append(came_to(store, directory))
            asked.append(server.apprentice.calls - before)
            assert store.check() == []
    return found, asked


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_a_run_on_two_nodes_comes_to_the_same_and_asks_as_much(nodes, served, tmp_path, server):
    (here, there), asked = here_and_there(served(seeds=[0, 1]), tmp_path, server)
    assert here == there
    assert len(here[0]) == 2 * (12 + 2 * 12)
    assert asked[0] == asked[1]


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_limits_of_the_run_hold_and_a_run_goes_on_here_or_there(nodes, served, tmp_path, server):
    settings = served(run_limits={"calls": 30})
    with Store(tmp_path / "own.db") as store:
        with pytest.raises(BudgetExceeded) as caught:
            run(settings, store=store, runs_dir=tmp_path / "runs", quiet=True, on="ray")
        assert "Go on with: seasoned run --resume" in caught.value.__notes__[0]
        (directory,) = (tmp_path / "runs").iterdir()
        asked = server.apprentice.calls
        assert 30 <= asked < 60
        again = settings.model_copy(update={"run_limits": settings.run_limits.model_copy(update={"calls": None})})
        for place in ("ray", ""):
            run(again, store=store, runs_dir=tmp_path / "runs", quiet=True, on=place, resume=directory)
        whole = came_to(store, directory)
    with Store(tmp_path / "right.db") as store:
        before = server.apprentice.calls
        right = run(again, store=store, runs_dir=tmp_path / "runs", quiet=True)
        assert before == server.apprentice.calls - before  # nothing was paid for twice
        assert came_to(store, right)[1] == whole[1]


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_a_machine_that_goes_in_the_middle_loses_nothing(nodes, served, tmp_path, server, monkeypatch):
    from seasoned.lab.run.on_ray import Cluster

    cluster, second = nodes
    woke, lost, before = [], [], server.apprentice.calls
    real_woke, real_lost = Cluster._woke, Cluster._lost
    monkeypatch.setattr(Cluster, "_woke", lambda self, ping: woke.append(ping) or real_woke(self, ping))
    monkeypatch.setattr(Cluster, "_lost", lambda self, hand: lost.append(hand) or real_lost(self, hand))
    settings = served(train=30, test=30)
    with Store(tmp_path / "right.db") as store:
        right = run(settings, store=store, runs_dir=tmp_path / "runs", quiet=True)
        whole, asked = came_to(store, right), server.apprentice.calls - before
    server.pause = 0.05

    def kill():
        end = time.monotonic() + 60
        while time.monotonic() < end and (len(woke) < 2 or server.apprentice.calls - before - asked < 60):
            time.sleep(0.02)
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    with Store(tmp_path / "there.db") as store:
        directory = run(settings, store=store, runs_dir=tmp_path / "runs", quiet=True, on="ray")
        killer.join()
        assert came_to(store, directory) == whole
        assert store.check() == []
    assert set(lost) != set()
    again = server.apprentice.calls - before - 2 * asked
    assert 0 <= again <= len(lost)  # the replies that were on their way to the machine that went


def test_what_ray_cannot_do_is_said_at_once(recipe, tmp_path, monkeypatch, model):
    with Store(tmp_path / "own.db") as store:
        given = {"store": store, "runs_dir": tmp_path / "runs", "quiet": True}
        with pytest.raises(ConfigError, match="--on ray://HOST"):
            run(recipe(), on="spark", **given)
        with pytest.raises(ConfigError, match="name it in the recipe"):
            run(recipe(), on="ray", llm=model, **given)
        monkeypatch.setitem(__import__("sys").modules, "ray", None)
        with pytest.raises(MissingExtraError, match=r"seasoned\[ray\]"):
            run(recipe(), on="ray", **given)
        assert not (tmp_path / "runs").exists()


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_machines_of_a_cluster_share_no_file(nodes, recipe, tmp_path):
    with Store(tmp_path / "own.db") as store, pytest.raises(ConfigError, match="postgresql://"):
        run(recipe(), on="ray://127.0.0.1", store=store, runs_dir=tmp_path / "runs", quiet=True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (BudgetExceeded("spent", "episode"), BudgetExceeded),
        (InfrastructureError("gone"), InfrastructureError),
        (MissingExtraError("local", "xllamacpp"), Exception),
        (ValueError(threading.Lock()), Exception),
    ],
)
def test_errors_come_home(error, kind):
    from seasoned.lab.run.on_ray import portable

    home = pickle.loads(pickle.dumps(portable(error)))
    assert isinstance(home, kind)
    assert str(error) in str(home)


@pytest.mark.ray
def test_ctrl_c_waits_for_what_is_at_work_and_the_run_goes_on(process, tmp_path, monkeypatch, server):
    pytest.importorskip("ray", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    Path("ray.toml").write_text(RECIPE.format(url=server.url), encoding="utf-8")
    server.pause = 0.2
    alone = {"PYTHONWARNINGS": "ignore", "RAY_ADDRESS": "local"}  # the other tests' cluster lost a node
    one = process("run", "ray.toml", "--on", "ray", **alone)
    end = time.monotonic() + 120
    while server.apprentice.calls < 6:
        assert one.poll() is None, one.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)
    one.send_signal(signal.SIGINT)
    out, err = one.communicate(timeout=120)
    assert (one.returncode, out) == (130, ""), err
    assert "Stopping: waiting for" in err
    assert "Traceback" not in err
    assert "Go on with: seasoned run --resume runs/" in err
    server.pause = 0.0
    two = process("run", "--resume", "last", "--on", "ray", "--json", **alone)
    out, err = two.communicate(timeout=150)
    assert two.returncode == 0, err
    assert [row["n"] for row in json.loads(out)["conditions"]] == [10, 10]
    assert "30/30 episodes" in err
    answered = server.apprentice.answered
    assert len(set(answered)) == len(answered)
