"""The test attempts of a run as a log of inspect-ai: an `.eval` file, which is a zip archive of JSON.

The format is version 2 of inspect-ai's log; its package is not needed. Always holds: a log has one condition; each test
task is one sample, and each repetition of the test is an epoch; a sample has the score of the report, or none if its
row does not count; an infrastructure error is the sample's error; a log is written completely or not at all.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from seasoned.errors import DataError
from seasoned.lab.report.measures import Row, final
from seasoned.lab.report.summary import Run
from seasoned.traces.conversation import Turn, read_turns
from seasoned.traces.messages import chat_messages
from seasoned.traces.source import load
from seasoned.types import Trajectory, Usage

SOLVED, REWARD = "solved", "reward"
"""The scorers: "C" or "I", and the benchmark's reward if there is one."""
_VERSION = 2
_LIMITS = {"step_limit": "turn", "budget": "token"}
_SUMMARY = ("id", "epoch", "input", "target", "scores", "model_usage", "metadata", "completed_at")
_SHOWN = 1000  # characters of an input in a summary


def write_log(path: Path, run: Run, condition: str, rows: Sequence[Row], trajectories: Mapping[str, Trajectory]) -> int:
    """Write the test of one condition as a log, and return the number of samples.

    Args:
        path: the file to write.
        run: from the run's summary.
        condition: the condition to write.
        rows: the run's results, of all conditions.
        trajectories: by id, at least those of the condition's rows.

    Raises:
        DataError: an attempt of the results is missing, or the file cannot be written.
    """
    judged = [row for row in final(rows) if row.condition == condition]
    samples = [_sample(row, _attempt(row, trajectories), run) for row in judged]
    header = _header(run, condition, judged, samples)
    entries: list[tuple[str, Any]] = [
        ("_journal/start.json", {name: header[name] for name in ("version", "eval", "plan")})
    ]
    entries += [(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample) for sample in samples]
    entries += [("summaries.json", [_summary(sample) for sample in samples]), ("header.json", header)]
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in entries:
                archive.writestr(name, json.dumps(value, ensure_ascii=False))
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}; name another file") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return len(samples)


def _attempt(row: Row, trajectories: Mapping[str, Trajectory]) -> Trajectory:
    if row.trajectory_id not in trajectories:
        raise DataError(
            f"expected the attempt {row.trajectory_id!r} at the task {row.task_id!r} among the run's trajectories, but "
            "it is not there: write them again with `seasoned run --resume RUN`"
        )
    return trajectories[row.trajectory_id]


def _sample(row: Row, trajectory: Trajectory, run: Run) -> dict[str, Any]:
    several = len(run.seeds) > 1 or run.folds > 1
    messages = [_message(turn, run.model) for turn in read_turns(chat_messages(trajectory))]
    sample: dict[str, Any] = {
        "id": f"s{row.seed}f{row.fold}-{row.task_id}" if several else row.task_id,
        "epoch": row.repeat + 1,
        "input": row.task,
        "target": row.gold,
        "messages": messages,
        "output": _output(messages, run.model),
        "scores": _scores(row, trajectory) or None,
        "metadata": {
            **{name: getattr(row, name) for name in ("task_id", "category", "seed", "fold", "trial", "trained_on")},
            "reason": row.reason,
            "lesson_ids": list(row.lesson_ids),
            "trajectory_id": row.trajectory_id,
        },
        "model_usage": {run.model: _usage(row.usage)},
        "completed_at": trajectory.created,
        "total_time": row.usage.seconds,
    }
    if row.reason == "error":
        message = trajectory.outcome.detail or "an infrastructure error ended the attempt"
        sample["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    if row.reason in _LIMITS:
        used = row.turns if row.reason == "step_limit" else row.usage.tokens
        sample["limit"] = {"type": _LIMITS[row.reason], "limit": used}
    return sample


def _scores(row: Row, trajectory: Trajectory) -> dict[str, Any]:
    """The scores of a row; none if it does not count."""
    if not row.counted:
        return {}
    explanation = {"answer": row.answer, "explanation": trajectory.outcome.detail or row.reason}
    scores = {SOLVED: {"value": "C" if row.solved else "I", **explanation}}
    return scores | ({REWARD: {"value": row.reward}} if _known(row.reward) else {})


def _known(reward: float | None) -> bool:
    return reward is not None and math.isfinite(reward)


def _message(turn: Turn, model: str) -> dict[str, Any]:
    content: Any = turn.text
    if turn.thought:
        content = [{"type": "reasoning", "reasoning": turn.thought}, {"type": "text", "text": turn.text}]
    message: dict[str, Any] = {"role": turn.role, "content": content}
    if turn.role == "assistant":
        message |= {"source": "generate", "model": model}
    if turn.calls:
        message["tool_calls"] = [_call(call.id, call.name, call.arguments) for call in turn.calls]
    if turn.answers:
        message["tool_call_id"] = turn.answers
    return message


def _call(id: str, name: str, raw: str) -> dict[str, Any]:
    arguments, fault = load(raw) if raw.strip() else ({}, "")
    call = {"id": id, "function": name, "type": "function"}
    if isinstance(arguments, dict):
        return call | {"arguments": arguments}
    return call | {"arguments": {}, "parse_error": f"{fault or 'no object'}: {raw}"}


def _output(messages: Sequence[Mapping[str, Any]], model: str) -> dict[str, Any]:
    """The model's last message, which inspect-ai shows as the output of a sample."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    return {"model": model, "choices": [{"message": last, "stop_reason": "stop"}] if last else []}


def _usage(used: Usage) -> dict[str, Any]:
    return {
        "input_tokens": used.prompt_tokens,
        "output_tokens": used.completion_tokens,
        "total_tokens": used.tokens,
        "input_tokens_cache_read": used.cached_tokens,
        "total_cost": used.cost,
    }


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    summary = {name: sample[name] for name in _SUMMARY}
    summary |= {"input": sample["input"][:_SHOWN], "completed": True, "message_count": len(sample["messages"])}
    summary |= {"error": sample["error"]["message"]} if "error" in sample else {}
    return summary | ({"limit": sample["limit"]["type"]} if "limit" in sample else {})


def _header(run: Run, condition: str, judged: Sequence[Row], samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    parameters = run.parameters.get(condition, {})
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    errors = sum(row.reason == "error" for row in judged)
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "run_id": run.id,
            "eval_id": f"{run.id}-{condition}",
            "created": run.started,
            "task": run.benchmark,
            "task_id": f"{run.benchmark}-{run.id}",
            "task_args": {"condition": condition},
            "solver": condition,
            "solver_args": parameters,
            "dataset": {"name": run.benchmark, "location": run.source, "samples": len(ids), "sample_ids": ids},
            "model": run.model,
            "config": {"epochs": run.repeats},
            "packages": {"seasoned": run.version},
            "scorers": [{"name": SOLVED}],
            "metadata": {"run": run.name, "condition": condition, "learner": run.learner, "seeds": list(run.seeds)},
        },
        "plan": {"steps": [{"solver": condition, "params": parameters}]},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples) - errors,
            "scores": [
                _result(SOLVED, "accuracy", [float(row.solved) for row in judged if row.counted]),
                _result(REWARD, "mean", [row.reward or 0.0 for row in judged if row.counted and _known(row.reward)]),
            ],
        },
        "stats": {
            "started_at": run.started,
            "completed_at": run.finished,
            "model_usage": {run.model: _usage(sum((row.usage for row in judged), Usage()))},
        },
    }


def _result(scorer: str, metric: str, values: Sequence[float]) -> dict[str, Any]:
    """The mean of a scorer's values, if there are any."""
    means = {metric: {"name": metric, "value": sum(values) / len(values)}} if values else {}
    return {"name": scorer, "scorer": scorer, "scored_samples": len(values), "metrics": means}
