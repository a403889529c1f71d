"""The day with a memory, in small: a scripted model that learns codes through its notes alone."""

import json

from loading import program

from seasoned.llm.scripted import ScriptedModel

day = program("experiments/day.py")


def test_what_is_solved_rises_and_a_day_goes_on_where_it_was(apprentice, tmp_path, capsys):
    model = ScriptedModel(apprentice, name="apprentice")
    wanted = ["--store", str(tmp_path / "day.db"), "--plot", str(tmp_path / "day.svg"), "--symbols", "1"]
    day.main([*wanted, "--attempts", "10"], llm=model)
    assert json.loads(capsys.readouterr().out)["attempts"] == 10
    calls = apprentice.calls
    day.main([*wanted, "--attempts", "75"], llm=model)
    said = json.loads(capsys.readouterr().out)
    assert said["attempts"] == 75
    first, _, last = said["solved_by_25"]
    assert last > first
    assert said["p_of_a_rise"] < 0.05
    assert said["without"]["attempts"] == 75
    assert said["without"]["solved"] < said["solved"]
    assert said["notes"] == 7
    assert apprentice.calls - calls == 65 * 5
    assert "Solved by blocks of 25 attempts" in (tmp_path / "day.svg").read_text(encoding="utf-8")
