"""What is said of a recipe that is wrong. Whole files and settings are in test_recipe.py."""

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.run.recipe import make_recipe, settings_of


def said(*settings, benchmark="emoji"):
    raw = {"name": "small", "benchmark": {"name": benchmark}, **settings_of(settings)}
    with pytest.raises(ConfigError) as caught:
        make_recipe(raw)
    return str(caught.value)


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("symbols=codes", "benchmark.symbols"),
        ("data=x", "benchmark.data"),
        ("cost=1", "episode_limits.cost or run_limits.cost"),
        ("method.human=x", "expel.human"),
        ("seed=1", "llm.seed or learner.seed or user.seed or judge.seed or ranker.seed or longer.seed or seeds"),
        ("k=2", "method.k or expel.k or erl.k or autoguide.k or tools.k"),
        ("modle=x", "llm.model or learner.model or user.model or judge.model or ranker.model or longer.model"),
        ("llm.base_ulr=x", "llm.base_url"),
        ("embeder=static", "embedder"),
    ],
)
def test_the_setting_that_was_meant(setting, meant):
    assert said(setting).endswith(f"; did you mean {meant}?")


def test_a_benchmark_has_settings_of_its_own():
    assert "did you mean benchmark.selected?" in said("selected=1", benchmark="fever")
    assert "did you mean" not in said("selected=1", benchmark="emoji")
    assert "did you mean benchmark" not in said("symbols=1", benchmark="no.such.module")
    assert "docs/file-formats.md" in said("zzz=1", "benchmark=lets")


@pytest.mark.parametrize("name", ["api_key", "llm.api_key", "OPENAI_API_KEY", "learner.apikey"])
def test_a_key_is_no_setting_and_is_not_repeated(name):
    assert "export OPENAI_API_KEY=.." in said(f"{name}=sk-mine")
    assert "sk-mine" not in said(f"{name}=sk-mine")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("seeds=0", "setting seeds is wrong: it should be a list, such as seeds=[0,1,2], but is 0"),
        ("seeds=[0,1", "a list, such as seeds=[0,1,2], but is '[0,1'"),
        ('seeds=["a"]', "each item of it should be a whole number, but is 'a'"),
        ("seeds=[]", "a list that is not empty, but is []"),
        ("conditions=expnote", """a list, such as 'conditions=["disabled","expnote"]', but is 'expnote'"""),
        ("curve=5", "a list, such as curve=[10,20], but is 5"),
        ("expel.human=x", "a list, such as 'expel.human="),
        ("llm=gpt-5-mini", "setting llm is wrong: it is a section, but got 'gpt-5-mini'; set llm.model=.. instead"),
        ("learner=x", "set learner.model=.. instead"),
        ("benchmark=lets", "set benchmark.name=.. instead"),
        ("agent.style=x", "it should be 'guided' or 'free', but is 'x'"),
        ("train=1.5", "a whole number, but is 1.5"),
        ("seeds=true", "a list, such as"),
        ("train=true", "a whole number, but is True"),
        ("limit=false", "a whole number, but is False"),
        ("llm.temperature=true", "a number, but is True"),
        ("train=-1", "at least 0, but is -1"),
        ("method.share=0", "more than 0, but is 0"),
        ("llm.temperature=3", "at most 2, but is 3"),
        ("llm.temperature=hot", "a number, but is 'hot'"),
        ("agent.same_observation=7", "true or false, but is 7"),
        ("name=3", "text, in quotes where it looks like something else, but is 3"),
    ],
)
def test_what_a_value_should_be(setting, says):
    assert says in said(setting)
    assert "; the setting" not in said(setting), "one fault is told of once"


def test_a_long_value_is_cut():
    assert len(said(f"train={'x' * 5000}")) < 200
