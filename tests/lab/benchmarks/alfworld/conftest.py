"""Game files of ALFWorld in small."""

import json

import pytest

NEW, OLD = "move {o} to {r}", "put {o} in/on {r}"
DESK, SHELF, DRAWER = "Desk_bar__plus_01_dot_00", "Shelf_bar__minus_02_dot_00", "Drawer_bar__plus_03_dot_00"


@pytest.fixture
def write_game(tmp_path):
    """Writes a game file; `change` alters what it holds."""

    def write(
        kind="pick_and_place_simple-Mug-None-Shelf-1",
        goal="put some mug on shelf.",
        group="",
        trial="t1",
        moves=NEW,
        places=(DESK, SHELF, DRAWER),
        **change,
    ):
        facts = "\n".join(f"(receptacleAtLocation {place} loc_bar_{n})" for n, place in enumerate(places))
        task = json.dumps({"task": [{"rhs": f"Your task is to: {goal}"}]})
        game = {
            "pddl_domain": "(define (domain alfred))",
            "grammar": f'grammar :: """{task}""";\naction PutObject {{ template :: "{moves}"; }}',
            "pddl_problem": f"(:objects {' '.join(places)}) {facts} {trial} (exists (receptacleAtLocation ?r ?l))",
            "solvable": True,
            "walkthrough": ["go to desk 1", "take mug 1 from desk 1", "go to shelf 1", "move mug 1 to shelf 1"],
            **change,
        }
        path = tmp_path / "games" / group / kind / trial / "game.tw-pddl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({key: value for key, value in game.items() if value is not ...}), encoding="utf-8")
        return path

    return write
