"""Logs of inspect-ai: read back by our own reader, and by inspect-ai where it is installed."""

import json
import zipfile

import pytest

from seasoned import traces
from seasoned.errors import DataError
from seasoned.lab.report.inspect_log import write_log
from seasoned.lab.report.summary import Run
from seasoned.types import Outcome, Step, Trajectory, Usage

CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Ulm"}'}}
TALK = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How many bridges has Ulm?"},
    {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    {"role": "tool", "content": "two", "tool_call_id": "c1"},
    {"role": "assistant", "content": "two", "reasoning_content": "clear"},
)
RUN = Run(
    id="20310405T101112-bridges-3f9c",
    name="bridges",
    benchmark="bridges",
    source="own",
    model="tiny",
    seeds=(0,),
    repeats=2,
    parameters={"erl(k=3)": {"k": 3}},
    started="2031-04-05T10:11:12+00:00",
    finished="2031-04-05T10:17:40+00:00",
    version="0.1.0",
)
ENDINGS = [
    {"success": True, "reward": 0.5, "reason": "answered", "answer": "two"},
    {"success": False, "reward": 0.0, "reason": "step_limit"},
    {"success": True, "reason": "budget"},
    {"success": None, "reason": "error"},
    {"success": None, "reason": "answered"},
]


@pytest.fixture
def tested(make_row):
    """Rows of a condition that ended in every way, one of them repeated, beside those of another; and the attempts."""
    rows, attempts = [], {}
    for condition in ("disabled", "erl(k=3)"):
        for number, ending in enumerate([*ENDINGS, ENDINGS[1]]):
            name, repeat = (0, 1) if number == len(ENDINGS) else (number, 0)
            made = Trajectory(
                id=f"tra-{condition}-{number}",
                task_id=f"b/{name}",
                task=f"Bridge {name}?",
                messages=TALK if number != 1 else (),
                steps=(Step(thought="hm", action="one", observation="no"),),
                outcome=Outcome(**{"answer": "", **ending}, detail="the server fell" if number == 3 else ""),
                created="2031-04-05T10:12:00.000+00:00",
            )
            attempts[made.id] = made
            rows.append(
                make_row(condition, f"b/{name}", task=made.task, gold="two", repeat=repeat, trajectory_id=made.id,
                         turns=2, usage=Usage(prompt_tokens=20, completion_tokens=5, cost=0.25), **ending)
            )  # fmt: skip
    return rows, attempts


def test_our_reader_reads_it_back(tmp_path, tested):
    assert write_log(tmp_path / "log.eval", RUN, "erl(k=3)", *tested) == 6
    found = traces.read(tmp_path / "log.eval")
    assert (found.format, found.problems) == ("inspect", ())
    told = [(one.task, one.meta["trial"], one.outcome.success, one.outcome.reason) for one in found.trajectories]
    assert told == [
        ("Bridge 0?", 0, True, "answered"),
        ("Bridge 1?", 0, False, "step_limit"),
        ("Bridge 2?", 0, False, "budget"),
        ("Bridge 3?", 0, None, "error"),
        ("Bridge 4?", 0, None, "answered"),
        ("Bridge 0?", 1, False, "step_limit"),
    ]
    first, fourth = found.trajectories[0], found.trajectories[3]
    assert first.messages == TALK
    assert (first.outcome.reward, first.outcome.answer, first.meta["target"]) == (0.5, "two", "two")
    assert [step.call.name if step.call else "" for step in first.steps] == ["look_up", ""]
    assert (first.usage.prompt_tokens, first.usage.completion_tokens, first.agent) == (20, 5, "tiny")
    assert (first.created, fourth.outcome.detail) == ("2031-04-05T10:12:00.000+00:00", "the server fell")


def test_the_rate_is_that_of_the_report(tmp_path, tested):
    write_log(tmp_path / "log.eval", RUN, "erl(k=3)", *tested)
    with zipfile.ZipFile(tmp_path / "log.eval") as archive:
        header = json.loads(archive.read("header.json"))
    solved, reward = header["results"]["scores"]
    assert (solved["scored_samples"], solved["metrics"]["accuracy"]["value"]) == (4, 0.25)
    assert reward["metrics"]["mean"]["value"] == pytest.approx(0.5 / 3)
    assert (header["eval"]["solver"], header["eval"]["solver_args"]) == ("erl(k=3)", {"k": 3})
    assert header["eval"]["dataset"]["samples"] == 5


def test_tasks_of_several_seeds_are_told_apart(tmp_path, make_row):
    attempt = Trajectory(id="tra", task_id="t0", task="a task", messages=TALK)
    rows = [make_row(seed=seed, trajectory_id="tra", success=True) for seed in (0, 1)]
    write_log(tmp_path / "log.eval", RUN.model_copy(update={"seeds": (0, 1)}), "disabled", rows, {"tra": attempt})
    names = [one.task_id for one in traces.read(tmp_path / "log.eval").trajectories]
    assert names == ["bridges-s0f0-t0", "bridges-s1f0-t0"]


def test_a_log_is_written_whole_or_not_at_all(tmp_path, tested):
    rows, attempts = tested
    lacking = {name: one for name, one in attempts.items() if name != "tra-disabled-2"}
    with pytest.raises(DataError, match="expected the attempt 'tra-disabled-2' at the task 'b/2'"):
        write_log(tmp_path / "log.eval", RUN, "disabled", rows, lacking)
    with pytest.raises(DataError, match=r"no/log\.eval cannot be written"):
        write_log(tmp_path / "no" / "log.eval", RUN, "disabled", rows, attempts)
    assert list(tmp_path.iterdir()) == []


def test_arguments_that_are_no_object_are_kept(tmp_path, make_row):
    calls = [{**CALL, "function": {"name": "look_up", "arguments": raw}} for raw in ("{", "[1]", "", '{"a": 1}')]
    talk = ({"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": calls})
    made = Trajectory(id="tra", task_id="t0", task="a task", messages=talk)
    write_log(tmp_path / "log.eval", RUN, "disabled", [make_row(trajectory_id="tra", success=True)], {"tra": made})
    with zipfile.ZipFile(tmp_path / "log.eval") as archive:
        said = json.loads(archive.read("samples/t0_epoch_1.json"))["messages"][1]["tool_calls"]
    assert [call["arguments"] for call in said] == [{}, {}, {}, {"a": 1}]
    assert said[0]["parse_error"].endswith(": {")
    assert said[1]["parse_error"] == "no object: [1]"
    assert not any("parse_error" in call for call in said[2:])


@pytest.mark.filterwarnings("ignore")
def test_inspect_ai_reads_it(tmp_path, tested):
    log = pytest.importorskip("inspect_ai.log", reason="needs inspect-ai")
    rows, attempts = tested
    path = str(tmp_path / "log.eval")
    write_log(tmp_path / "log.eval", RUN, "erl(k=3)", rows, attempts)
    read = log.read_eval_log(path)
    assert (read.status, read.eval.task, read.eval.solver, read.eval.model) == (
        "success",
        "bridges",
        "erl(k=3)",
        "tiny",
    )
    assert (read.results.total_samples, read.results.completed_samples) == (6, 5)
    assert read.results.scores[0].metrics["accuracy"].value == 0.25
    assert [(s.id, s.epoch) for s in read.samples] == [("b/0", 1), *((f"b/{n}", 1) for n in range(1, 5)), ("b/0", 2)]
    scores = {(s.id, s.epoch): {n: one.value for n, one in (s.scores or {}).items()} for s in read.samples}
    assert scores == {
        ("b/0", 1): {"solved": "C", "reward": 0.5},
        ("b/1", 1): {"solved": "I", "reward": 0.0},
        ("b/2", 1): {"solved": "I"},
        ("b/3", 1): {},
        ("b/4", 1): {},
        ("b/0", 2): {"solved": "I", "reward": 0.0},
    }
    first = log.read_eval_log_sample(path, "b/0", 1)
    assert [(m.role, m.text) for m in first.messages] == [(m["role"], m["content"]) for m in TALK]
    assert first.messages[2].tool_calls[0].arguments == {"city": "Ulm"}
    assert first.messages[4].content[0].reasoning == "clear"
    assert (first.output.completion, first.model_usage["tiny"].total_tokens, first.target) == ("two", 25, "two")
    by_id = {s.id: s for s in read.samples if s.epoch == 1}
    assert (by_id["b/3"].error.message, by_id["b/1"].limit.type) == ("the server fell", "turn")
    summaries = log.read_eval_log_sample_summaries(path)
    assert [(s.id, s.epoch, s.completed) for s in summaries] == [(s.id, s.epoch, True) for s in read.samples]
    log.write_eval_log(read, str(tmp_path / "again.eval"))
    assert len(traces.read(tmp_path / "again.eval").trajectories) == 6
