"""Methods by name."""

from dataclasses import dataclass

import pytest

from seasoned import methods
from seasoned.errors import ConfigError
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods import PAPER, make_method, method_name, method_names, method_options
from seasoned.methods.expnote import ExpNote
from seasoned.methods.nearest import NearestCases
from seasoned.types import Guidance


@dataclass
class Mine:
    """A method of somebody's."""

    llm: object
    k: int = 1

    def learn(self, trajectories, pool):
        pass

    def recall(self, task, pool, progress=None):
        return Guidance()


def loose(**options):
    return Mine(**options)


def broken():
    raise RuntimeError("no\nluck")


HERE = __name__
MODEL = ScriptedModel([])


def test_by_short_name_with_options():
    assert make_method("expnote") == ExpNote()
    assert make_method("expnote", MODEL, k=7, policy="last") == ExpNote(k=7, policy="last")
    assert make_method("nearest", k=2) == NearestCases(k=2)


def test_defaults_are_for_those_here_that_have_them(paths):
    assert make_method("nearest", defaults={"k": 9, "same_task": True}) == NearestCases(9, same_task=True)
    assert make_method("expnote", defaults={"k": 9, "same_task": True}) == ExpNote(k=9)
    assert make_method("nearest", defaults={"k": 9}, k=2) == NearestCases(k=2)
    assert make_method("somebodys.Mine", MODEL, defaults={"k": 9}).k == 1


def test_every_name_that_is_listed_can_be_made():
    assert {"expnote", "nearest"} <= set(method_names()) <= set(methods._HOMES)
    for name in method_names():
        assert type(make_method(name, MODEL)).__name__ == methods._HOMES[name].partition(":")[2]


@pytest.fixture
def paths(monkeypatch):
    """The names of this module as a user's: pytest imports it under one that has no parent."""
    import sys

    monkeypatch.setitem(sys.modules, "somebodys", sys.modules[HERE])


@pytest.mark.parametrize("path", ["somebodys.Mine", "somebodys:Mine", "somebodys:loose"])
def test_by_path(paths, path):
    made = make_method(path, MODEL, k=3)
    assert (type(made), made.llm, made.k) == (Mine, MODEL, 3)


def test_an_instance_is_given_back():
    mine = Mine(None)
    assert make_method(mine) is mine
    with pytest.raises(ConfigError, match="Mine is a method object already: pass k to its class"):
        make_method(mine, k=3)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("expnot", "there is no method 'expnot'"),
        ("", "there is no method ''"),
        (":", "there is no method ':'"),
        ("nowhere.Mine", "cannot be imported"),
        ("somebodys.Other", "cannot be imported"),
        ("somebodys.broken", "cannot be made: RuntimeError"),
        ("somebodys.HERE", "cannot be made|is not a method"),
        ("seasoned.types.Task", "cannot be made"),
        ("seasoned.types.Usage", "is not a method: it needs learn"),
    ],
)
def test_what_is_no_method(paths, name, words):
    with pytest.raises(ConfigError, match=words):
        make_method(name, MODEL)


def test_what_is_given_must_be_a_method():
    for given in (3, None, Mine):
        with pytest.raises(ConfigError, match="is not a method"):
            make_method(given)


def test_an_option_that_is_not_its_own_names_those_that_are(paths):
    with pytest.raises(ConfigError, match="the method nearest has no option 'top'; it has k"):
        make_method("nearest", top=3)
    with pytest.raises(ConfigError, match="has no option 'top'; it has k"):
        make_method("somebodys.Mine", MODEL, top=3)


def test_a_method_that_needs_a_model_says_so(paths):
    with pytest.raises(ConfigError, match=r"the method somebodys\.Mine needs a model: pass one"):
        make_method("somebodys.Mine")


def test_a_method_is_called_the_same_when_its_class_is_renamed():
    class Renamed(ExpNote):
        pass

    assert [method_name(each) for each in (ExpNote(), Renamed(), NearestCases())] == [
        "expnote", "expnote", "nearestcases"
    ]  # fmt: skip
    assert method_name(Mine(None)) == "mine"  # as in stores of before methods had names
    assert {method_name(make_method(name, MODEL)) for name in method_names()} >= {"erl", "expel", "reflexion"}


@pytest.mark.parametrize("name", sorted(PAPER))
def test_each_method_is_made_in_both_profiles(name):
    model = ScriptedModel([])
    assert make_method(name, model, profile="small") == make_method(name, model)
    paper = make_method(name, model, profile="paper")
    assert all(getattr(paper, option) == value for option, value in method_options(name, "paper").items())


def test_what_is_said_beside_a_profile_wins():
    assert make_method("expnote", profile="paper", policy="merge").policy == "merge"


@pytest.mark.parametrize(
    ("name", "profile", "says"),
    [("nearest", "paper", "the method nearest has no profile paper"), ("erl", "huge", "there is no profile 'huge'")],
)
def test_a_profile_that_is_not_known(name, profile, says):
    with pytest.raises(ConfigError, match=says):
        make_method(name, ScriptedModel([]), profile=profile)
