"""Plugins: found by entry points, loaded when asked for, and a broken one stops no other."""

from importlib.metadata import EntryPoint

import pytest

from seasoned import plugins
from seasoned.errors import ConfigError
from seasoned.plugins import PluginWarning, load_plugin, loaded


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
