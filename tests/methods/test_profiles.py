import pytest

from seasoned.errors import ConfigError
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods import make_method
from seasoned.methods.profiles import PAPER, method_options


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
