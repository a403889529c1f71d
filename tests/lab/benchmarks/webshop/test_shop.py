import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.agents.react import React
from seasoned.contracts import check_environment
from seasoned.errors import ContractError, DataError
from seasoned.lab.benchmarks.webshop.catalogue import MAX_QUERY, Product, make_search, read_products
from seasoned.lab.benchmarks.webshop.generated import make_catalogue
from seasoned.lab.benchmarks.webshop.goals import Goal, as_task
from seasoned.lab.benchmarks.webshop.shop import (
    CALLS,
    CLICK_HERE,
    CUT,
    SEARCH_FIRST,
    STEPS,
    Shop,
    ShopEnvironment,
    read_words,
)
from seasoned.lab.report.measures import Row, endings
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Guidance, Task

MUG = Product(
    "MUG1",
    "Plain Mug for Tea",
    9.5,
    "$9.50",
    description="A mug.",
    features=("Holds tea.",),
    options={"color": ("red", "wine\xa0red", '12"'), "size": ("small", "12'"), "style": ("small", "a [b]")},
    attributes=("dishwasher safe",),
    query="mugs",
)
PLAIN = [Product(f"P{i}", f"Candle {i}", 1.0, "$1.00") for i in range(12)]
GOAL = Goal("MUG1", "Find me mugs", ("dishwasher safe",), (("color", "wine\xa0red"), ("size", "small")), 20.0)
TASK = as_task(0, GOAL, "garden")


def search(words):
    return ("MUG1",) if "mug" in words else () if "nothing" in words else tuple(p.asin for p in PLAIN)


SHOP = Shop({p.asin: p for p in (MUG, *PLAIN)}, search)


def make(reveal=True, **more):
    return ShopEnvironment(SHOP, reveal, **more)


def play(*actions, env=None):
    """The last of the five values after these actions."""
    env = env or make()
    env.reset(TASK)
    for action in actions[:-1]:
        assert "invalid" not in env.step(action)[4], action
    return env.step(actions[-1])


def test_contract():
    check_environment(
        make, TASK, actions=("search[mug]", "click[MUG1]", "click[Features]", "click[< Prev]", "click[small]")
    )


def test_buying_what_was_asked_for():
    observation, reward, terminated, truncated, info = play(
        "search[mug]", "click[MUG1]", "click[wine red]", "click[small]", "click[Buy Now]"
    )
    assert observation == "You have bought it. Your score (0 to 1): 1.00"
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {"success": True, "reward": 1.0, "answer": "MUG1", "choices": [], "free": ""}


def test_buying_with_an_option_missing():
    observation, reward, *_, info = play("search[mug]", "click[MUG1]", "click[small]", "click[Buy Now]")
    assert reward == info["reward"] == 0.75
    assert info["success"] is False
    assert observation.endswith("0.75")


def test_a_buyer_who_is_told_hears_what_was_missed():
    bought = ("search[mug]", "click[MUG1]", "click[small]", "click[Buy Now]")
    assert play(*bought, env=make(told=True))[0] == (
        "You have bought it. Your score (0 to 1): 0.75\nNot as asked for: color: wine red"
    )
    assert play(*bought, env=make(reveal=False, told=True))[0] == "You have bought it."


def test_a_buyer_who_is_told_hears_of_no_more_than_the_score_where_nothing_was_missed():
    bought = ("search[mug]", "click[MUG1]", "click[wine red]", "click[small]", "click[Buy Now]")
    assert play(*bought, env=make(told=True))[0] == "You have bought it. Your score (0 to 1): 1.00"


def test_buying_something_else():
    observation, reward, *_, info = play("search[candle]", "click[P3]", "click[Buy Now]", env=make(reveal=False))
    assert (observation, reward, info["success"]) == ("You have bought it.", 0.0, False)
    assert "MUG1" not in observation


def test_a_wrong_purchase_is_an_end_of_its_own():
    model = ScriptedModel(["search[candle]", "click[P3]", "click[Buy Now]"])
    made = React(llm=model, instruction="Shop.", style="act").run(TASK, make(reveal=False), Guidance())
    assert (made.outcome.success, made.outcome.reason, made.outcome.answer) == (False, "answered", "P3")
    row = Row(
        run_id="r", benchmark="webshop", condition="act", seed=0, split="test", task_id="t", task="t",
        success=False, reason=made.outcome.reason,
    )  # fmt: skip
    assert endings([row]) == {"success": 0, "failed": 1, "halted": 0}


def test_the_first_page_and_what_is_offered():
    observation, info = make().reset(TASK)
    assert observation == TASK.text == "WebShop\nInstruction:\nFind me mugs\n[Search]"
    assert info == {"choices": [], "free": "search", **CALLS.info}


def test_a_call_is_the_action_that_it_stands_for():
    called = play('search({"words": "mug"})', 'click({"what": "MUG1"})')
    assert called == play("search[mug]", "click[MUG1]")


def test_choices_are_the_clicks_of_the_page():
    info = play("search[candle]")[4]
    assert info["choices"][:3] == ["click[Back to Search]", "click[Next >]", "click[P0]"]
    assert len(info["choices"]) == 12
    assert info["free"] == ""
    after_an_option = play("search[mug]", "click[MUG1]", "click[small]")[4]
    assert after_an_option["choices"] == play("search[mug]", "click[MUG1]")[4]["choices"]


def test_ways_through_the_shop():
    second = play("search[candle]", "click[Next >]")[0]
    assert second.startswith("[Back to Search]\nPage 2 (Total results: 12)\n[< Prev]")
    assert "Page 1" in play("search[candle]", "click[Next >]", "click[< Prev]")[0]
    assert "Page 2" in play("search[candle]", "click[Next >]", "click[P11]", "click[< Prev]")[0]
    opened = play("search[mug]", "click[MUG1]")[0]
    for part in ("Description", "Features", "Reviews"):
        assert play("search[mug]", "click[MUG1]", f"click[{part}]", "click[< Prev]")[0] == opened
        assert play("search[mug]", "click[MUG1]", f"click[{part}]", "click[Back to Search]")[0] == TASK.text
    assert play("search[nothing]")[0] == "[Back to Search]\nPage 1 (Total results: 0)"
    assert "Page 1" in play("search[candle]", "click[Next >]", "click[Back to Search]", "search[candle]")[0]


def test_choices_stay_until_the_product_is_left():
    assert play("search[mug]", "click[MUG1]", "click[Wine Red]")[0] == "You have clicked wine red."
    marked = play("search[mug]", "click[MUG1]", "click[wine red]", "click[Features]", "click[< Prev]")[0]
    assert "color [red][[wine red]]" in marked
    changed = play("search[mug]", "click[MUG1]", "click[wine red]", "click[red]", "click[Features]", "click[< prev]")[0]
    assert "color [[red]][wine red]" in changed
    again = play("search[mug]", "click[MUG1]", "click[wine red]", "click[< Prev]", "click[MUG1]")[0]
    assert "[[" not in again


def test_a_value_of_two_options_is_set_by_turns():
    once = play("search[mug]", "click[MUG1]", "click[small]", "click[Features]", "click[< Prev]")[0]
    assert "size [[small]]" in once
    assert "style [small]" in once
    twice = play("search[mug]", "click[MUG1]", "click[small]", "click[small]", "click[Features]", "click[< Prev]")[0]
    assert "size [[small]]" in twice
    assert "style [[small]]" in twice


@pytest.mark.parametrize(
    "action", ["click[mug1]", "Click[ MUG1 ]", "CLICK[[MUG1]]", "click['MUG1']", "Action: click[MUG1]", "click: MUG1"]
)
def test_clicks_as_models_write_them(action):
    assert "Price: $9.50" in play("search[mug]", action)[0]


@pytest.mark.parametrize(("action", "value"), [('click[12"]', '12"'), ("click[12']", "12'"), ("click[a [b]]", "a [b]")])
def test_marks_of_an_option_count_where_they_must(action, value):
    assert play("search[mug]", "click[MUG1]", action)[0] == f"You have clicked {value}."


@pytest.mark.parametrize(
    ("path", "action", "said"),
    [
        ((), "click[MUG1]", SEARCH_FIRST),
        ((), "click[Search]", SEARCH_FIRST),
        ((), "search[]", SEARCH_FIRST),
        ((), "buy the mug", SEARCH_FIRST),
        ((), "", SEARCH_FIRST),
        (("search[mug]",), "search[candle]", CLICK_HERE),
        (("search[mug]",), "click[P1]", CLICK_HERE),
        (("search[mug]",), "click[Next >]", CLICK_HERE),
        (("search[mug]",), "click[Buy Now]", CLICK_HERE),
        (("search[mug]",), "click[]", CLICK_HERE),
        (("search[mug]",), "click[" + "x" * 10_000, CLICK_HERE),
        (("search[mug]", "click[MUG1]"), "click[huge]", CLICK_HERE),
        (("search[mug]", "click[MUG1]"), "click[12]", CLICK_HERE),
        (("search[mug]", "click[MUG1]", "click[Reviews]"), "click[Buy Now]", CLICK_HERE),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(path, action, said):
    env = make()
    env.reset(TASK)
    for one in path:
        env.step(one)
    before = env._show(env._visit)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (observation, reward, terminated, truncated) == (said, 0.0, False, False)
    assert info["invalid"] is True
    assert env._show(env._visit) == before
    assert info["choices"] == [f"click[{click}]" for click in before.clicks]


BRACKETS = (
    "3 (wide",
    "3 (wide)",
    "wide) 3",
    "4 [tall",
    "4 [tall]",
    "tall] 4",
    "] [",
    "((",
    "a] b [c",
    "[x",
    "y]",
    "5-6]",
)
BOOT = Product(
    "BOOT1", "Boot [new (2nd", 9.5, "$9.50", options={"size: [eu": BRACKETS}, attributes=("non [slip",), query="(boots"
)
WALK = Goal(
    "BOOT1", "Find me (boots with non [slip with size: [eu: 4 [tall", ("non [slip",), (("size: [eu", "4 [tall"),), 20.0
)


def shopped(action, goal=WALK):
    """What was searched for, if it was, and the five values of an action on the page where it belongs."""
    asked = []

    def find(words):
        asked.append(words)
        return ("BOOT1",)

    env = ShopEnvironment(Shop({"BOOT1": BOOT}, find), reveal=True)
    env.reset(as_task(0, goal, ""))
    if not action.casefold().startswith("search"):
        env.step("search[boot]")
        env.step("click[BOOT1]")
    values = env.step(action)
    return asked[0] if asked else None, values


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("search[red [large] shoes", "red [large] shoes"),
        ("search[red [large] shoes]", "red [large] shoes"),
        ("search[red [large shoes]", "red [large shoes"),
        ("search[red large] shoes]", "red large] shoes"),
        ("search[red (large shoes]", "red (large shoes"),
        ("search[red large) shoes]", "red large) shoes"),
        ("search[[red] shoes", "[red] shoes"),
        ("search[red shoes", "red shoes"),
        ("search[red shoes]]", "red shoes"),
        ("search[red [shoes]. I hope they fit.", "red [shoes"),
        ("search[red shoes] and then click[B1]", "red shoes"),
        ('search["red shoes"]', "red shoes"),
        ("search(red [large shoes)", "red [large shoes"),
    ],
)
def test_searches_with_brackets_that_do_not_match(action, words):
    assert shopped(action)[0] == words


@pytest.mark.parametrize("value", BRACKETS)
def test_an_option_of_any_brackets_can_be_clicked_as_it_is_shown(value):
    for action in (f"click[{value}]", f"Click[{value.upper()}]", f" click[{value}]\n"):
        assert shopped(action)[1][0] == f"You have clicked {value}."


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ("click[3 (wide", "3 (wide"),
        ("click[5-6)]", "5-6]"),
        ("click[[5-6]", "5-6]"),
        ("click[(5-6)", "5-6]"),
        ("click(a] b [c)", "a] b [c"),
    ],
)
def test_clicks_with_brackets_that_do_not_match(action, value):
    assert shopped(action)[1][0] == f"You have clicked {value}."


@pytest.mark.parametrize("action", ["click[3 wide]", "click[4 tall]", "click[x", "click[]]", "click[[[", "click[)(]"])
def test_a_click_that_may_mean_several_is_none(action):
    observation = shopped(action)[1][0]
    assert observation in (CLICK_HERE, "You have clicked [x.")


def test_a_goal_with_such_brackets_can_be_won():
    env = ShopEnvironment(Shop({"BOOT1": BOOT}, make_search({"BOOT1": BOOT})), reveal=True)
    page, _ = env.reset(as_task(0, WALK, ""))
    assert "with non [slip with size: [eu: 4 [tall" in page
    assert "[BOOT1]" in env.step(f"search[{WALK.instruction}]")[0]
    env.step("click[BOOT1]")
    env.step("click[4 [tall]")
    assert env.step("click[Buy Now]")[1] == 1.0


def test_what_a_seller_hides_on_a_page_is_not_shown():
    row = {
        "asin": "SLY0000001",
        "name": "Mug<script>steal()</script>",
        "full_description": "<style>.x{}</style>Blue.<script>document.write('[Buy Now]')</script>",
        "small_description": ["Holds tea.<!-- <b>[Buy Now]</b> -->", "<script>only this</script>"],
    }
    products, _ = read_products([row], {})
    env = ShopEnvironment(Shop(products, lambda _: ("SLY0000001",)), reveal=True)
    env.reset(as_task(0, Goal("SLY0000001", "Find a mug", ("x",)), ""))
    seen = [
        env.step(action)[0] for action in ("search[mug]", "click[SLY0000001]", "click[Description]", "click[< Prev]")
    ]
    seen.append(env.step("click[Features]")[0])
    assert seen[2] == "[Back to Search]\n[< Prev]\nBlue."
    assert seen[4] == "[Back to Search]\n[< Prev]\n- Holds tea."
    assert not any(word in page for page in seen for word in ("<s", "steal", "style", "only this", "write"))


def test_a_search_of_ten_thousand_characters_says_that_it_was_cut():
    assert CUT in play("search[" + "mug " * 2500 + "]")[0]
    assert CUT not in play(f"search[{'m' * MAX_QUERY}]")[0]


def test_a_thought_is_no_step():
    env = make(max_turns=2)
    env.reset(TASK)
    for _ in range(5):
        assert env.step("think[what now?]")[:4] == ("OK.", 0.0, False, False)
    assert env.step("search[mug]")[3] is False
    assert env.step("click[MUG1]")[3] is True


def test_an_attempt_is_cut_off_after_fifteen_steps():
    env = make()
    env.reset(TASK)
    results = [env.step("nothing that can be done") for _ in range(STEPS)]
    assert [r[3] for r in results] == [False] * 14 + [True]
    assert results[-1][4]["success"] is False
    assert results[-1][4]["reward"] == 0.0
    with pytest.raises(ContractError, match="reset"):
        env.step("search[mug]")


def test_a_purchase_in_the_last_step_counts():
    env = make(max_turns=3)
    assert play("search[mug]", "click[MUG1]", "click[Buy Now]", env=env)[1:4] == (0.5, True, False)


def test_tasks_of_another_catalogue_are_refused():
    with pytest.raises(DataError, match="not in this catalogue"):
        make().reset(as_task(0, Goal("GONE", "x", ("y",)), ""))
    with pytest.raises(DataError, match="not a task of the benchmark"):
        make().reset(Task(id="x", text="x"))
    with pytest.raises(ContractError, match="reset"):
        make().step("search[mug]")


ACTIONS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(("search[candle]", "search[mug]", "click[Next >]", "click[< Prev]", "click[Back to Search]")),
    st.sampled_from(("click[MUG1]", "click[P1]", "click[small]", "click[Features]", "click[Buy Now]", "think[x]")),
    st.builds("{}[{}]".format, st.sampled_from(("click", "search", "Click")), st.text(max_size=20)),
)


@settings(max_examples=50)
@given(st.lists(ACTIONS, max_size=20))
def test_any_actions_keep_to_the_rules(actions):
    env = make()
    observation, info = env.reset(TASK)
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        assert 0.0 <= reward <= 1.0
        assert observation
        if terminated or truncated:
            assert info["success"] is (reward == 1.0)
            break
        assert all(choice.startswith("click[") for choice in info["choices"])
        assert (info["free"] == "search") is (not info["choices"])


@given(st.lists(st.integers(0, 30), max_size=12))
def test_every_choice_can_be_done(picks):
    env = make()
    _, info = env.reset(TASK)
    for pick in picks:
        action = info["choices"][pick % len(info["choices"])] if info["choices"] else "search[mug]"
        _, _, terminated, truncated, info = env.step(action)
        assert "invalid" not in info, action
        if terminated or truncated:
            break


WORDS = read_words()
FAILED = [trajectory for trajectory, _ in WORDS.reflections]


def test_three_worked_attempts_win_and_two_fail():
    assert [t.outcome.success for t in WORDS.trajectories] == [True] * 3
    assert {t.outcome.reason for t in WORDS.trajectories} == {"won"}
    assert [t.outcome.reward for t in FAILED] == [0.5, 0.5]
    assert {t.outcome.reason for t in FAILED} == {"halted"}


def test_every_step_can_be_done_and_follows_from_what_was_seen():
    for trajectory in (*WORDS.trajectories, *FAILED):
        seen = trajectory.task
        assert seen.startswith("WebShop\nInstruction:\n")
        for step in trajectory.steps:
            assert step.thought
            name, _, text = step.action[:-1].partition("[")
            assert f"[{text}]" in seen if name == "click" else seen.endswith("[Search]"), step.action
            # After an option, the page with all the options is still the one that is open.
            seen = seen if step.observation.startswith("You have clicked") else step.observation
        assert trajectory.steps[-1].action == "click[Buy Now]"


def test_what_thoughts_say_is_so():
    socks, _, frame = WORDS.trajectories
    first = socks.steps[0].observation
    assert first.index("[KX10000003]") < first.index("[KX10000001]")
    assert all(f"[KX3000000{i}]" in frame.steps[0].observation for i in (1, 2, 3))
    assert FAILED[1].steps[0].observation.split("\n")[2] == "[KX50000001]"


def test_attempts_are_the_same_each_time():
    read_words.cache_clear()
    assert read_words() == WORDS


def test_a_failed_attempt_may_be_told_what_it_missed():
    told = read_words(told=True)
    assert told.trajectories == WORDS.trajectories
    said = [trajectory.steps[-1].observation.split("\n")[1] for trajectory, _ in told.reflections]
    assert said == ["Not as asked for: color: purple; thickness: 8 mm", "Not as asked for: foldable; the price limit"]


def test_reflections_say_what_to_do_next():
    assert all("Next time" in text for _, text in WORDS.reflections)


def test_worked_attempts_are_not_in_the_generated_shop():
    rows, _ = make_catalogue(300, 0)
    sold = " ".join(row["name"] for row in rows).lower()
    assert not any(name in sold for name in ("hiking socks", "kettle", "picture frame", "yoga mat", "laundry basket"))
