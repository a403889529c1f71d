"""The states of the apps."""

import json

from seasoned.lab.benchmarks.gaia2.states import app_states
from seasoned.lab.benchmarks.gaia2.universe import universe


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
    assert len(states["Emails"]["folders"]["INBOX"]["emails"]) == len(made.inbox)
    assert states["Messages"]["current_user_id"] == made.user.phone
    assert states["Chats"]["current_user_id"] == made.user.chat
    assert set(states["City"]["crime_data"]) == {flat.zip for flat in made.flats}
