"""Recipes from TOML and from -c settings, and what is wrong with them in a sentence."""

from contextlib import suppress
from pathlib import Path

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import ConfigError
from seasoned.lab.run.recipe import Recipe, load_recipe, make_recipe, own_recipes

SMALL = 'name = "small"\nseeds = [0]\n[benchmark]\nname = "emoji"\n[llm]\nmodel = "local"\n'
EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("setting", "read"),
    [
        ("llm.model=gpt-5-mini", lambda r: r.llm.model == "gpt-5-mini"),
        ('llm.model="a = b"', lambda r: r.llm.model == "a = b"),
        ("llm.base_url=http://127.0.0.1:1/v1?a=b", lambda r: r.llm.base_url == "http://127.0.0.1:1/v1?a=b"),
        ("train=100", lambda r: r.train == 100),
        (" train = 100 ", lambda r: r.train == 100),
        ("seeds=[0,1,2]", lambda r: r.seeds == (0, 1, 2)),
        ('conditions=["cot", "expnote"]', lambda r: r.conditions == ("cot", "expnote")),
        ("benchmark.symbols=codes", lambda r: r.benchmark.options == {"symbols": "codes"}),
        ("benchmark.data=/a b/é.jsonl", lambda r: r.benchmark.options == {"data": "/a b/é.jsonl"}),
        ("benchmark.train_share=0.25", lambda r: r.benchmark.options == {"train_share": 0.25}),
        ("run_limits.cost=0.5", lambda r: r.run_limits.cost == 0.5),
        ("method={policy = 'last', k = 2}", lambda r: (r.method.policy, r.method.k) == ("last", 2)),
        ("llm.path=", lambda r: r.llm.path == ""),
    ],
)
def test_settings_are_toml_values_under_dotted_keys(file, setting, read):
    assert read(load_recipe(file, [setting]))


def test_later_settings_win_and_the_rest_stays(file):
    recipe = load_recipe(file, ["llm.slots=2", "llm.slots=3"])
    assert (recipe.llm.slots, recipe.llm.model, recipe.name) == (3, "local", "small")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("trian=5", "no setting trian; did you mean train"),
        ("llm.modle=x", r"no setting llm\.modle; did you mean llm\.model"),
        ("slots=3", r"no setting slots; did you mean llm\.slots"),
        ("zzzzzz=3", r"no setting zzzzzz; docs/file-formats\.md lists"),
        ("train=many", "setting train is wrong.*'many'"),
        ("train=-1", "setting train is wrong.*-1"),
        ("seeds=[]", "setting seeds is wrong"),
        ("conditions=[]", "setting conditions is wrong"),
        ("llm.temperature=9", r"llm\.temperature is wrong"),
        ("llm=3", "setting llm is wrong"),
        ("name.x=3", r"name\.x cannot be set: name is a value"),
        ("limit=0", "setting limit is wrong"),
        ("train", "key=value"),
        ("=5", "key=value"),
    ],
)
def test_wrong_settings_are_named(file, setting, says):
    with pytest.raises(ConfigError, match=says):
        load_recipe(file, [setting])


def test_missing_keys_are_all_named():
    with pytest.raises(ConfigError, match=r"setting name is missing; the setting benchmark is missing"):
        make_recipe({})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name = ", "not valid TOML"),
        (b"[benchmark", "not valid TOML"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00", "cannot be read"),
        (b"", "name is missing"),
        (b"\xef\xbb\xbf" + SMALL.encode(), None),
    ],
)
def test_files_of_every_kind(file, content, says):
    file.write_bytes(content)
    if says is None:
        assert load_recipe(file).name == "small"
        return
    with pytest.raises(ConfigError, match=says):
        load_recipe(file)


def test_a_missing_file_tells_what_there_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"no recipe emojy; there are emoji"):
        load_recipe("emojy")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.toml").write_text(SMALL, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"there are experiments/mine\.toml"):
        load_recipe("experiments/mime.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_recipe(tmp_path)


def test_our_own_recipes_are_whole():
    files = sorted(EXPERIMENTS.glob("*.toml"))
    assert files
    for file in files:
        assert load_recipe(file).name


def test_the_digest_is_of_what_decides_the_results(file):
    def digest(*given):
        return load_recipe(file, given).digest

    assert len(digest()) == 12
    for same in ("workers=3", "run_limits.cost=1", "llm.timeout=5", "llm.max_retries=0"):
        assert digest(same) == digest(), same
    assert digest("learner.model=x", "learner.timeout=5") == digest("learner.model=x") != digest()
    for other in ("train=5", "limit=5", "llm.model=x", "llm.seed=1", "method.k=2", "episode_limits.calls=1"):
        assert digest(other) != digest(), other


def test_a_learner_has_the_keys_of_a_model_and_takes_none_over(file):
    plain = load_recipe(file, ["llm.base_url=http://127.0.0.1:1/v1"])
    assert plain.learner is None
    assert plain.for_learning == plain
    other = load_recipe(file, ["learner.model=gpt-5-mini", "learner.seed=3", "llm.temperature=0.7"])
    assert (other.learner.model, other.learner.seed, other.learner.base_url) == ("gpt-5-mini", 3, None)
    assert (other.for_learning.llm.model, other.for_learning.llm.temperature) == ("gpt-5-mini", 0)
    assert (other.caps.think, other.for_learning.caps.think) == (80, 2000)
    for setting, says in (
        ("learner.modle=x", "did you mean learner.model"),
        ("learner.temperature=1", "there is no setting learner.temperature"),
        ("learner.slots=0", "learner.slots is wrong"),
    ):
        with pytest.raises(ConfigError, match=says):
            load_recipe(file, [setting])


text = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(text, st.builds("{}={}".format, st.sampled_from(["llm", "name", "a.b", "train"]), text))))
def test_any_settings_give_a_recipe_or_a_sentence(file, given):
    with suppress(ConfigError):
        assert isinstance(load_recipe(file, given), Recipe)


recipes = st.builds(
    lambda name, train, seeds, share, limit, k, learner: make_recipe(
        {
            "name": name,
            "benchmark": {"name": "emoji", "train_share": share},
            "train": train,
            "seeds": seeds,
            "method": {"k": k},
            "run_limits": {"cost": limit},
            "learner": learner,
        }
    ),
    text,
    st.integers(0, 9999),
    st.lists(st.integers(-5, 2**40), min_size=1, max_size=4),
    st.floats(0.1, 0.9),
    st.none() | st.floats(0, 100),
    st.none() | st.integers(1, 9),
    st.none() | st.builds(lambda model: {"model": model}, text),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recipes)
def test_a_recipe_written_and_read_is_the_same(tmp_path, recipe):
    file = tmp_path / "config.toml"
    file.write_text(tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True)), encoding="utf-8")
    again = load_recipe(file)
    assert again == recipe
    assert again.digest == recipe.digest


@pytest.mark.parametrize("section", ["llm", "learner"])
@pytest.mark.parametrize(
    "url", ["http://bob:pw9@h/v1", "https://pw9@h:8080/v1", "bob:pw9@h/v1", "http://a@b:pw9@h?x=/"]
)
def test_an_address_with_a_password_is_refused_without_showing_it(file, section, url):
    with pytest.raises(ConfigError, match=f"the setting {section}.base_url holds .* leave it out") as caught:
        load_recipe(file, [f"{section}.base_url={url}"])
    assert "pw9" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://h/@cf/v1", "http://h?of=a@b", "http://[::1"])
def test_an_at_sign_elsewhere_in_an_address_is_no_password(file, url):
    assert load_recipe(file, [f"llm.base_url={url}"]).llm.base_url == url


def test_recipes_come_with_seasoned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "emoji" in own_recipes()
    named = load_recipe("emoji", ["train=7"])
    assert (named.name, named.train) == ("emoji", 7)
    assert load_recipe("experiments/emoji.toml", ["train=7"]) == named
    for name in own_recipes():
        assert load_recipe(name).name
    (tmp_path / "emoji").write_text(SMALL, encoding="utf-8")  # a file of one's own comes first
    assert load_recipe("emoji") == load_recipe(tmp_path / "emoji")
