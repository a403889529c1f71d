"""Sessions of coding agents: each request is an attempt, and its end is what the session shows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.traces import read
from seasoned.traces.coding import command_of, ended, failed, is_session
from seasoned.traces.coding import read as read_values
from seasoned.types import Step, ToolCall


def claude(*records):
    """Records of a Claude Code session, with what stands around each message."""
    about = {"sessionId": "s", "cwd": "/p", "version": "2.0", "timestamp": "2026-11-20T10:00:00.000Z"}
    return [{**about, "uuid": str(n), **record} for n, record in enumerate(records)]


def user(content, **more):
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def call(name, given, number="1"):
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def result(text, number="1"):
    return user([{"type": "tool_result", "tool_use_id": f"t{number}", "content": text}])


def said(text):
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


SESSION = claude(
    {"type": "summary", "summary": "a title", "leafUuid": "x"},
    user("<system-reminder>be nice</system-reminder>", isMeta=True),
    user("Fix the failing test."),
    call("Bash", {"command": "pytest -q"}, "1"),
    result("E   ModuleNotFoundError: No module named 'yaml'\n1 failed in 0.1s\nexit code 1", "1"),
    call("Bash", {"command": "pip install pyyaml"}, "2"),
    result("Successfully installed", "2"),
    call("Bash", {"command": "pytest -q"}, "3"),
    result("3 passed in 0.2s", "3"),
    said("Done."),
    user("continue"),
    said("There is nothing more to do."),
    user("Rename the function."),
    call("Edit", {"file_path": "a.py", "old_string": "f", "new_string": "g"}, "4"),
    result("ok", "4"),
    said("Renamed."),
    user("No, that is wrong: keep the old name as an alias."),
    said("I added an alias."),
    {**user("a subagent's"), "isSidechain": True},
)


def write(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def test_each_request_of_a_claude_code_session_is_an_attempt(tmp_path):
    log = read(write(tmp_path / "s.jsonl", SESSION))
    assert log.format == "coding"
    assert [t.task for t in log.trajectories] == [
        "Fix the failing test.",
        "Rename the function.",
        "No, that is wrong: keep the old name as an alias.",
    ]
    fixed, renamed, alias = log.trajectories
    assert (fixed.outcome.success, fixed.outcome.detail) == (True, "the tests passed: pytest -q")
    assert [step.call.name for step in fixed.steps[:3]] == ["Bash", "Bash", "Bash"]
    assert (renamed.outcome.success, renamed.outcome.detail) == (False, "the user said that it is wrong")
    assert alias.outcome.success is None
    assert fixed.created.startswith("2026-11-20")


BROKEN = "Process exited with code 101\nerror[E0425]"


def codex(*payloads):
    first = {"type": "session_meta", "payload": {"id": "x", "cwd": "/p", "cli_version": "0.80"}}
    return [first, *({"type": "response_item", "payload": payload} for payload in payloads)]


def test_a_codex_session_is_read(tmp_path):
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Make it build."}]}
    noise = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>"}]}
    arguments = json.dumps({"cmd": "cargo test"})
    log = read(
        write(
            tmp_path / "rollout.jsonl",
            codex(
                noise,
                message,
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look"}]},
                {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": "c1"},
                {
                    "type": "function_call_output",
                    "call_id": "c1",
                    "output": BROKEN,
                },
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It fails."}]},
            ),
        )
    )
    (attempt,) = log.trajectories
    assert (attempt.task, attempt.outcome.success) == ("Make it build.", False)
    assert command_of(attempt.steps[0]) == "cargo test"
    assert "E0425" in attempt.steps[0].observation


def test_a_mini_swe_agent_run_is_one_attempt(tmp_path):
    messages = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Repair add()."},
        {"role": "assistant", "content": "THOUGHT: look\n\n```bash\npytest -q\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>1 failed</output>"},
        {"role": "assistant", "content": "THOUGHT: mend\n\n```bash\nsed -i s/-/+/ a.py && pytest -q\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>1 passed</output>"},
    ]
    value = {"trajectory_format": "mini-swe-agent-1.1", "messages": messages, "info": {"exit_status": "Submitted"}}
    file = tmp_path / "run.traj.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    (attempt,) = read(file).trajectories
    assert (attempt.task, attempt.outcome.success, len(attempt.steps)) == ("Repair add().", True, 2)
    file.write_text(json.dumps({**value, "messages": messages[:4], "info": {"exit_status": "LimitsExceeded"}}))
    assert read(file).trajectories[0].outcome.success is False


def test_the_task_of_another_run_is_not_an_objection(tmp_path):
    def run(task, result):
        messages = [
            {"role": "user", "content": task},
            {"role": "assistant", "content": "```bash\npytest -q\n```"},
            {"role": "user", "content": f"<returncode>0</returncode>\n<output>{result}</output>"},
        ]
        return {"trajectory_format": "mini-swe-agent-1.1", "messages": messages, "info": {"exit_status": "Submitted"}}

    runs = [run("Fix the parser.", "1 passed"), run("Revert the change to the lexer.", "2 passed")]
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    assert [attempt.outcome.success for attempt in read(file).trajectories] == [True, True]


def test_a_swe_agent_trajectory_is_read(tmp_path):
    steps = [{"thought": "look", "action": "ls", "observation": "a.py", "state": {}}]
    history = [{"role": "user", "content": "Repair it."}]
    value = {"trajectory": steps, "history": history, "info": {"exit_status": "exit_cost"}}
    file = tmp_path / "run.traj"
    file.write_text(json.dumps(value), encoding="utf-8")
    (attempt,) = read(file).trajectories
    assert (attempt.task, attempt.outcome.success, attempt.steps[0].thought) == ("Repair it.", False, "look")


@pytest.mark.parametrize(
    ("observation", "wrong"),
    [
        ("exit code: 1", True),
        ("Process exited with code 0\nwarning: error", False),
        ("<returncode>2</returncode>", True),
        ("== 2 failed, 3 passed in 1s ==", True),
        ("== 3 passed in 1s ==", False),
        ("test result: ok. 4 passed; 0 failed", False),
        ("a.py  b.py", None),
    ],
)
def test_a_command_failed_where_its_code_or_its_tests_say_so(observation, wrong):
    assert failed(Step(action="x", observation=observation)) is wrong


def test_changes_that_were_taken_back_are_a_failure():
    steps = [Step(action="pytest", observation="1 passed"), Step(action="git checkout -- a.py", observation="")]
    assert ended(steps).success is False
    assert ended([Step(action="ls", observation="")]).success is None


def test_a_command_is_found_in_calls_of_any_form():
    def step(arguments):
        return Step(action="x", call=ToolCall(name="shell", arguments=arguments))

    assert command_of(step({"command": ["bash", "-lc", "make test"]})).endswith("make test")
    assert command_of(step({"cmd": "ls"})) == "ls"
    assert command_of(step({"path": "a"})) == "x"


NAMES = ["type", "message", "payload", "role", "content", "trajectory", "messages", "info", "sessionId"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(NAMES) | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(st.lists(json_values, max_size=4))
def test_any_json_is_read_without_an_error(values):
    log = read_values([(f"line {n}", value) for n, value in enumerate(values)], {"source": "coding"})
    assert len(log.trajectories) <= len(values)
    assert all(isinstance(is_session(value), bool) for value in values)


@given(st.sampled_from(["user", "assistant"]), json_values)
def test_any_message_of_a_session_is_read_without_an_error(kind, content):
    record = {"type": kind, "sessionId": "s", "message": {"role": kind, "content": content}}
    read_values([("line 1", user("Do it.")), ("line 2", record)], {"source": "coding"})
