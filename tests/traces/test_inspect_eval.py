"""inspect-ai's logs: handmade archives, and a real one where inspect-ai is installed."""

import io
import json
import struct
import sys
import zipfile

import pytest
from bare_steps import bare
from hypothesis import given
from hypothesis import strategies as st

from seasoned import traces
from seasoned.errors import DataError, MissingExtraError
from seasoned.traces import inspect_eval
from seasoned.types import Outcome, Step

HEADER = {"version": 2, "eval": {"task": "bridges", "model": "mock/m", "created": "2026-01-31T10:00:00+00:00"}}


def sample(name="a", epoch=1, **fields):
    call = {"id": "c1", "function": "look_up", "arguments": {"city": "Ulm"}, "type": "function"}
    return {
        "id": name,
        "epoch": epoch,
        "input": "How many bridges has Ulm?",
        "target": "two",
        "messages": [
            {"role": "user", "content": "How many bridges has Ulm?", "source": "input"},
            {"role": "assistant", "content": "attachment://x1", "tool_calls": [call]},
            {"role": "tool", "content": "two of them", "function": "look_up", "tool_call_id": "c1"},
            {
                "role": "assistant",
                "content": [{"type": "reasoning", "reasoning": "clear"}, {"type": "text", "text": "two"}],
            },
        ],
        "attachments": {"x1": "I look it up."},
        "scores": {"match": {"value": "C", "answer": "two"}, "f1": {"value": 0.5}},
        "model_usage": {"mock/m": {"input_tokens": 20, "output_tokens": 5}, "other": {"input_tokens": 1}},
        "started_at": "2026-01-31T10:00:01+00:00",
        **fields,
    }


def archive(samples, header=HEADER, **more):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("_journal/start.json", json.dumps(HEADER))
        for number, one in enumerate(samples, 1):
            packed.writestr(f"samples/{number}_epoch_1.json", one if isinstance(one, str | bytes) else json.dumps(one))
        if header:
            packed.writestr("header.json", json.dumps(header))
        for name, text in more.items():
            packed.writestr(name, text)
    return raw.getvalue()


def of(raw, tmp_path, name="log.eval"):
    (tmp_path / name).write_bytes(raw)
    return traces.read(tmp_path / name)


def test_a_sample_as_a_trajectory(tmp_path):
    (made,) = of(archive([sample()]), tmp_path).trajectories
    assert tuple(bare(made.steps)) == (
        Step(thought="I look it up.", action='look_up({"city": "Ulm"})', observation="two of them"),
        Step(thought="clear", action="two"),
    )
    assert (made.task, made.task_id, made.benchmark) == ("How many bridges has Ulm?", "bridges-a", "bridges")
    assert made.outcome == Outcome(success=True, reward=0.5, reason="answered", answer="two")
    assert (made.usage.prompt_tokens, made.usage.completion_tokens, made.usage.cost) == (21, 5, None)
    assert (made.agent, made.created) == ("mock/m", "2026-01-31T10:00:01.000+00:00")
    assert (made.meta["scores"], made.meta["target"]) == ({"match": "C", "f1": 0.5}, "two")


def test_the_json_form_gives_the_same(tmp_path):
    packed = of(archive([sample(), sample(epoch=2)]), tmp_path)
    plain = of(json.dumps({**HEADER, "samples": [sample(), sample(epoch=2)]}, indent=2).encode(), tmp_path, "log.json")
    assert (packed.format, plain.format) == ("inspect", "inspect")
    assert [t.id for t in packed.trajectories] == [t.id for t in plain.trajectories]
    assert [t.meta["trial"] for t in plain.trajectories] == [0, 1]
    assert len({t.id for t in plain.trajectories}) == 2


def test_how_a_sample_ended(tmp_path):
    scores = {"match": {"value": "I"}}
    ended = [
        (sample(scores=scores), (False, "answered")),
        (sample(scores={"model_graded": {"value": {"a": 1}}}), (None, "answered")),
        (sample(scores={"grade": {"value": "P"}, "match": {"value": 1}}), (True, "answered")),
        (sample(scores=scores, limit={"type": "message", "limit": 5}), (False, "step_limit")),
        (sample(scores=scores, limit={"type": "token", "limit": 5}), (False, "budget")),
        (sample(error={"message": "the sandbox died", "traceback": "x"}), (None, "error")),
        (sample(scores=None), (None, "answered")),
    ]
    found = of(archive([one for one, _ in ended]), tmp_path).trajectories
    assert [(t.outcome.success, t.outcome.reason) for t in found] == [how for _, how in ended]
    assert found[5].outcome.detail == "the sandbox died"


def test_a_log_of_a_run_that_was_cut_off_is_read(tmp_path):
    assert of(archive([sample()], header=None), tmp_path).trajectories[0].benchmark == "bridges"


def test_broken_samples_are_named_and_the_others_read(tmp_path):
    bad = ["{", b"\xff\xfe", "[]", "{}", json.dumps(sample(messages=[])), "[" * 100_000]
    found = of(archive([sample(), *bad, sample("b")]), tmp_path)
    assert [t.task_id for t in found.trajectories] == ["bridges-a", "bridges-b"]
    assert [p.where for p in found.problems] == [f"sample {n}" for n in range(2, 8)]
    assert "nested too deeply" in found.problems[-1].why


def test_a_bomb_is_unpacked_up_to_the_limit_and_no_further(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_eval, "MAX_ENTRY", 10_000)
    found = of(archive([b" " * 1_000_000, sample()]), tmp_path)
    assert [p.why for p in found.problems] == ["it unpacks to more than 10000 bytes"]
    assert len(found.trajectories) == 1
    monkeypatch.setattr(inspect_eval, "MAX_UNPACKED", 15_000)
    monkeypatch.setattr(inspect_eval, "MAX_ENTRY", 15_000)
    found = of(archive([b" " * 14_000, sample(), sample()]), tmp_path)
    assert len(found.trajectories) <= 1
    assert "unpacks to more than" in found.problems[-1].why


def test_an_attachment_is_not_repeated_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_eval, "MAX_REPEATED", 5_000)
    replies = [{"role": "assistant", "content": "attachment://x1"}] * 20
    made = sample(messages=[{"role": "user", "content": "hi"}, *replies], attachments={"x1": "y" * 1_000})
    found = of(archive([made, sample("b")]), tmp_path)
    first, second = found.trajectories
    said = [m["content"] for m in first.messages[1:]]
    assert said == ["y" * 1_000] * 6 + ["attachment://x1"] * 14
    assert second.steps[0].thought == "I look it up."  # told once, and used once
    assert "5,000 characters in all" in found.problems[0].why


def test_a_header_that_lies_about_its_size_is_not_believed(tmp_path):
    raw = bytearray(archive([b" " * 100_000 + json.dumps(sample()).encode()]))
    at = raw.rfind(b"PK\x01\x02", 0, raw.find(b"samples/1", raw.find(b"PK\x01\x02")))
    struct.pack_into("<L", raw, at + 24, 10)
    found = of(bytes(raw), tmp_path)
    assert len(found.problems) + len(found.trajectories) == 1


def test_archives_that_are_refused(tmp_path, monkeypatch):
    good = archive([sample()])
    for raw, why in (
        (good[:-30], "directory is missing"),
        (archive([]), "without samples"),
        (b"PK\x03\x04", "missing"),
    ):
        with pytest.raises(DataError, match=why):
            of(raw, tmp_path)
    with pytest.raises(DataError, match="is a zip archive, not a messages log"):
        traces.read(tmp_path / "log.eval", "messages")
    monkeypatch.setattr(inspect_eval, "MAX_ENTRIES", 2)
    with pytest.raises(DataError, match="more than 2 entries"):
        of(good, tmp_path)


def test_names_in_an_archive_are_never_paths(tmp_path):
    raw = archive([sample()], **{"samples/../../../escaped.json": json.dumps(sample("b"))})
    (tmp_path / "deep" / "er").mkdir(parents=True)
    of(raw, tmp_path / "deep" / "er")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["deep", "er", "log.eval"]


@given(st.binary(max_size=400), st.integers(0, 1200), st.binary(max_size=8))
def test_a_damaged_archive_is_a_sentence_or_problems(tmp_path_factory, tail, at, bytes_there):
    path = tmp_path_factory.mktemp("eval") / "log.eval"
    raw = bytearray(archive([sample(), sample("b")]))
    raw[at : at + len(bytes_there)] = bytes_there
    for damaged in (bytes(raw), b"PK\x03\x04" + tail):
        path.write_bytes(damaged)
        try:
            found = traces.read(path, "inspect")
        except (DataError, MissingExtraError):
            continue
        assert found.trajectories or found.problems


def test_zstandard_needs_its_library_before_python_3_14(tmp_path, monkeypatch):
    if sys.version_info >= (3, 14):
        pytest.skip("this Python reads Zstandard itself")
    raw = bytearray(archive([sample()]))
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = raw.find(mark)
        while place >= 0:
            struct.pack_into("<H", raw, place + at, 93)
            place = raw.find(mark, place + 4)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match="zstandard"):
        of(bytes(raw), tmp_path)
    monkeypatch.delitem(sys.modules, "zstandard")
    pytest.importorskip("zstandard", reason="needs the extra inspect")
    found = of(bytes(raw), tmp_path)  # deflated, but said to be Zstandard
    assert ["cannot be unpacked" in p.why for p in found.problems] == [True]


@pytest.mark.filterwarnings("ignore")
def test_a_log_that_inspect_ai_wrote(tmp_path, monkeypatch):
    pytest.importorskip("inspect_ai", reason="needs inspect-ai")
    pytest.importorskip("zstandard", reason="needs the extra inspect")
    import tiktoken

    class Bytes:
        def encode(self, text, **_):
            return list(text.encode())

    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: Bytes())  # the real one fetches its table
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda name: Bytes())
    monkeypatch.chdir(tmp_path)
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    @tool
    def look_up():
        async def execute(city: str):
            """Look a city up.

            Args:
                city: its name.
            """
            return f"{city} has two bridges"

        return execute

    def log(form):
        said = [ModelOutput.for_tool_call("mockllm/model", "look_up", {"city": "Ulm"})]
        said += [ModelOutput.from_content("mockllm/model", "two")]
        solver = [use_tools(look_up()), generate()]
        task = Task([Sample("How many?", target="two", id=1)], solver=solver, scorer=match(), name="bridges")
        model = get_model("mockllm/model", custom_outputs=said)
        (done,) = eval(task, model=model, log_dir=".", log_format=form, display="none")
        return traces.read(done.location)

    for form in ("eval", "json"):
        found = log(form)
        assert (found.format, found.problems, found.successes) == ("inspect", (), 1)
        assert [(s.action, s.observation) for s in found.trajectories[0].steps] == [
            ('look_up({"city": "Ulm"})', "Ulm has two bridges"),
            ("two", ""),
        ]
