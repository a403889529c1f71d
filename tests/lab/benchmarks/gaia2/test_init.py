"""Gaia2 as a benchmark: pools, options, prompts, the check; and the real engine where it is there."""

import json
import sys
from collections import Counter
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.contracts import check_environment
from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import gaia2
from seasoned.lab.benchmarks.gaia2 import check, load, read_folder, scenarios
from seasoned.lab.benchmarks.gaia2.env import Gaia2Environment
from seasoned.lab.benchmarks.gaia2.families import FAMILIES
from seasoned.lab.benchmarks.gaia2.scenario import make, text_of
from seasoned.lab.benchmarks.gaia2.universe import WORKED, universe
from seasoned.lab.benchmarks.worker import Episode
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Task

PYTHON = {"python": sys.executable}
SOME = ("job", "note", "buy", "move-event")


def loaded(seed=0, **options):
    return load({**PYTHON, **options}, seed=seed)


def test_training_and_test_share_no_universe():
    benchmark = loaded()
    universes = [{task.data["universe"] for task in pool} for pool in (benchmark.train, benchmark.test)]
    assert universes == [set(range(1, 9)), {9, 10}]
    assert [len(pool) for pool in (benchmark.train, benchmark.test)] == [192, 48]
    assert benchmark.source == "240 scenarios of Seasoned in 10 universes"


def test_families_of_ours_can_be_chosen():
    benchmark = loaded(families=["reply", "asker"])
    assert {task.data["family"] for task in (*benchmark.train, *benchmark.test)} == {"reply", "asker"}
    assert [len(pool) for pool in (benchmark.train, benchmark.test)] == [16, 4]


def test_any_first_part_is_balanced():
    benchmark = loaded()
    for pool in (benchmark.train, benchmark.test):
        for n in (2, 10, 24):
            assert set(Counter(task.category for task in pool[:n]).values()) == {n // 2}
        assert len({task.data["family"] for task in pool[:24]}) == 24


def test_the_seed_decides_the_order():
    ids = [[task.id for task in loaded(seed).train] for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]
    assert sorted(ids[0]) == sorted(ids[2])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_steps": 0}, "above 0"),
        ({"observation": 0}, "above 0"),
        ({"test_universes": [99]}, "both pools"),
        ({"test_universes": list(range(1, 11))}, "both pools"),
        ({"universes": 3}, "no option"),
        ({"families": ["asker", "opera"]}, "among job, .* but has 'opera'"),
        ({"families": []}, "both pools"),
    ],
)
def test_bad_options(options, why):
    with pytest.raises(ConfigError, match=why):
        loaded(**options)


def test_without_the_engine_it_is_said_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="seasoned bench install gaia2"):
        load({}, seed=0)


def test_a_folder_of_data(tmp_path, monkeypatch):
    for name in ("scenario_universe_22_buy", "scenario_universe_25_buy", "scenario_universe_30_buy"):
        path = tmp_path / "gaia2" / "execution" / "validation" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text_of(scenarios()["scenario_universe_1_buy"]).replace("scenario_universe_1_buy", name)
        path.write_text(text.replace("Buy ", f"{name}: buy "), encoding="utf-8")
    monkeypatch.setenv("SEASONED_DATA", str(tmp_path))
    benchmark = loaded()
    assert sorted(task.data["universe"] for task in benchmark.test) == [22, 25]
    assert benchmark.judged == {task.id for task in (*benchmark.train, *benchmark.test)}
    with pytest.raises(DataError, match="no such file or folder"):
        loaded(data=str(tmp_path / "elsewhere"))


def test_the_words_of_the_prompts():
    benchmark = loaded()
    assert {one.category for one in benchmark.trajectories} == {"search", "execution"}
    assert all(step.call for one in benchmark.trajectories for step in one.steps)
    assert benchmark.retried.task_id == benchmark.reflections[0][0].task_id


def test_a_scenario_that_is_nowhere():
    with pytest.raises(DataError, match="names no file"):
        gaia2.text(Task(id="scenario_universe_99_x", text=""))


# With the real engine


@pytest.fixture
def real(are):
    """Our test tasks, and an environment over the real engine."""
    env = Gaia2Environment(Episode(are), gaia2.text, 80, 20_000)
    with closing(env):
        yield loaded().test, env


@pytest.mark.engine
@pytest.mark.parametrize("family", SOME)
def test_are_judges_the_oracle_and_the_lazy_agent(real, family):
    tasks, env = real
    task = next(task for task in tasks if task.data["family"] == family)
    observation, info = env.reset(task)
    assert observation.startswith(task.text)
    assert len(info["tools"]) > 95
    for action in scenarios()[task.id].solution:
        _, reward, over, _, _ = env.step(action)
    assert (reward, over) == (1.0, True)
    env.reset(task)
    assert env.step("Done.")[1:3] == (0.0, True)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("family", "extra"),
    [
        ("note", 'Files__open({"path": "Documents/Home/wifi.txt", "mode": "r"})'),  # opening counts as a change
        ("reply", 'Emails__send_email({"recipients": ["a@b.com"], "subject": "x", "content": "y"})'),
        ("save-flats", "SAVE AGAIN"),
    ],
)
def test_one_change_too_many_fails(real, family, extra):
    tasks, env = real
    task = next(task for task in tasks if task.data["family"] == family)
    solution = list(scenarios()[task.id].solution)
    solution.insert(-1, solution[-2] if extra == "SAVE AGAIN" else extra)
    env.reset(task)
    for action in solution:
        _, reward, over, _, info = env.step(action)
    assert (reward, over, info["success"]) == (0.0, True, False)


@pytest.mark.engine
def test_an_answer_is_exact(real):
    tasks, env = real
    task = next(task for task in tasks if task.data["family"] == "invoices")
    right = scenarios()[task.id].draft.said
    for said, reward in ((f"It is {right}9", 0.0), (f"It is {right} euros.", 1.0)):
        env.reset(task)
        assert env.step(said)[1] == reward


@pytest.mark.engine
def test_the_answers_of_searches_follow_from_what_is_read(real):
    tasks, env = real
    computed = {"invoices", "week", "rides"}
    for task in tasks[:24]:
        scenario = scenarios()[task.id]
        if scenario.kind == "search" and scenario.family not in computed:
            env.reset(task)
            seen = " ".join(env.step(action)[0] for action in scenario.solution[:-1])
            assert all(part in seen for part in scenario.draft.answer.split()), scenario.id


@pytest.mark.engine
def test_the_worked_attempts_are_what_are_says(are):
    made = [make(WORKED, kind, name, family) for kind, some in FAMILIES.items() for name, family in some.items()]
    words = loaded()
    for worked in [*words.trajectories, *(failed for failed, _ in words.reflections), words.retried]:
        scenario = next(one for one in made if one.draft.task == worked.task.partition("\n")[0])
        env = Gaia2Environment(Episode(are), lambda task, own=scenario: text_of(own), 80, 20_000)
        with closing(env):
            assert env.reset(Task(id="w", text=""))[0] == worked.task
            for step in worked.steps:
                observation, reward, *_ = env.step(step.action)
                assert observation == step.observation
            assert reward == step.reward == float(worked.outcome.success)


@pytest.mark.engine
def test_the_contract_holds_with_are(are):
    task = loaded().test[0]
    check_environment(
        lambda: Gaia2Environment(Episode(are), gaia2.text, 80, 20_000), task, actions=scenarios()[task.id].solution
    )


@pytest.mark.engine
def test_a_soft_judge_is_asked_through_this_process(are):
    scenario = scenarios()["scenario_universe_1_reply"]
    asked = []

    def says(messages):
        asked.append(messages)
        return "[[success]] yes, they say the same"

    env = Gaia2Environment(Episode(are), lambda task: text_of(scenario), 80, 20_000, judge=ScriptedModel(says))
    with closing(env):
        env.reset(Task(id="t", text=""))
        for action in scenario.solution:
            _, _, over, _, info = env.step(action.replace(scenario.draft.writes[0].arguments["content"], "Other words"))
    assert over
    assert asked
    assert info["success"] in (True, False)


@pytest.mark.engine
def test_the_check_plays_the_oracle_and_an_agent_that_does_nothing(are_python, monkeypatch):
    few = {name: scenarios()[name] for name in map("scenario_universe_1_{}".format, ("note", "buy", "job"))}
    wrong = few["scenario_universe_1_job"].draft.said
    monkeypatch.setattr(gaia2, "scenarios", lambda: few)
    monkeypatch.setattr(gaia2, "AT_ONCE", 1)
    monkeypatch.setattr(
        gaia2, "text_of", lambda one: text_of(one).replace(f'"words": ["{wrong}"]', '"words": ["Nobody"]')
    )
    found = check({"python": are_python})
    assert (found.good, found.total) == (2, 3)
    assert "scenario_universe_1_job: its oracle does not succeed" in found.problems[0]
    assert found.facts == ('3/3 tasks are failed by an agent that only says "Done."',)


@pytest.mark.engine
def test_a_folder_is_checked_without_its_texts(are_python, monkeypatch, tmp_path):
    monkeypatch.setattr(gaia2, "AT_ONCE", 1)
    for config, name in (("execution", "scenario_universe_1_buy"), ("search", "scenario_universe_2_job")):
        raw = json.loads(text_of(scenarios()[name]))
        del raw["seasoned"]
        path = tmp_path / config / "validation" / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(raw), encoding="utf-8")
    found = check({"python": are_python, "data": str(tmp_path)})
    assert (found.good, found.total, found.problems) == (2, 2, ())
    assert found.facts[0].startswith("1/2 tasks are failed")
    assert "compared without their texts" in found.facts[1]


def test_worked_attempts_are_calls_that_end_with_a_message():
    words = loaded()
    for one in [*words.trajectories, *(failed for failed, _ in words.reflections), words.retried]:
        assert all(step.call and step.thought for step in one.steps)
        assert one.steps[-1].call.name == "AgentUserInterface__send_message_to_user"
        assert one.steps[-1].observation == "The task is over."
    assert all(one.outcome.success for one in words.trajectories)
    assert not any(failed.outcome.success for failed, _ in words.reflections)
    assert words.retried.outcome.success


def test_they_are_of_a_universe_of_their_own():
    told = " ".join(step.observation for one in loaded().trajectories for step in one.steps)
    assert universe(WORKED).towns[0].lower() in told.lower()


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


@settings(max_examples=40)
@given(raw=JSON)
def test_any_json_is_reported(tmp_path_factory, raw):
    root = tmp_path_factory.mktemp("any")
    path = root / "search" / "validation" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(DataError, match="none of the 1 scenarios"):
        read_folder(root, CONFIGS, "validation")
