"""Gaia2's own files, as a folder has them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import DataError
from seasoned.lab.benchmarks.gaia2 import scenarios
from seasoned.lab.benchmarks.gaia2.folder import read_folder
from seasoned.lab.benchmarks.gaia2.scenario import text_of

CONFIGS = ("execution", "search")


@pytest.fixture
def write(tmp_path):
    def written(name, config="search", split="validation", text=None):
        path = tmp_path / config / split / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(scenarios()[name]) if text is None else text, encoding="utf-8")
        return tmp_path

    return written


def test_scenarios_are_read(write):
    write("scenario_universe_3_job")
    root = write("scenario_universe_4_buy", "execution")
    tasks, broken = read_folder(root, CONFIGS, "validation")
    assert [(task.id, task.category, task.data["universe"], task.data["judged"]) for task in tasks] == [
        ("scenario_universe_4_buy", "execution", 4, True),
        ("scenario_universe_3_job", "search", 3, True),
    ]
    assert tasks[1].text == scenarios()["scenario_universe_3_job"].draft.task
    assert broken == []


def test_what_writes_no_text_needs_no_judge(write):
    raw = json.loads(text_of(scenarios()["scenario_universe_4_buy"]))
    raw["events"] = [one for one in raw["events"] if one["action"]["function"] != "send_message_to_user"]
    root = write("silent", text=json.dumps(raw))
    assert [task.data["judged"] for task in read_folder(root, CONFIGS, "validation")[0]] == [False]


def test_a_folder_without_files_is_named(tmp_path):
    with pytest.raises(DataError, match=r"execution/validation/\*.json and search/validation"):
        read_folder(tmp_path, CONFIGS, "validation")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ("{}", "KeyError"),
        ('{"metadata": {"definition": {"scenario_id": "x"}}, "events": []}', "which universe"),
        ('{"metadata": {"definition": {"scenario_id": "universe_1"}}, "events": []}', "no first message of the user"),
        ("[" * 100_000, "RecursionError"),
    ],
)
def test_what_is_no_scenario_is_named_and_left_out(write, text, why):
    root = write("broken", text=text)
    with pytest.raises(DataError, match=why):
        read_folder(root, CONFIGS, "validation")
    write("scenario_universe_3_job")
    tasks, broken = read_folder(root, CONFIGS, "validation")
    assert len(tasks) == len(broken) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "definition", "scenario_id", "events", "action", "args", "class_name", "dependencies"]
            ),
            inner,
        )
    ),
)


@given(raw=JSON)
def test_any_json_is_reported(tmp_path_factory, raw):
    root = tmp_path_factory.mktemp("any")
    path = root / "search" / "validation" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(DataError, match="none of the 1 scenarios"):
        read_folder(root, CONFIGS, "validation")
