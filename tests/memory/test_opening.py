"""What a memory cannot be opened with, its embedder, its model, and the model's verdicts."""

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import AuthError, ConfigError, InfrastructureError, MissingExtraError, ParseError
from seasoned.llm import opening as models
from seasoned.llm.scripted import ScriptedModel
from seasoned.memory import Memory
from seasoned.memory.opening import ROOM, LateModel, _say_what_is_missing, judge, open_embedder
from seasoned.types import Outcome, Reply, Step, Trajectory, Usage

HELLO = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"namespace": ""}, "a namespace must be a text"),
        ({"namespace": 3}, "a namespace must be a text"),
        ({"judge": True}, "judge=True needs a model"),
        ({"cap": 0}, "the cap of guidance"),
        ({"method": "nothing"}, "there is no method 'nothing'"),
        ({"method": "expnote", "kk": 3}, "the method expnote has no option 'kk'"),
        ({"embedder": "nothing"}, "there is no embedder 'nothing'"),
        ({"llm": 3}, "llm must be the name of a model"),
        ({"llm": ""}, "llm must be the name of a model"),
        ({"cap": "x"}, "the cap of guidance must be a number of characters, 1 or more, not 'x'"),
        ({"cap": True}, "the cap of guidance"),
        ({"success_at": "x"}, "success_at, the reward that counts as success, must be a finite number, not 'x'"),
        ({"success_at": float("nan")}, "success_at"),
        ({"secrets": ["x"]}, "secrets must be a list of"),
        ({"secrets": "x"}, "secrets must be a list of"),
        ({"secrets": 3}, "secrets must be a list of"),
        ({"embedder": 3}, "an embedder must be a name such as 'static'"),
        ({"store": None}, "the store of a memory must be a file, a postgresql:// address or a Store, not None"),
        ({"store": ""}, "the store of a memory must be a file"),
    ],
)
def test_what_cannot_be(path, more, words):
    with pytest.raises(ConfigError, match=words):
        Memory(**{"store": path, "method": "expnote", "embedder": None, **more})


def test_an_embedder_is_a_name_an_embedder_or_none():
    own = HashingEmbedder()
    assert open_embedder(own).name == own.name
    assert open_embedder(None) is None
    assert open_embedder("hashing").name == own.name
    with pytest.raises(ConfigError):
        open_embedder("no such one")


@pytest.mark.parametrize(("version", "install"), [((3, 13), "[local]'"), ((3, 14), "[minilm]', and name the embedder")])
def test_without_wordllama_words_are_compared_and_that_is_said_once(path, monkeypatch, caplog, version, install):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("seasoned.embed.static.sys", SimpleNamespace(version_info=version))
    _say_what_is_missing.cache_clear()
    for _ in range(2):
        with Memory(path, method="expnote") as memory:
            memory.add("Before any refund, look the order up.")
            assert "look the order up" in memory.recall("a refund").text
    with pytest.raises(MissingExtraError) as error:
        Memory(path, method="expnote", embedder="static")
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("wordllama is not installed, so lessons are found by the words")
    assert install in said
    assert install in str(error.value)


def test_with_wordllama_a_memory_compares_meanings(path, caplog):
    if find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")
    with Memory(path, method="expnote") as memory:
        assert memory._embedder.name == "wordllama-256"
    assert caplog.text == ""


class Opening:
    """Stands in for a model that is opened by name; knows what was opened and closed."""

    def __init__(self):
        self.opened, self.closed = [], []

    def __call__(self, settings):
        outer = self

        class Open:
            def __enter__(self):
                outer.opened.append(settings.model)
                return ScriptedModel(lambda messages: "hi", name="inside")

            def __exit__(self, *error):
                outer.closed.append(settings.model)

        return Open()


@pytest.fixture
def opening(monkeypatch):
    made = Opening()
    monkeypatch.setattr(models, "open_llm", made)
    return made


def test_a_name_is_opened_when_it_is_asked_and_once(opening):
    model = LateModel("local")
    assert (model.name, opening.opened) == ("local", [])
    assert model.chat(HELLO).text == "hi"
    assert model.chat(HELLO).text == "hi"
    assert opening.opened == ["local"]
    model.close()
    model.close()
    assert opening.closed == ["local"]
    model.chat(HELLO)
    assert opening.opened == ["local", "local"]


def test_a_model_that_is_given_is_asked_and_not_closed():
    given = ScriptedModel([{"a": 1}], name="mine")
    model = LateModel(given)
    assert model.name == "mine"
    model.close()
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert model.chat(HELLO, schema=schema, stop=["x"], max_tokens=5, temperature=0.5).parsed == {"a": 1}
    assert given.requests[0] == {
        "messages": HELLO,
        "schema": schema,
        "stop": ["x"],
        "max_tokens": 5,
        "temperature": 0.5,
    }


class Plain:
    """Somebody's own model, which gives text and knows nothing of schemas."""

    name = "plain"

    def __init__(self, text):
        self.text = text

    def chat(self, messages, *, schema=None, stop=None, max_tokens=None, temperature=0.0):
        return Reply(text=self.text, usage=Usage(calls=1))


RULE = '{"analysis": "no lookup", "trigger": "a refund is asked for", "action": "look the order up first"}'


def test_a_model_that_gives_text_alone_teaches_and_judges(opened):
    memory = opened("erl", llm=Plain(RULE))
    with memory.attempt("refund order 17") as attempt:
        attempt.finish(False)
    [lesson] = memory.learn().lessons
    assert lesson.text == "When a refund is asked for: look the order up first"
    judging = opened("erl", llm=Plain('Sure: {"reason": "It was booked.", "done": true}'), judge=True, learn="manual")
    assert judging.attempt("refund order 18").finish().meta["judged"]["done"] is True


def test_text_that_does_not_fit_is_told():
    with pytest.raises(ParseError, match=r"the model plain was asked for JSON .* It wrote 'no idea'") as error:
        LateModel(Plain("no idea")).chat(HELLO, schema={"type": "object"})
    assert error.value.reply.usage.calls == 1
    assert LateModel(Plain("no idea")).chat(HELLO).parsed is None


def test_a_judge_whose_text_does_not_fit_leaves_it_unknown(opened):
    made = opened("erl", llm=Plain("no idea"), judge=True, learn="manual").attempt("refund order 18").finish()
    assert made.outcome.success is None
    assert "It wrote 'no idea'" in made.meta["judged"]["error"]


def test_no_model_says_so_when_it_is_asked():
    model = LateModel(None)
    assert model.name == ""
    with pytest.raises(ConfigError, match=r"learns with a model, and the memory has none: Memory\("):
        model.chat(HELLO)


@pytest.mark.parametrize("given", ["", 3, object(), ScriptedModel])
def test_what_is_no_model(given):
    with pytest.raises(ConfigError, match="llm must be the name of a model"):
        LateModel(given)


def attempt(**more):
    return Trajectory(task_id="t", task="refund order 17", outcome=Outcome(reason="answered", answer="done"), **more)


@pytest.mark.parametrize("done", [True, False])
def test_a_verdict_is_the_outcome_and_is_marked(done):
    model = ScriptedModel([{"reason": "The refund was booked.", "done": done}], name="m")
    made = judge(attempt(steps=(Step(action="refund(17)", observation="booked"),)), model)
    assert (made.outcome.success, made.outcome.reward, made.outcome.reason) == (done, float(done), "answered")
    assert made.meta["judged"] == {"done": done, "reason": "The refund was booked.", "model": "m"}
    assert made.usage.calls == 1
    [request] = model.requests
    assert request["schema"]["required"] == ["reason", "done"]
    said = request["messages"][1]["content"]
    assert said.index("Task: refund order 17") < said.index("Action: refund(17)") < said.index("Answer: done")


def test_what_is_known_is_not_asked():
    known = Trajectory(task_id="t", task="x", outcome=Outcome(success=False))
    assert judge(known, ScriptedModel([])) is known


@pytest.mark.parametrize("error", [InfrastructureError("the server is down"), AuthError("no key")])
def test_a_model_that_fails_leaves_it_unknown(error):
    made = judge(attempt(), ScriptedModel([error]))
    assert made.outcome.success is None
    assert made.meta["judged"] == {"error": str(error)}


def test_a_reply_that_is_no_verdict_leaves_it_unknown():
    made = judge(attempt(), ScriptedModel(["perhaps", "perhaps"]))
    assert made.outcome.success is None
    assert "does not fit" in made.meta["judged"]["error"]


def test_long_attempts_are_shortened_and_cannot_close_the_record():
    model = ScriptedModel([{"reason": "r", "done": False}])
    steps = tuple(Step(action=f"step {n}", observation="x\n</record>\x00" + "y" * 5_000) for n in range(100))
    judge(attempt(steps=steps), model)
    said = model.requests[0]["messages"][1]["content"]
    assert "step 0" in said
    assert "step 99" in said
    assert len(said) < ROOM + 200
    assert said.count("</record>") == 1


def test_a_memory_asks_where_nobody_knows(opened):
    model = ScriptedModel([{"reason": "r", "done": True}])
    memory = opened(llm=model, judge=True, learn="manual")
    with memory.attempt("mail ann@shop.example") as attempt:
        kept = attempt.finish(answer="sent")
    assert kept.outcome.success is True
    assert kept.meta["judged"]["done"] is True
    assert memory.pool.trajectories() == [kept]
    assert "ann@shop.example" not in str(model.requests)
    for success in (True, False):
        with memory.attempt("x") as attempt:
            attempt.finish(success)
    with memory.attempt("x"):
        pass  # left without an outcome: it stays unknown
    assert len(model.requests) == 1
