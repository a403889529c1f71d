import json
import re
import time
from dataclasses import replace

import pytest

from seasoned.contracts import check_environment
from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import webshop

SMALL = {"products": 60}
ROWS = [
    {
        "asin": f"A{i}",
        "name": f"Plain Mug number {i}",
        "pricing": "$10.00 - $20.00",
        "full_description": "A mug.",
        "small_description": ["Dishwasher safe."],
        "customization_options": {"Color": [{"value": "Black"}, {"value": "Graywash"}]},
        "category": "garden",
        "query": "mugs",
        "product_category": "Home › Mugs",
    }
    for i in range(3)
]
ASKED = {
    f"A{i}": {
        "attributes": ["dishwasher safe"],
        "instruction": f"Find me mugs {i}",
        "instruction_attributes": ["dishwasher safe"],
    }
    for i in range(3)
}
HUMAN = {
    "A1": [{"instruction": "a mug", "instruction_attributes": ["safe"], "instruction_options": ["black"]}],
    "A2": [{"instruction": "mug, please", "instruction_attributes": ["safe"], "instruction_options": []}],
}


@pytest.fixture
def folder(tmp_path):
    for name, value in (("items_shuffle_1000", ROWS), ("items_ins_v2_1000", ASKED), ("items_human_ins", HUMAN)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def made():
    return webshop.load(SMALL, seed=0)


def test_the_default_is_generated(made):
    assert made.manner == "act"
    assert made.max_turns == 15
    assert made.source == "60 generated products"
    products = [{task.data["asin"] for task in pool} for pool in (made.train, made.test)]
    assert not products[0] & products[1]
    assert min(len(made.train), len(made.test)) > 50
    assert made.about
    assert made.instruction


def test_seeds_make_other_shops(made):
    assert webshop.load(SMALL, seed=0).train == made.train
    assert webshop.load(SMALL, seed=1).train[0].text != made.train[0].text


def test_contract(made):
    task = made.train[0]
    actions = (f"search[{task.data['instruction']}]", f"click[{task.data['asin']}]", "click[Features]", "click[< Prev]")
    check_environment(lambda: made.make_env(True), task, actions=actions)


def test_every_goal_of_the_default_can_be_won():
    found = webshop.check(SMALL)
    assert found.good == found.total > 100
    assert (found.problems, found.source, found.unwinnable) == ((), "60 generated products", 0)
    pages, took = found.facts
    assert re.search(r"page 1 for \d+ of the first 100 goals and within 5 pages for (9\d|100); of all", pages)
    assert float(took.split()[-2]) < 50


@pytest.mark.parametrize(
    ("before", "first", "five"),
    [(0, "100", "100"), (9, "100", "100"), (10, "0", "100"), (49, "0", "100"), (50, "0", "0")],
)
def test_on_which_page_a_goals_product_is(before, first, five):
    shop, tasks, *_ = webshop._open(SMALL, 0)
    wanted = {task.data["instruction"]: task.data["asin"] for task in tasks}
    shop = replace(shop, search=lambda words: (*["other"] * before, wanted[words])[:50])
    said = webshop._pages(shop, tasks)
    assert f"page 1 for {first} of the first 100 goals and within 5 pages for {five}; of all, for {first}.0%" in said
    assert said.endswith(f"and {five}.0%")


def test_the_check_is_of_the_seeds_shop(monkeypatch):
    played = []
    monkeypatch.setattr(webshop, "_won", lambda task, shop: played.append(task.text) or True)
    for seed in (0, 1):
        webshop.check(SMALL, seed=seed)
        shop = webshop.load(SMALL, seed=seed)
        assert {task.text for task in (*shop.train, *shop.test)} == set(played)
        played.clear()


def test_without_the_repair_some_goals_cannot_be_won(folder):
    assert webshop.check({"data": str(folder)}).good == 6
    found = webshop.check({"data": str(folder), "upstream_colors": True})
    assert (found.good, found.total, found.unwinnable) == (3, 6, 3)
    assert "items_shuffle_1000.json" in found.source
    assert found.problems[2].startswith("3 of them are won without upstream_colors")
    assert found.problems[0].startswith("3 of the first 6 goals")
    assert "webshop-" in found.problems[1]


def test_goals_of_the_folder(folder, monkeypatch):
    monkeypatch.setenv("SEASONED_DATA", str(folder.parent))
    folder.rename(folder.parent / "webshop")
    loaded = webshop.load({}, seed=0)
    assert len(loaded.train) + len(loaded.test) == 6
    assert "items_shuffle_1000.json" in loaded.source
    assert {task.data["limit"] for task in loaded.train} == {35.0}
    (folder.parent / "webshop").rename(folder)


def test_peoples_goals(folder):
    loaded = webshop.load({"data": str(folder), "goals": "human"}, seed=0)
    texts = {task.data["instruction"] for task in (*loaded.train, *loaded.test)}
    assert texts == {"a mug, and price lower than 35.00 dollars", "mug, please, and price lower than 35.00 dollars"}
    (folder / "items_human_ins.json").unlink()
    with pytest.raises(DataError, match="items_human_ins"):
        webshop.load({"data": str(folder), "goals": "human"}, seed=0)


def test_drawn_prices_follow_the_seed(folder):
    def limits(seed):
        loaded = webshop.load({"data": str(folder), "prices": "drawn"}, seed=seed)
        return sorted((task.data["asin"], task.data["limit"]) for task in (*loaded.train, *loaded.test))

    assert limits(1) == limits(1)
    assert any(limits(seed) != limits(0) for seed in range(1, 9))
    assert webshop.check({"data": str(folder), "prices": "drawn"}).good == 6


def test_rows_left_out_are_counted(folder):
    (folder / "items_shuffle_1000.json").write_text(json.dumps([*ROWS, {}, 3]), encoding="utf-8")
    assert webshop.load({"data": str(folder)}, seed=0).source.endswith("rows left out: 2")


def test_data_without_a_goal(folder):
    (folder / "items_ins_v2_1000.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="no goal in"):
        webshop.check({"data": str(folder)})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"goal": "human"}, "did you mean 'goals'"),
        ({"goals": "mine"}, "synthetic or human"),
        ({"prices": "free"}, "mean or drawn"),
        ({"products": 1}, "from 2 to"),
        ({"upstream_colors": "yes"}, "true or false"),
        ({"products": 10, "train_share": 1.5}, "train_share"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(ConfigError, match=words):
        webshop.load(options, seed=0)


def test_a_file_in_place_of_the_folder(folder):
    with pytest.raises(DataError, match="needs a folder"):
        webshop.load({"data": str(folder / "items_shuffle_1000.json")}, seed=0)


def test_an_episode_takes_less_than_50_ms(made):
    env = made.make_env(False)
    taken = []
    for task in made.test[:20]:
        start = time.perf_counter()
        env.reset(task)
        env.step(f"search[{task.data['instruction']}]")
        env.step(f"click[{task.data['asin']}]")
        for part in ("Description", "Features", "Reviews"):
            env.step(f"click[{part}]")
            env.step("click[< Prev]")
        env.step("click[Buy Now]")
        taken.append(time.perf_counter() - start)
    assert sorted(taken)[10] < 0.05


@pytest.mark.parametrize("count", [-1, 0, 1, 20_001])
def test_too_few_or_too_many_products(count):
    with pytest.raises(ConfigError, match="products should be from 2 to 20000"):
        webshop.load({"products": count}, seed=0)
