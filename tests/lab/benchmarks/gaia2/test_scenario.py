"""Our own scenarios as files: what they hold, and that each follows from its universe."""

import json

from seasoned.lab.benchmarks.gaia2 import scenarios
from seasoned.lab.benchmarks.gaia2.env import TO_USER
from seasoned.lab.benchmarks.gaia2.families import FAMILIES
from seasoned.lab.benchmarks.gaia2.scenario import app_states, make, text_of
from seasoned.lab.benchmarks.gaia2.universe import MOST, universe
from seasoned.replies.calls import read_call

ALL = list(scenarios().values())


def test_there_are_enough_of_each_kind_in_every_universe():
    kinds = {kind: [one for one in ALL if one.kind == kind] for kind in ("search", "execution")}
    assert {kind: len(some) for kind, some in kinds.items()} == {"search": 120, "execution": 120}
    for some in kinds.values():
        assert {one.universe for one in some} == set(range(1, MOST + 1))


def test_no_two_have_the_same_task():
    assert len({one.draft.task for one in ALL}) == len(ALL)


def test_a_file_holds_the_task_the_oracle_and_what_is_checked():
    for one in ALL[:24]:
        raw = json.loads(text_of(one))
        assert raw["metadata"]["definition"]["scenario_id"] == one.id
        first, *oracle = raw["events"]
        assert first["action"]["args"][0]["value"] == one.draft.task
        assert len(oracle) == len(one.draft.writes) + 1
        assert oracle[-1]["action"]["function"] == "send_message_to_user"
        assert set(raw["seasoned"]["checks"]) <= {event["event_id"] for event in oracle}
        assert ("answer" in raw["seasoned"]) == (one.kind == "search")


def test_a_solution_is_calls_that_read_back():
    for one in ALL:
        calls = [read_call(action) for action in one.solution]
        assert all(calls), one.id
        assert calls[-1].name == TO_USER
        assert bool(one.draft.writes) == (one.kind == "execution")
        if one.draft.answer:
            assert len(calls[-1].arguments["content"]) <= one.draft.most
            assert one.draft.answer in calls[-1].arguments["content"]


def test_a_family_follows_from_the_universe():
    for name, family in (FAMILIES["search"] | FAMILIES["execution"]).items():
        made = [make(number, "search", name, family) for number in (1, 2)]
        assert made[0] == make(1, "search", name, family)
        assert made[0].solution != made[1].solution


def test_the_state_is_json_and_the_same_each_time():
    first = json.dumps(app_states(universe(3)))
    universe.cache_clear()
    assert json.dumps(app_states(universe(3))) == first
    names = [state["name"] for state in json.loads(first)]
    assert len(names) == len(set(names)) == 12


def test_every_app_holds_what_the_universe_does():
    made = universe(2)
    states = {state["name"]: state["app_state"] for state in app_states(made)}
    assert len(states["Contacts"]["contacts"]) == len(made.people) + 1
    assert [row["is_user"] for row in states["Contacts"]["contacts"].values()].count(True) == 1
    inbox = [*made.invoices, *made.offers, *made.questions]
    assert len(states["Emails"]["folders"]["INBOX"]["emails"]) == len(inbox)
    assert states["Messages"]["current_user_id"] == made.user.phone
    assert states["Chats"]["current_user_id"] == made.user.chat
    assert set(states["City"]["crime_data"]) == {flat["zip_code"] for flat in made.flats}
