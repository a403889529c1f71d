"""New games: drawn from a made-up household, checked by a small world of our own, and made on the real engine."""

import json
import random
import re
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import ConfigError, DataError, InfrastructureError
from seasoned.lab.benchmarks.alfworld import games
from seasoned.lab.benchmarks.alfworld.game import CATEGORIES, category_of, read_game
from seasoned.lab.benchmarks.alfworld.game import room as places_of
from seasoned.lab.benchmarks.alfworld.games import TASK_TYPES, draw, generate, mangle, names, problem
from seasoned.lab.benchmarks.alfworld.rooms import Household, Place, Room, Thing, parse_household, read_household
from seasoned.lab.benchmarks.worker import Workers

MADE_UP = Path(__file__).with_name("household.json")
HOUSE = parse_household(json.loads(MADE_UP.read_text(encoding="utf-8")))
TOOLS = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}
DONE = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}

needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="a script cannot stand in for Python there")


class World:
    """The household's physics in a few lines: what the PDDL says, and what a command needs and does."""

    def __init__(self, draft):
        self.kind, self.thing, _, self.target, _ = draft.folder.split("-")
        facts = [line.split() for line in re.findall(r"^    \((.+)\)$", json.loads(draft.text)["pddl_problem"], re.M)]
        self.facts = {tuple(fact) for fact in facts}
        self.type = {fact[1]: fact[2] for fact in facts if fact[0] in ("receptacleType", "objectType")}
        self.at = {fact[1]: fact[2] for fact in facts if fact[0] == "receptacleAtLocation"}
        self.inside = {fact[1]: fact[2] for fact in facts if fact[0] == "inReceptacle"}
        self.named = {name: id_ for id_, name in names(self.type).items()}
        self.here = next(fact[2] for fact in facts if fact[0] == "atLocation")
        self.held, self.open, self.did, self.lit = None, set(), set(), False

    def reaches(self, place):
        assert self.here == self.at[place]

    def enters(self, place):
        self.reaches(place)
        assert ("openable", place) not in self.facts or place in self.open

    def do(self, command):
        verb, name, _, other = re.fullmatch(r"(go to|\w+) (\w+ \d+)( from | to | with |)(.*)", command).groups()
        one, two = self.named[name], self.named.get(other)
        if verb == "go to":
            assert self.here != self.at[one]
            self.here = self.at[one]
        elif verb == "open":
            self.reaches(one)
            assert ("openable", one) in self.facts
            assert one not in self.open
            self.open.add(one)
        elif verb == "take":
            self.enters(two)
            assert self.inside.pop(one) == two
            assert ("pickupable", one) in self.facts
            assert self.held is None
            self.held = one
        elif verb == "move":
            self.enters(two)
            assert self.held == one
            assert ("canContain", self.type[two], self.type[one]) in self.facts
            self.held, self.inside[one] = None, two
        elif verb == "use":
            self.reaches(self.inside[one])
            assert ("toggleable", one) in self.facts
            assert self.type[one] == "DeskLampType"
            self.lit = True
        else:
            self.reaches(two)
            assert self.held == one
            assert self.type[two] == f"{TOOLS[verb]}Type"
            assert (DONE[verb], one) in self.facts
            self.did.add((one, verb))

    def solved(self):
        if self.kind == "look_at_obj_in_light":
            return self.lit and self.held is not None and self.type[self.held] == f"{self.thing}Type"
        verb = next((verb for verb in TOOLS if f"_{verb}_" in self.kind), None)
        there = Counter(
            place
            for thing, place in self.inside.items()
            if self.type[thing] == f"{self.thing}Type"
            and self.type[place] == f"{self.target}Type"
            and (not verb or (thing, verb) in self.did)
        )
        return max(there.values(), default=0) >= (2 if "two" in self.kind else 1)


def drafts(house, kind, seeds):
    for seed in seeds:
        rng = random.Random(f"test-{seed}")
        tries = (draw(house, kind, "trial_x", rng) for _ in range(100))
        yield next(draft for draft in tries if draft)


def check_walkthrough(draft):
    world = World(draft)
    for command in draft.walkthrough:
        assert not world.solved()
        world.do(command)
    assert world.solved()


@pytest.mark.parametrize("kind", TASK_TYPES, ids=lambda kind: kind.name)
def test_a_walkthrough_solves_its_game_and_not_before_its_last_command(kind):
    for draft in drafts(HOUSE, kind, range(20)):
        check_walkthrough(draft)


@pytest.mark.parametrize("kind", TASK_TYPES, ids=lambda kind: kind.name)
def test_what_is_to_be_found_lies_neither_in_the_target_nor_in_the_tool(kind):
    opened = 0
    for draft in drafts(HOUSE, kind, range(40)):
        world = World(draft)
        things = [id_ for id_, type_ in world.type.items() if type_ == f"{world.thing}Type"]
        assert kind.take <= len(things) <= 4
        for thing in things:
            assert world.type[world.inside[thing]] not in (f"{world.target}Type", f"{kind.tool}Type")
        first = next(place for command in draft.walkthrough if (place := re.match(r"take .* from (.*)", command)))[1]
        opened += f"open {first}" in draft.walkthrough
    assert 0 < opened < 24  # some of it is behind a door, most is not


def test_folder_and_sentence_say_the_same():
    for kind in TASK_TYPES:
        for draft in drafts(HOUSE, kind, range(5)):
            name, thing, none, target, room = draft.folder.split("-")
            assert name == kind.name
            assert none == "None"
            assert int(room) in HOUSE.rooms
            game = json.loads(draft.text)
            assert list(game) == ["pddl_domain", "grammar", "pddl_problem", "solvable", "walkthrough"]
            assert (game["walkthrough"], game["solvable"]) == (list(draft.walkthrough), True)
            sentence = re.search(r"Your task is to: (.+?)\.", game["grammar"])[1]
            assert {thing.lower(), target.lower()} <= set(sentence.split())
            assert f"{thing}Type" in game["pddl_problem"].split("(:goal")[1]
            assert "#" not in game["pddl_problem"]


def test_games_differ():
    made = [draft for kind in TASK_TYPES for draft in drafts(HOUSE, kind, range(30))]
    assert len({draft.text for draft in made}) == len(made)
    assert len({draft.folder for draft in made}) > 60


ENGINE = """
import json, os, pathlib, sys
if "-c" in sys.argv:
    print(open({household!r}).read())
    sys.exit()
print(json.dumps({{"id": 0, "versions": {{}}}}), flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    if ask["do"] == "load":
        path, done = ask["game"], []
        with open({log!r}, "a") as log:
            print(pathlib.Path(path).name, file=log)
        walk = json.load(open(path))["walkthrough"]
    else:
        done.append(ask["command"])
    state = {{"observation": "Done.", "won": done == walk}}
    {quirk}
    print(json.dumps({{"id": ask["id"], **state}}), flush=True)
"""


@pytest.fixture
def stand_in(tmp_path):
    """Makes a stand-in for the environment's Python: it believes every walkthrough, but for its quirk."""

    def make(quirk="pass"):
        path = tmp_path / "python"
        body = ENGINE.format(household=str(MADE_UP), log=str(tmp_path / "log"), quirk=quirk)
        path.write_text(f"#!{sys.executable}\n{body}", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    return make


def played(tmp_path):
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


@needs_scripts
class TestGenerating:
    def test_equal_numbers_under_alfworlds_names(self, stand_in, tmp_path):
        told = []
        files = generate(12, 5, tmp_path / "out", python=stand_in(), progress=lambda *done: told.append(done))
        assert told == [(done, 12) for done in range(1, 13)]
        assert sorted((tmp_path / "out").rglob("*")) == sorted(
            {f for p in files for f in (p, p.parent, p.parent.parent)}
        )
        assert [path.parent.name for path in files] == [f"trial_s5_{index:04d}" for index in range(12)]
        assert Counter(category_of(path) for path in files) == dict.fromkeys(CATEGORIES, 2)
        for path in files:
            game = read_game(path)
            assert game.solvable
            assert game.walkthrough
            assert game.moves == "move {thing} to {place}"

    def test_the_same_seed_gives_the_same_bytes_and_another_others(self, stand_in, tmp_path):
        def content(folder, games, seed):
            files = generate(games, seed, tmp_path / folder, python=stand_in())
            return [(path.relative_to(tmp_path / folder), path.read_bytes()) for path in files]

        first = content("a", 9, 1)
        assert content("b", 9, 1) == first
        assert content("c", 6, 1) == first[:6]
        assert content("d", 9, 2) != first

    def test_nothing_is_asked_twice_in_a_room_while_there_is_something_else(self, stand_in, tmp_path):
        files = generate(36, 3, tmp_path / "out", python=stand_in())
        assert len({path.parent.parent.name for path in files}) == 36

    def test_taken_up_where_it_was_cut_off(self, stand_in, tmp_path):
        def stop(done, _):
            if done == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            generate(12, 5, tmp_path / "out", python=stand_in(), progress=stop)
        before = len(played(tmp_path))
        files = generate(12, 5, tmp_path / "out", python=stand_in())
        assert len(played(tmp_path)) == 12 >= before >= 4
        generate(12, 5, tmp_path / "out", python=stand_in())
        assert len(played(tmp_path)) == 12
        assert len(list((tmp_path / "out").rglob("game.tw-pddl"))) == len(files)

    def test_a_game_that_does_not_prove_is_drawn_again(self, stand_in, tmp_path):
        python = stand_in('state["won"] = state["won"] and not path.endswith(("_0002-0.tw-pddl", "_0002-1.tw-pddl"))')
        files = generate(6, 5, tmp_path / "out", python=python)
        assert [name for name in played(tmp_path) if "_0002-" in name] == [
            f"trial_s5_0002-{number}.tw-pddl" for number in range(3)
        ]
        assert len(files) == 6
        assert sum(path.is_dir() for path in (tmp_path / "out").rglob("*")) == 12  # nothing is left of what failed

    def test_what_never_proves_is_an_error_and_leaves_nothing(self, stand_in, tmp_path, monkeypatch):
        monkeypatch.setattr(games, "_TRIES", 4)
        with pytest.raises(DataError, match=r"trial_s0_0000 could not be made in 4 tries; .*did not win"):
            generate(2, 0, tmp_path / "out", python=stand_in('state["won"] = False'))
        assert not (tmp_path / "out").exists()

    def test_the_faults_of_a_game_are_named(self, stand_in, tmp_path):
        faults = {
            "early": ({"observation": "Done.", "won": True}, "won before 'look'"),
            "nothing": ({"observation": "Nothing happens.", "won": False}, "nothing happened at 'look'"),
            "broken": ({"error": "the file is broken", "kind": "game"}, "the file is broken"),
            "odd": ({"odd": 1}, "won"),
        }
        states = {name: state for name, (state, _) in faults.items()}
        python = stand_in(f"state = {states}[pathlib.Path(path).stem]")
        with closing(Workers((python,), name="the engine", timeout=20.0)) as pool:
            for name, (_, why) in faults.items():
                path = tmp_path / f"{name}.tw-pddl"
                path.write_text('{"walkthrough": ["look"]}', encoding="utf-8")
                assert why in games._play(path, ["look"], pool)

    def test_an_engine_that_dies_is_replaced_and_the_game_stays_the_same(self, stand_in, tmp_path):
        steady = [path.read_bytes() for path in generate(2, 7, tmp_path / "a", python=stand_in())]
        once = str(tmp_path / "died")
        python = stand_in(f"os.path.exists({once!r}) or (open({once!r}, 'w').close(), os._exit(1))")
        assert [path.read_bytes() for path in generate(2, 7, tmp_path / "b", python=python)] == steady

    def test_an_engine_that_always_dies_is_no_fault_of_the_game(self, stand_in, tmp_path):
        with pytest.raises(InfrastructureError, match="has died"):
            generate(1, 7, tmp_path / "out", python=stand_in("os._exit(1)"))

    def test_a_folder_that_cannot_be_written(self, stand_in, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(DataError, match="could not be written"):
            generate(1, 0, tmp_path / "file" / "out", python=stand_in())


@pytest.mark.parametrize("games", [0, -1, 2001])
def test_a_number_out_of_range(games, tmp_path):
    with pytest.raises(ConfigError, match="from 1 to 2000"):
        generate(games, 0, tmp_path / "out")


def test_a_folder_with_other_games(tmp_path):
    other = tmp_path / "pick_two" / "trial_s1_0000" / "game.tw-pddl"
    other.parent.mkdir(parents=True)
    other.write_text("{}")
    with pytest.raises(ConfigError, match=r"other games in it, such as pick_two.trial_s1_0000"):
        generate(6, 0, tmp_path, python="nothing")


def test_a_file_for_a_folder(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="but is a file"):
        generate(6, 0, tmp_path / "out", python="nothing")


def test_no_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="seasoned bench install alfworld"):
        generate(6, 0, tmp_path / "out")


@pytest.mark.engine
def test_the_packages_own_rooms_give_games_whose_walkthroughs_hold(engine_python):
    house = read_household(engine_python)
    assert len(house.rooms) == 120
    rooms = Counter()
    for kind in TASK_TYPES:
        for draft in drafts(house, kind, range(10)):
            check_walkthrough(draft)
            rooms[draft.folder.rsplit("-", 1)[1]] += 1
    assert len(rooms) > 30


SHELF = Place("Shelf|+01.00|+01.50|-02.00", "Shelf", "loc|3|-8|1|30", opens=False)
LOW = Place("Shelf|-01.00|+00.50|-02.00", "Shelf", "loc|4|-8|1|30", opens=False)
SAFE = Place("Safe|+00.00|+00.20|00.00", "Safe", "loc|1|1|0|30", opens=True)
BASIN = Place("Sink|+00.50|+00.90|+00.50|SinkBasin", "SinkBasin", "loc|2|2|2|30", opens=False)
ROOM = Room(1, (SHELF, LOW, SAFE, BASIN), ("Mug", "Watch"), ("DeskLamp", "Sink"))
SMALL_HOUSE = Household(
    domain="(define (domain made-up))",
    grammar="Your task is to: UNKNOWN GOAL.",
    goals={},
    holds={"Shelf": frozenset({"Mug", "Watch"}), "Safe": frozenset({"Watch"}), "SinkBasin": frozenset({"Mug"})},
    able={"Cleanable": frozenset({"Mug"}), "Toggleable": frozenset({"DeskLamp"})},
    movable=frozenset({"Mug", "Watch"}),
    vessels=frozenset({"Mug"}),
    rooms={1: ROOM},
)
THINGS = (
    Thing("Mug|+00.11|+01.00|-00.22", "Mug", SHELF),
    Thing("Watch|-00.50|+00.10|+00.70", "Watch", SAFE),
    Thing("DeskLamp|+01.00|+01.00|+01.00", "DeskLamp", LOW),
    Thing("Sink|+00.55|+00.95|+00.55", "Sink", BASIN, beside=True),
)


def test_mangled():
    assert mangle("Mug|+00.11|00.00|-00.22") == "Mug_bar__plus_00_dot_11_bar_00_dot_00_bar__minus_00_dot_22"
    assert mangle("loc|-3|8|1|-30") == "loc_bar__minus_3_bar_8_bar_1_bar__minus_30"


def test_the_first_id_has_the_highest_number_and_a_basin_is_no_sink():
    called = names([place.id for place in ROOM.places] + [thing.id for thing in THINGS])
    assert called[SHELF.id] == "shelf 1"  # _minus_ sorts before _plus_
    assert called[LOW.id] == "shelf 2"
    assert called[BASIN.id] == "sinkbasin 1"
    assert called[THINGS[3].id] == "sink 1"
    assert called[THINGS[0].id] == "mug 1"


def test_the_names_are_those_that_are_read_from_the_problem():
    text = problem("plan_x", ROOM, THINGS, "(:goal ()))", SMALL_HOUSE)
    called = names([place.id for place in ROOM.places] + [thing.id for thing in THINGS])
    assert sorted(places_of(text)) == sorted(called[place.id] for place in ROOM.places)


def test_everything_that_is_spoken_of_is_declared_once():
    text = problem("plan_x", ROOM, THINGS, "(:goal ()))", SMALL_HOUSE)
    declared = re.findall(r"^(\S+) - (\S+)$", text, re.MULTILINE)
    kinds = dict(declared)
    assert len(kinds) == len(declared)
    for fact in re.findall(r"^    \((.+)\)$", text, re.MULTILINE):
        assert set(fact.split()[1:]) <= set(kinds)
    for type_ in ("ButterKnifeType", "KnifeType"):
        assert kinds[type_] == "otype"
    for type_ in ("SinkBasinType", "MicrowaveType", "FridgeType"):
        assert kinds[type_] == "rtype"
    assert text.count("(") == text.count(")")


def test_facts():
    text = problem("plan_x", ROOM, THINGS, "(:goal ()))", SMALL_HOUSE)
    mug, watch, lamp, sink = (mangle(thing.id) for thing in THINGS)
    for fact in (
        f"inReceptacle {mug} {mangle(SHELF.id)}",
        f"isReceptacleObject {mug}",
        f"cleanable {mug}",
        f"pickupable {watch}",
        f"openable {mangle(SAFE.id)}",
        f"toggleable {lamp}",
        f"objectAtLocation {sink} {mangle(BASIN.location)}",
        "canContain ShelfType MugType",
    ):
        assert f"({fact})" in text
    for fact in (
        f"pickupable {lamp}",
        f"cleanable {watch}",
        f"inReceptacle {sink}",
        f"openable {mangle(SHELF.id)}",
        "canContain SafeType MugType",
    ):
        assert f"({fact}" not in text
    assert len(re.findall(r"\(atLocation ", text)) == 1
    start = re.search(r"\(atLocation agent1 (\S+)\)", text)[1]
    assert not re.search(rf"\(receptacleAtLocation \S+ {start}\)", text)


numbers = st.floats(-9, 9).map(lambda value: f"{value:+06.2f}")
ids = st.tuples(st.sampled_from(["Mug", "Shelf", "Sink"]), numbers, numbers, numbers).map("|".join)


@settings(max_examples=50)
@given(st.sets(ids, min_size=1, max_size=30))
def test_every_id_has_a_name_of_its_own(some):
    called = names(some)
    assert len(set(called.values())) == len({mangle(id_) for id_ in some}) == len(some)
    for kind in ("mug", "shelf", "sink"):
        found = sorted(int(name.split()[1]) for name in called.values() if name.split()[0] == kind)
        assert found == list(range(1, len(found) + 1))
