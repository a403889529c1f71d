"""Reads logs of inspect-ai: `.eval` files, which are zip archives of JSON, and its logs in a single JSON file.

Needs only the standard library, except for newer `.eval` files: they use Zstandard, which Python reads from 3.14 on and
the library `zstandard` before that. Always holds: an entry is never unpacked beyond a limit, whatever its header says;
names inside the archive are never used as paths; an unreadable sample is a problem, and the others are read.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from seasoned.errors import DataError, MissingExtraError
from seasoned.traces.conversation import answer_of, chat, read_turns, steps_of, task_of
from seasoned.traces.source import (
    MAX_REPEATED,
    NOTHING_DONE,
    Log,
    Problem,
    date,
    load,
    make,
    number,
    repeats,
    texts,
    usage,
    verdict,
)
from seasoned.types import Outcome, Trajectory

MAX_ENTRY = 64 * 1024 * 1024
"""The most bytes of one unpacked sample; a larger one is refused."""
MAX_UNPACKED = 2 * 1024 * 1024 * 1024
MAX_ENTRIES = 60_000
_ZSTD = 93
_ATTACHMENT = "attachment://"
_LIMITS = {"message": "step_limit", "turn": "step_limit", "token": "budget", "cost": "budget", "time": "budget",
           "working": "budget", "context": "context"}  # fmt: skip


@dataclass
class _Allowance:
    """How many more characters of attachments the samples of a file may repeat."""

    left: int


def read_archive(path: Path, raw: bytes, source: Mapping[str, Any]) -> Log:
    """The samples of an `.eval` file with these bytes; the path is for errors, `source` for the attempts' meta.

    Raises:
        DataError: the archive is damaged, has too many entries, or has no samples.
        MissingExtraError: it uses Zstandard, and no library here can unpack that.
    """
    _check_directory(path, raw)
    log = Log()
    seen: Counter[str] = Counter()
    room = _Allowance(MAX_REPEATED)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            header = next((entries[n] for n in ("header.json", "_journal/start.json") if n in entries), None)
            log_header = _entry(archive, raw, header)[0] if header else None
            left = MAX_UNPACKED
            for name, entry in entries.items():
                if not (name.startswith("samples/") and name.endswith(".json")):
                    continue
                value, fault, size = _entry(archive, raw, entry, left)
                left -= size
                place = f"sample {len(log.trajectories) + len(log.problems) + 1}"
                if fault:
                    log.problems.append(Problem(place, fault))
                else:
                    log.take(place, _sample, value, log_header, {**source, "place": place}, seen, room)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, OSError, NotImplementedError) as error:
        raise DataError(f"{path} is not a sound .eval archive ({str(error)[:100]}): copy it again") from error
    if not log.trajectories and not log.problems:
        raise DataError(f"{path} is an archive without samples: an .eval log of inspect-ai was expected")
    return _finished(log, room)


def read_json(value: Any, source: Mapping[str, Any]) -> Log:
    """The samples of a log in its JSON form, as `source.json_values` gives it; `source` is for the attempts' meta."""
    result = Log()
    seen: Counter[str] = Counter()
    room = _Allowance(MAX_REPEATED)
    for place, log in value:
        samples = log.get("samples") if isinstance(log, dict) else None
        if not isinstance(samples, list):
            result.problems.append(Problem(place, "no log of inspect-ai with a list of samples"))
            continue
        for count, sample in enumerate(samples, 1):
            result.take(f"sample {count}", _sample, sample, log, {**source, "place": f"sample {count}"}, seen, room)
    return _finished(result, room)


def _check_directory(path: Path, raw: bytes) -> None:
    """Refuse an archive with too many entries before the directory is built."""
    end = raw.rfind(b"PK\x05\x06", max(len(raw) - 65_600, 0))
    if end < 0 or len(raw) < end + 22:
        raise DataError(f"{path} is not a sound .eval archive (its directory is missing): copy it again")
    entries, size = (int.from_bytes(raw[end + at : end + to], "little") for at, to in ((10, 12), (12, 16)))
    if entries > MAX_ENTRIES or size > MAX_ENTRIES * 400:
        raise DataError(f"{path} has more than {MAX_ENTRIES} entries: split the evaluation into several logs")


def _entry(
    archive: zipfile.ZipFile, raw: bytes, entry: zipfile.ZipInfo, budget: int = MAX_UNPACKED
) -> tuple[Any, str, int]:
    """(value, fault, unpacked size) of an entry."""
    limit = min(MAX_ENTRY, budget)
    try:
        with _opened(archive, raw, entry) as stream:
            data = stream.read(limit + 1)
    except MissingExtraError:
        raise
    except Exception as error:  # zlib, zstandard and zipfile each have their own errors
        return None, f"it cannot be unpacked ({str(error)[:80]})", 0
    if len(data) > limit:
        return None, f"it unpacks to more than {limit} bytes", len(data)
    try:
        value, fault = load(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return None, "not UTF-8 text", len(data)
    return value, fault, len(data)


def _opened(archive: zipfile.ZipFile, raw: bytes, entry: zipfile.ZipInfo) -> IO[bytes]:
    if entry.compress_type != _ZSTD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return archive.open(entry)
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError as error:
        raise MissingExtraError("inspect", "zstandard") from error
    at = entry.header_offset
    if raw[at : at + 4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("a local header is missing")
    begin = at + 30 + sum(int.from_bytes(raw[at + n : at + n + 2], "little") for n in (26, 28))
    packed = raw[begin : begin + entry.compress_size]
    unpack = zstandard.ZstdDecompressor(max_window_size=2**27)
    return cast("IO[bytes]", unpack.stream_reader(packed, read_across_frames=True))


def _finished(result: Log, room: _Allowance) -> Log:
    if room.left < 0:
        reason = f"repeated for more than {MAX_REPEATED:,} characters in all: some appear only as their names"
        result.problems.append(Problem("attachments", reason))
    return result


def _sample(sample: Any, about: Any, meta: Mapping[str, Any], seen: Counter[str], room: _Allowance) -> Trajectory | str:
    if not isinstance(sample, dict) or not isinstance(sample.get("messages"), list):
        return "no sample with a list of messages"
    attachments = sample.get("attachments")
    messages = _with_attachments(sample["messages"], attachments if isinstance(attachments, dict) else {}, set(), room)
    turns = read_turns(messages)
    steps = steps_of(turns)
    if not steps:
        return NOTHING_DONE
    given = sample.get("input")
    task = given.strip() if isinstance(given, str) and _ATTACHMENT not in given else ""
    task = task or task_of(turns)
    if not task:
        return "no task in it: neither an input nor a user message before the first reply"
    header = about.get("eval") if isinstance(about, dict) else None
    evaluation = header if isinstance(header, dict) else {}
    benchmark, model = texts(evaluation.get("task")), texts(evaluation.get("model"))
    epoch = number(sample.get("epoch")) or 1
    outcome = _outcome(sample, answer_of(turns))
    name = texts(sample.get("id"))
    times = sample.get("started_at"), sample.get("completed_at"), evaluation.get("created")
    return make(
        task,
        steps,
        outcome,
        task_id=f"{benchmark}-{name}" if name else "",
        benchmark=benchmark,
        agent=model,
        messages=chat(turns),
        usage=usage(_dicts(sample.get("model_usage")), "input_tokens", "output_tokens", calls=0),  # of all models
        created=next(filter(None, map(date, times)), ""),
        occurrence=repeats(seen, task, [step.model_dump() for step in steps], outcome.model_dump()),
        meta={**meta, "trial": int(epoch) - 1, "scores": _scores(sample), "target": texts(sample.get("target"))},
    )


def _with_attachments(
    value: Any, attached: Mapping[str, Any], used: set[str], room: _Allowance, depth: int = 60
) -> Any:
    """The value with the sample's attachments inserted, while there is room."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        name = value.removeprefix(_ATTACHMENT)
        text = attached.get(name)
        if not isinstance(text, str):
            return value
        room.left -= len(text) if name in used else 0
        if name in used and room.left < 0:
            return value
        used.add(name)
        return text
    if depth and isinstance(value, dict):
        return {key: _with_attachments(item, attached, used, room, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list):
        return [_with_attachments(item, attached, used, room, depth - 1) for item in value]
    return value


def _scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    scores = sample.get("scores")
    items = scores.items() if isinstance(scores, dict) else ()
    return {str(name): score.get("value") for name, score in items if isinstance(score, dict)}


def _outcome(sample: Mapping[str, Any], answer: str) -> Outcome:
    """The outcome of a sample: the first scorer with a verdict counts."""
    error = sample.get("error")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        return Outcome(reason="error", detail=texts(message)[:1000], answer=answer)
    scores = _scores(sample)
    success = next((success_of for value in scores.values() if (success_of := verdict(value)) is not None), None)
    reward = next((n for value in scores.values() if (n := number(value)) is not None), None)
    limit = sample.get("limit")
    kind = texts(limit.get("type") if isinstance(limit, dict) else limit)
    reason = _LIMITS.get(kind) or ("answered" if answer else "unfinished")
    return Outcome(
        success=success,
        reward=reward if reward is not None else (None if success is None else float(success)),
        reason="answered" if success else reason,
        answer=next((texts(s.get("answer")) for s in _dicts(sample.get("scores")) if s.get("answer")), answer),
    )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value.values() if isinstance(item, dict)] if isinstance(value, dict) else []
