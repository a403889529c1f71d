"""Game files, read without the engine."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import DataError
from seasoned.lab.benchmarks.alfworld.game import CATEGORIES, MAX_BYTES, category_of, goal_of, read_game, room


def test_what_a_game_says(write_game):
    game = read_game(write_game())
    assert game.category == "put"
    assert game.goal == "put some mug on shelf."
    assert goal_of(game.text) == game.goal
    assert goal_of("Find the book.") == "Find the book."
    assert game.text == (
        "You are in the middle of a room. Looking quickly around you, you see a desk 1, a drawer 1, and a shelf 1.\n"
        "Your task is to: put some mug on shelf."
    )
    assert game.moves == "move {thing} to {place}"
    assert game.walkthrough[-1] == "move mug 1 to shelf 1"
    assert game.solvable


def test_the_older_words(write_game):
    game = read_game(write_game(moves="put {o} in/on {r}"))
    assert game.moves.format(thing="mug 1", place="shelf 1") == "put mug 1 in/on shelf 1"


def test_what_may_be_missing(write_game):
    game = read_game(write_game(walkthrough=..., solvable=...))
    assert (game.walkthrough, game.solvable) == ((), True)
    assert read_game(write_game(walkthrough=["look", 3, None])).walkthrough == ("look",)
    assert not read_game(write_game(solvable=False)).solvable


def test_the_digest_is_of_the_game_and_not_of_its_place(write_game):
    one, other = read_game(write_game(trial="t1")), read_game(write_game(trial="t2"))
    assert one.digest != other.digest
    assert read_game(write_game(trial="t1", group="elsewhere")).digest == one.digest


def test_places_are_numbered_backwards_along_their_ids():
    problem = """(:objects Drawer_bar_a - receptacle Drawer_bar_b - receptacle Drawer_bar_c Mug_bar_a
        Sink_bar_a Sink_bar_a_bar_SinkBasin - receptacle)
        (receptacleAtLocation Drawer_bar_c loc_1) (receptacleAtLocation Drawer_bar_a loc_2)
        ( receptacleatlocation  Sink_bar_a_bar_SinkBasin loc_3 ) (receptacleAtLocation ?r ?l)"""
    assert room(problem) == ["drawer 3", "drawer 1", "sinkbasin 1"]


@pytest.mark.parametrize(
    ("folder", "category"),
    [
        ("pick_and_place_simple-Mug-None-Shelf-1", "put"),
        ("pick_clean_then_place_in_recep-Mug-None-Shelf-1", "clean"),
        ("pick_heat_then_place_in_recep-Mug-None-Shelf-1", "heat"),
        ("pick_cool_then_place_in_recep-Mug-None-Shelf-1", "cool"),
        ("look_at_obj_in_light-Mug-None-DeskLamp-1", "examine"),
        ("pick_two_obj_and_place-Mug-None-Shelf-1", "puttwo"),
        ("somewhere", ""),
    ],
)
def test_category(folder, category):
    assert category_of(Path("data") / folder / "trial" / "game.tw-pddl") == category
    assert category == "" or category in CATEGORIES


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"grammar": ...}, "'grammar'"),
        ({"pddl_problem": 3}, "'pddl_problem'"),
        ({"pddl_domain": None}, "'pddl_domain'"),
        ({"grammar": "action PutObject { }"}, 'no task ("Your task is to: ..")'),
        ({"grammar": '{"task": [{"rhs": "Your task is to: x"}]}'}, "no action that puts something down"),
        ({"pddl_problem": "(receptacleAtLocation ?r ?l)"}, "no places"),
        ({"kind": "my_own_game"}, "begins with one of"),
    ],
)
def test_what_cannot_be_played(write_game, change, says):
    path = write_game(**change)
    with pytest.raises(DataError) as caught:
        read_game(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "no json", "[1]", '{"a"', "[" * 100_000, "\0", '"x"'])
def test_what_is_no_game(write_game, text):
    path = write_game()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="is not a game"):
        read_game(path)


def test_files_that_cannot_be_read(write_game, tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        read_game(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder"):
        read_game(tmp_path)
    path = write_game()
    with path.open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DataError, match=r"is not a game: .*more than the"):
        read_game(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not a game"):
        read_game(path)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["pddl_domain", "pddl_problem", "grammar", "walkthrough", "solvable"]),
        st.one_of(
            json_values, st.sampled_from(['"task": [{"rhs": "Your task is to: {x}"}] template :: "put {o} in {r}"'])
        ),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_any_file_gives_a_game_or_a_sentence(tmp_path, raw):
    path = tmp_path / "look_at_obj" / "game.tw-pddl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(raw), encoding="utf-8")
    with suppress(DataError):
        assert read_game(path).category == "examine"
