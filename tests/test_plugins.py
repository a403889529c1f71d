"""Plugins: found by entry points, loaded when asked for, and a broken one stops no other."""
# ruff: noqa: F811 - fixtures are named as what was imported

import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from command_line import cli  # noqa: F401 - a fixture

from seasoned import plugins
from seasoned.errors import ConfigError, MissingExtraError
from seasoned.plugins import PluginWarning, import_member, load_plugin, loaded


@pytest.fixture
def installed(monkeypatch):
    """Puts these entry points, (name, value) pairs, in the place of all that are installed."""

    def put(*points):
        made = [EntryPoint(name, value, "seasoned.methods") for name, value in points]
        monkeypatch.setattr(plugins, "entry_points", lambda group: [p for p in made if p.group == group])
        plugins.plugins.cache_clear()

    yield put
    plugins.plugins.cache_clear()


def test_the_laboratory_comes_in_by_entry_points():
    assert plugins.plugins("commands")["lab"].value == "seasoned.lab.cli:add"
    assert set(plugins.plugins("pages")) >= {"lab"}
    assert callable(load_plugin("checks", "lab"))


def test_one_that_does_not_load_is_named_and_the_rest_work(installed):
    installed(("bad", "seasoned.none:Bad"), ("good", "seasoned.methods.expnote:ExpNote"))
    with pytest.warns(PluginWarning, match=r"'bad'.*seasoned\.none:Bad.*ModuleNotFoundError"):
        assert [name for name, _ in loaded("methods")] == ["good"]
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_plugin("methods", "bad")


def test_two_of_one_name_are_refused_with_both_homes(installed):
    installed(("mine", "one:Mine"), ("mine", "other:Mine"))
    with pytest.raises(ConfigError, match=r"one:Mine.*other:Mine"):
        plugins.plugins("methods")
    installed(("mine", "one:Mine"), ("mine", "one:Mine"))  # installed twice on one path
    assert list(plugins.plugins("methods")) == ["mine"]


def test_a_name_that_nobody_adds(installed):
    installed()
    with pytest.raises(ConfigError, match="no installed package adds 'x'"):
        load_plugin("methods", "x")


ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The folder that examples/plugin is installed in, with no network."""
    target = tmp_path_factory.mktemp("site")
    plain = shutil.copytree(ROOT / "examples" / "plugin", tmp_path_factory.mktemp("source") / "plugin")
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", target, plain]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def home(example, tmp_path, monkeypatch):
    """The current folder, in a process where the example is installed, and what stands in `broken`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(example)
    monkeypatch.syspath_prepend(tmp_path)
    plugins.plugins.cache_clear()
    yield tmp_path
    plugins.plugins.cache_clear()


@pytest.fixture
def broken(home):
    """Installs a package with these entry points."""

    def put(points):
        made = home / "broken-1.dist-info"
        made.mkdir()
        (made / "METADATA").write_text("Name: broken\nVersion: 1\n", encoding="utf-8")
        (made / "entry_points.txt").write_text(points, encoding="utf-8")

    return put


def test_the_example_is_installed_and_everything_it_brings_is_there(example, home, cli):
    path = os.pathsep.join(map(str, (example, ROOT / "src")))
    command = [sys.executable, "-m", "seasoned", "bench", "check", "greenhouse"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert (done.returncode, "12/12 tasks are solved" in done.stdout) == (0, True), done.stderr
    listed = cli("bench", "list").out
    assert "greenhouse: how often a plant is watered" in listed.lower().replace("greenhouse how", "greenhouse: how")
    assert "emoji" in listed
    (home / "diary.txt").write_text("murl: 3 ok\nfenop: 2 no\n", encoding="utf-8")
    done = cli("import", "diary.txt", "--format", "diary")
    assert "2 trajectories of 2 tasks (diary)" in done.out, done.err
    recipe = """
name = "watering"
conditions = ["disabled", "labels"]
train = 6
test = 6
benchmark = {name = "greenhouse"}
"""
    (home / "watering.toml").write_text(recipe, encoding="utf-8")
    done = cli("run", "watering.toml", "--dry-run")
    assert "18 episodes" in done.out, done.err
    done = cli("recall", "murl", "--namespace", "default", "--method", "labels")
    assert done.code == 0, done.err


def test_a_plugin_that_does_not_load_is_named_and_the_rest_works(broken, cli):
    broken("[seasoned.benchmarks]\nweeds = nowhere:load\n")
    with pytest.warns(PluginWarning, match=r"'weeds' of broken \(nowhere:load\) cannot be loaded"):
        done = cli("bench", "list")
    assert done.code == 0
    assert "greenhouse" in done.out
    done = cli("bench", "check", "weeds")
    assert (done.code, done.err.count("\n")) == (1, 1)


def test_two_plugins_of_one_name_are_refused_with_both_homes(broken, cli):
    broken("[seasoned.benchmarks]\ngreenhouse = nowhere:load\n")
    done = cli("bench", "list")
    assert done.code == 1
    assert "seasoned-greenhouse (seasoned_greenhouse:load)" in done.err
    assert "broken (nowhere:load)" in done.err


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text("class Mine:\n    pass\n", encoding="utf-8")
    (tmp_path / "own_fault.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "own_lack.py").write_text(
        "from seasoned.errors import MissingExtraError\nraise MissingExtraError('more', 'some')\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("path", ["own_parts.Mine", "own_parts:Mine"])
def test_a_path_has_a_dot_or_a_colon_before_the_name(somewhere, path):
    assert import_member(path, "part", "").__name__ == "Mine"


@pytest.mark.parametrize("path", ["", "mine", ":", ".", "own_parts:", ":Mine", "own_parts."])
def test_what_is_no_path_tells_what_there_is(path):
    with pytest.raises(ConfigError, match=f"^there is no part '{path}': there are a and b$"):
        import_member(path, "part", "there are a and b")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nowhere.Mine", "ModuleNotFoundError: No module named 'nowhere'"),
        ("own_parts.Other", "AttributeError: "),
        ("own_fault:Mine", "ZeroDivisionError: division by zero"),
        ("..Mine", "TypeError: "),
    ],
)
def test_whatever_an_import_raises_is_a_sentence(somewhere, path, why):
    with pytest.raises(ConfigError, match=f"^the part '{path}' cannot be imported: {why}"):
        import_member(path, "part", "")


def test_our_own_errors_stay_as_they_are(somewhere):
    with pytest.raises(MissingExtraError, match="needs the library some"):
        import_member("own_lack:Mine", "part", "")
