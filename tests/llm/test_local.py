"""The local model: settings and errors, and the small real model served by llama.cpp."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from seasoned.agents.dialogue import NOTES
from seasoned.contracts import check_llm
from seasoned.errors import (
    ConfigError,
    ContextLengthError,
    InfrastructureError,
    MissingExtraError,
    ModelFileError,
    ParseError,
)
from seasoned.llm import local, modelfile
from seasoned.llm.local import LocalModel, usable_cores
from seasoned.llm.openai import OpenAIChat
from seasoned.llm.tools import calling, result
from seasoned.protocols import LLM
from seasoned.replies.heuristics import heuristic_schema
from seasoned.replies.operations import operations_schema
from seasoned.replies.rankings import ranking_schema

HELLO = [{"role": "user", "content": "Say hello."}]


@pytest.fixture(scope="module")
def small_file():
    return modelfile.pull("smol")


@pytest.fixture(scope="module")
def small(small_file):
    model = LocalModel(small_file, slots=2, context=1024, threads=1)
    yield model
    model.close()


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "Own-Model.gguf"
    path.write_bytes(b"GGUF" + b"\x07" * 5000)
    return path


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"context": 10}, {"threads": 0}])
def test_numbers_out_of_range(gguf, wrong):
    with pytest.raises(ConfigError, match="of a local model must be at least"):
        LocalModel(gguf, **wrong)


def test_a_missing_library_names_its_extra(gguf, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError, match=r"xllamacpp.*seasoned\[local\]"):
        LocalModel(gguf)


def test_a_library_that_cannot_be_loaded_says_what_the_system_lacks(gguf, monkeypatch, tmp_path):
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(ModelFileError, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
        LocalModel(gguf)
    assert "OMP_WAIT_POLICY" not in os.environ


def test_a_file_that_llama_cpp_cannot_load_is_a_sentence(gguf, tmp_path):
    for path in (gguf, tmp_path / "none.gguf"):
        with pytest.raises(ModelFileError, match=path.name):
            LocalModel(path)


def test_cores_are_those_the_process_may_use():
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert 1 <= usable_cores() <= allowed


@pytest.mark.model
def test_it_answers_the_same_each_time_for_no_dollars(small):
    assert isinstance(small, LLM)
    assert small.name == "smollm2-135m-instruct-q4_1"
    first, second = (small.chat(HELLO, max_tokens=8) for _ in range(2))
    assert first.text
    assert (first.text, first.model, first.usage.cost) == (second.text, small.name, 0.0)
    assert second.usage.completion_tokens <= 8
    assert second.usage.cached_tokens >= second.usage.prompt_tokens - 8


@pytest.mark.model
def test_more_threads_than_slots_all_get_their_reply(small):
    asked = [[{"role": "user", "content": f"Say the number {n}."}] for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = [reply.text for reply in pool.map(lambda messages: small.chat(messages, max_tokens=4), asked)]
    assert all(together)


@pytest.mark.model
def test_what_prompts_begin_with_is_read_once_for_all_slots(small_file):
    def ask(rules, question):
        return model.chat([{"role": "system", "content": rules}, {"role": "user", "content": question}], max_tokens=1)

    with LocalModel(small_file, slots=3, context=1024, threads=1) as model, ThreadPoolExecutor(3) as threads:
        folder = model._folder
        for word in ("word", "name"):  # the second beginning is read once, too
            rules = " ".join(f"Rule {n}: {word} {n * 37} comes before {word} {n * 53}." for n in range(14))
            replies = list(threads.map(lambda question, rules=rules: ask(rules, question), ("One?", "Two?", "Three?")))
            first, *others = sorted((reply.usage for reply in replies), key=lambda usage: usage.cached_tokens)
            assert first.cached_tokens < 0.2 * first.prompt_tokens
            assert all(usage.cached_tokens > 0.9 * usage.prompt_tokens for usage in others)
            assert list(folder.iterdir()) == []
    assert not folder.exists()


@pytest.mark.model
def test_a_schema_and_a_stop_hold(small):
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}
    assert small.chat(HELLO, schema=schema, max_tokens=40).parsed["colour"] in ("red", "blue")
    whole = small.chat(HELLO, max_tokens=12).text
    word = whole.split()[1]
    assert word not in small.chat(HELLO, max_tokens=12, stop=[word]).text


@pytest.mark.model
@pytest.mark.parametrize(
    "schema",
    [
        NOTES,
        heuristic_schema(judges=True, begins="answer it "),
        operations_schema(3),
        ranking_schema(5, 3),
    ],
)
def test_the_library_knows_every_part_of_a_schema_that_a_method_sends(small, schema, capfd):
    with suppress(ParseError):  # two tokens are no whole reply
        small.chat(HELLO, schema=schema, max_tokens=2)
    assert "not supported" not in "".join(capfd.readouterr())


@pytest.mark.model
def test_how_likely_each_choice_of_one_character_was(small):
    marks = [str(mark) for mark in range(10)]
    count = [{"role": "user", "content": "1 2 3 4 5"}]
    reply = small.chat(count, schema={"type": "string", "enum": marks}, max_tokens=4)
    assert list(reply.odds) == marks
    assert sum(reply.odds.values()) == pytest.approx(1.0)
    assert reply.odds[reply.parsed] == max(reply.odds.values())
    assert small.chat(HELLO, schema={"type": "string", "enum": ["yes", "no"]}, max_tokens=4).odds == {}


@pytest.mark.model
def test_a_prompt_longer_than_a_slot_is_told_apart(small):
    with pytest.raises(ContextLengthError, match="context"):
        small.chat([{"role": "user", "content": "word " * 1500}], max_tokens=4)
    assert small.chat(HELLO, max_tokens=2).text


@pytest.mark.model
def test_nobody_without_the_key_and_no_page_of_another_origin_is_let_in(small):
    def ask(headers):
        request = urllib.request.Request(f"{small.base_url}/models", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return reply.status, reply.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers

    origin = {"Origin": "https://evil.example"}
    assert small.base_url.startswith("http://127.0.0.1:")
    assert len(small.api_key) >= 32
    assert ask(origin)[0] == 401
    assert ask({"Authorization": "Bearer wrong"})[0] == 401
    status, headers = ask({"Authorization": f"Bearer {small.api_key}", **origin})
    assert status == 200
    assert headers["Access-Control-Allow-Origin"] not in ("*", "https://evil.example")
    assert headers["Access-Control-Allow-Credentials"] != "true"
    assert small.api_key not in repr(small)


@pytest.mark.model
def test_closing_ends_replies_under_way_and_a_closed_model_says_so(small_file):
    model = LocalModel(small_file, slots=1)
    story = [{"role": "user", "content": "Write the longest story you can about a river, without an end."}]
    ended = []

    def ask():
        with pytest.raises(InfrastructureError, match=r"was closed while it answered|is closed"):
            model.chat(story, max_tokens=4000)
        ended.append(True)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    assert not ended
    model.close()
    for thread in threads:
        thread.join(10)
    assert len(ended) == 3
    model.close()
    with pytest.raises(InfrastructureError, match="is closed"):
        model.chat(HELLO)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{model.base_url}/models", timeout=5)
    assert "closed" in repr(model)


QUIET = """
import os, sys
from seasoned.llm.local import LocalModel
from seasoned.errors import ModelFileError
for _ in range(2):
    LocalModel(sys.argv[1], slots=1, context=256).close()
model = LocalModel(sys.argv[1], slots=1, context=256)
model.chat([{"role": "user", "content": "Say hello."}], max_tokens=2)
try:
    LocalModel(sys.argv[2])
except ModelFileError:
    pass
assert "OMP_WAIT_POLICY" not in os.environ
# The last one is left open: the process has to end all the same.
"""


@pytest.mark.model
def test_nothing_is_printed_and_a_process_ends_however_it_left_its_models(small_file, gguf):
    command = [sys.executable, "-W", "error", "-c", QUIET, str(small_file), str(gguf)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.model
def test_memory_is_given_back(small_file):
    pages = Path("/proc/self/statm")
    if not pages.exists():
        pytest.skip("this system does not tell what a process holds")

    def resident():
        return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    LocalModel(small_file, slots=1).close()
    before = resident()
    for _ in range(3):
        LocalModel(small_file, slots=1, context=4096).close()
    assert resident() < before + 60  # MiB; one open model takes about 190


def test_hanging_up_leaves_other_connections_alone():
    with ExitStack() as stack:
        one, two = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        cut, kept = (stack.enter_context(socket.create_connection(each.getsockname())) for each in (one, two))
        stack.enter_context(one.accept()[0])
        far = stack.enter_context(two.accept()[0])
        local._hang_up(one.getsockname()[1])
        kept.sendall(b"x")
        assert far.recv(1) == b"x"
        assert cut.recv(1) == b""


_ASK = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Who is Ada?"}]
_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
_TOOLS = [
    {"name": "search", "description": "Opens a page.", "parameters": _QUERY},
    {"name": "done", "description": "Ends.", "parameters": {}},
]


@pytest.mark.model
def test_every_reply_of_the_local_model_is_a_valid_call(small):
    check_llm(small)
    talk = _ASK
    for number in range(2):
        reply = small.chat(talk, tools=_TOOLS, tool_choice="required", max_tokens=80)
        [called] = reply.calls
        assert called.name in ("search", "done")
        assert reply.usage.cost == 0.0
        called = called.model_copy(update={"id": f"c{number}"})
        talk = [*talk, calling(reply.text, [called]), result(called, "She was a poet's daughter.")]
    assert small.chat(_ASK, tools=_TOOLS, tool_choice="done", max_tokens=60).calls[0].name == "done"
    said = small.chat(_ASK, tools=_TOOLS, tool_choice="none", max_tokens=8)
    assert said.calls == ()


@pytest.mark.model
@pytest.mark.parametrize("odd", [{"type": "string", "format": "weird"}, {"type": "string", "pattern": "(?<=x)y"}])
def test_a_schema_that_no_grammar_follows_is_held_in_its_plainest_part(small, odd):
    tool = {"name": "book", "description": "Books.", "parameters": {"type": "object", "properties": {"day": odd}}}
    tool["parameters"]["required"] = ["day"]
    reply = small.chat(_ASK, tools=[tool], tool_choice="required", max_tokens=40)
    if reply.finish_reason == "length":  # the model went on and on, but in the form that it was held to
        assert reply.text.startswith('{"thought": ')
    else:
        assert isinstance(reply.calls[0].arguments["day"], str)


@pytest.mark.model
def test_llama_cpp_serves_tools_to_any_client(small):
    client = OpenAIChat(small.name, base_url=small.base_url, api_key=small.api_key)
    reply = client.chat(_ASK, tools=_TOOLS, tool_choice="required", max_tokens=16)
    assert isinstance(reply.calls, tuple)
    client.close()
