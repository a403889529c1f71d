import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from seasoned.errors import InfrastructureError, ParseError
from seasoned.llm.journal import ASKED, Asked, Journaled, calls_in
from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store as RealStore
from seasoned.types import Reply, Usage

ASK = [{"role": "user", "content": "hello"}]

STORE = '''
import sqlite3
from seasoned.types import Reply

class Store:
    """The smallest journal: one SQLite file, a connection for each call."""

    def __init__(self, path):
        self.path = path
        self.run("CREATE TABLE IF NOT EXISTS journal (scope TEXT, key TEXT, reply TEXT, PRIMARY KEY (scope, key))")

    def run(self, statement, *values):
        connection = sqlite3.connect(self.path, timeout=20)
        try:
            with connection:
                return connection.execute(statement, values).fetchone()
        finally:
            connection.close()

    def journal_get(self, scope, key):
        row = self.run("SELECT reply FROM journal WHERE scope = ? AND key = ?", scope, key)
        return Reply.model_validate_json(row[0]) if row else None

    def journal_put(self, scope, key, reply, also=None):
        for each, kept in {key: reply, **(also or {})}.items():
            self.run("INSERT OR IGNORE INTO journal VALUES (?, ?, ?)", scope, each, kept.model_dump_json())
'''
names = {}
exec(STORE, names)
Store = names["Store"]


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "journal.db"))


def test_a_second_run_gets_the_same_replies_and_sends_nothing(store):
    model = ScriptedModel(["one two", "👋🏽"])
    first = Journaled(model, store, "run/1")
    replies = [first.chat(ASK), first.chat(ASK)]
    silent = ScriptedModel([])
    again = Journaled(silent, store, "run/1")
    replayed = [again.chat(ASK), again.chat(ASK)]
    assert [reply.text for reply in replayed] == ["one two", "👋🏽"]
    assert silent.requests == []
    assert replayed[0].usage == replies[0].usage.model_copy(update={"calls": 0, "replayed": 1})
    assert again.name == model.name


def test_a_reply_is_stored_before_it_is_returned(store):
    broken = Journaled(ScriptedModel(["x"]), store, "s")
    store.journal_put = lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("disk is full"))
    with pytest.raises(sqlite3.OperationalError, match="full"):
        broken.chat(ASK)


@pytest.mark.parametrize(
    "other",
    [
        {"messages": [{"role": "system", "content": "hello"}]},
        {"stop": ["x"]},
        {"max_tokens": 5},
        {"temperature": 0.1},
        {"schema": {"type": "string"}},
    ],
)
def test_every_part_of_the_request_counts(store, other):
    Journaled(ScriptedModel(["first"]), store, "s").chat(ASK)
    options = {"messages": ASK} | other
    assert Journaled(ScriptedModel(["other"]), store, "s").chat(**options).text == "other"


def test_scopes_and_models_never_meet(store):
    Journaled(ScriptedModel(["a"]), store, "s").chat(ASK)
    assert Journaled(ScriptedModel(["b"]), store, "t").chat(ASK).text == "b"
    assert Journaled(ScriptedModel(["c"], name="another"), store, "s").chat(ASK).text == "c"


def test_equal_requests_are_equal_however_they_are_written(store):
    schema = {"type": "string", "enum": ["a"]}
    Journaled(ScriptedModel(["a"]), store, "s").chat(ASK, schema=schema, stop=("x",), temperature=0)
    turned = dict(reversed(schema.items()))
    reply = Journaled(ScriptedModel([]), store, "s").chat(tuple(ASK), schema=turned, stop=["x"], temperature=0.0)
    assert (reply.text, reply.parsed) == ("a", "a")


def test_a_failed_call_is_not_kept_and_leaves_no_gap(store):
    first = Journaled(ScriptedModel([InfrastructureError("down"), "up"]), store, "s")
    with pytest.raises(InfrastructureError):
        first.chat(ASK)
    assert first.chat(ASK).text == "up"
    assert Journaled(ScriptedModel([]), store, "s").chat(ASK).text == "up"


def test_a_reply_that_could_not_be_parsed_is_not_paid_for_twice(store):
    schema = {"type": "integer"}
    first = Journaled(ScriptedModel(["no", "never", "4"]), store, "s")
    with pytest.raises(ParseError) as original:
        first.chat(ASK, schema=schema)
    assert first.chat(ASK, schema=schema).parsed == 4
    again = Journaled(ScriptedModel([]), store, "s")
    with pytest.raises(ParseError) as replayed:
        again.chat(ASK, schema=schema)
    assert str(replayed.value) == str(original.value)
    assert replayed.value.reply.text == "never"
    assert replayed.value.reply.usage == original.value.reply.usage.model_copy(update={"calls": 0, "replayed": 2})
    assert again.chat(ASK, schema=schema).parsed == 4


def test_a_replay_of_a_replay_counts_its_calls_once(store):
    store.journal_get = lambda *_: Reply(text="x", usage=Usage(replayed=3, prompt_tokens=4))
    assert Journaled(ScriptedModel([]), store, "s").chat(ASK).usage == Usage(replayed=3, prompt_tokens=4)


def test_threads_with_equal_requests_get_a_reply_each(store):
    model = ScriptedModel([str(n) for n in range(24)])
    first = Journaled(model, store, "s")
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: first.chat(ASK).text, range(24)))
    assert len(set(texts)) == 24
    again = Journaled(ScriptedModel([]), store, "s")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: again.chat(ASK).text, range(24))) == set(texts)


RUN = (
    STORE
    + r"""
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen
from seasoned.llm.journal import Journaled
from seasoned.types import Usage

url, path = sys.argv[1:]

class Model:
    name = "m"

    def chat(self, messages, **options):
        body = json.dumps({"messages": messages}).encode()
        with urlopen(Request(url, body)) as answer:
            text = json.load(answer)["choices"][0]["message"]["content"]
        return Reply(text=text, usage=Usage(calls=1))

model = Journaled(Model(), Store(path), "run")

def call(number):
    reply = model.chat([{"role": "user", "content": f"case {number}"}])
    os.write(1, f"{number} {reply.text} {reply.usage.replayed}\n".encode())  # whole lines from both threads

with ThreadPoolExecutor(2) as pool:
    list(pool.map(call, range(10)))
"""
)


def test_a_killed_run_pays_for_no_call_twice(server, tmp_path):
    def asked():
        return [request["messages"][0]["content"] for request in server.requests]

    def answer(body):
        text = body["messages"][0]["content"]
        return server.hanging() if text in ("case 5", "case 6") else server.saying(text.upper())

    server.answer = answer
    command = [sys.executable, "-c", RUN, server.url, str(tmp_path / "journal.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 60
        while not {"case 5", "case 6"} <= set(asked()):  # both threads now wait for an answer
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        printed = run.stdout.read()
    assert run.returncode == -signal.SIGKILL
    used = [f"case {line.split()[0]}" for line in printed.splitlines()]
    assert sorted(used) == [f"case {n}" for n in range(5)]

    server.answer = lambda body: server.saying(body["messages"][0]["content"].upper())
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert sorted(int(line[0]) for line in lines if line[3] == "1") == list(range(5))
    assert all(line[2] == line[0] for line in lines)
    assert len(lines) == 10
    times = {text: asked().count(text) for text in asked()}
    assert times == {f"case {n}": 2 if n in (5, 6) else 1 for n in range(10)}


@pytest.fixture
def real(tmp_path):
    with RealStore(tmp_path / "seasoned.db") as opened:
        yield opened


def test_what_was_asked_can_be_read_beside_its_reply(real):
    model = ScriptedModel(["hi", "no", "never", InfrastructureError("down")])
    kept = Journaled(model, real, "run/s0f0/expel/learn")
    kept.chat(ASK)
    with pytest.raises(ParseError):
        kept.chat([{"role": "user", "content": "seven?\ud83d"}], schema={"type": "integer"})
    with pytest.raises(InfrastructureError):
        kept.chat([{"role": "user", "content": "lost"}])
    said = {"hi": tuple(ASK), "never": ({"role": "user", "content": "seven?\ufffd"},)}
    assert {one.reply: one.messages for one in calls_in(real, "run/")} == said
    assert {one.scope for one in calls_in(real, "run/")} == {"run/s0f0/expel/learn"}
    assert calls_in(real, "runs") == []
    assert real.journal_usage("run/").calls == 3
    assert real.check() == []


def test_a_reply_before_the_server_failed_counts_and_is_no_answer(real):
    schema = {"type": "integer"}
    model = ScriptedModel(["no", InfrastructureError("down"), "never", InfrastructureError("down"), "4"])
    kept = Journaled(model, real, "run/s0f0/expel/learn")
    for _ in range(2):
        with pytest.raises(InfrastructureError):
            kept.chat(ASK, schema=schema)
    assert real.journal_usage("run/").calls == 2
    assert kept.chat(ASK, schema=schema).parsed == 4
    assert Journaled(ScriptedModel([]), real, "run/s0f0/expel/learn").chat(ASK, schema=schema).parsed == 4
    assert [one.reply for one in calls_in(real, "run/")] == ["4"]
    assert real.journal_usage("run/").calls == 3


def test_the_prompts_of_turns_are_not_kept_twice(real):
    Journaled(ScriptedModel(["hi"]), real, "run", prompts=False).chat(ASK)
    assert calls_in(real, "run") == []


def test_a_prompt_that_a_death_left_out_is_kept_when_its_reply_is_replayed(real):
    Journaled(ScriptedModel(["hi"]), real, "run", prompts=False).chat(ASK)
    for _ in range(2):
        Journaled(ScriptedModel([]), real, "run").chat(ASK)
    assert calls_in(real, "run") == [Asked("run", tuple(ASK), "hi")]


def test_a_prompt_of_another_form_is_passed_over(real):
    real.journal_put("run", f"k{ASKED}", Reply(text="x", parsed="no messages"))
    assert calls_in(real, "run") == []
