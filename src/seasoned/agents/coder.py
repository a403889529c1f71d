"""An agent that writes programs: it drafts, reads the errors, may probe with a call, and drafts again.

Always holds: no model reply raises an error; a program reaches the environment as one action, without its code fence;
constant text comes first and each turn only appends; the library calls that the environment reports are stored in
`meta["calls"]`, for methods to learn from, and its verdict in `meta["verdict"]`, for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.agents.react import ended, reward
from seasoned.agents.recorder import Recorder, attempt
from seasoned.agents.tools import CALL_TOKENS, text_tool
from seasoned.llm.tools import calling, result, with_calls
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.calls import check_call
from seasoned.replies.programs import read_program
from seasoned.types import Guidance, Message, Outcome, Step, Task, ToolCall, Trajectory

NOTHING = "That was no program. Reply with the function alone."
RIGHT = "Right."
NOTED = "Note in one line what to remember of one of the functions for other tasks. Begin with its name and a colon."


TOOLS = (
    text_tool("write", "Hands in the function.", "program", "the whole function, as Python"),
    text_tool("look", "Calls a function once and tells what it gives.", "call", "a call, such as name(3)"),
)
"""The tools of the native style; a call reaches the environment as the text that a model without tools writes."""

TESTED = "First write up to {tests} tests of the function, one a line: assert name(..) == .."
_ASIDE = (">>>", "NOTE[", "assert ")
_STOPS = ("\n```\n", "\nprint(", "\nassert ", "\n# Test", "\nIt is called")


@dataclass(frozen=True)
class Coder:
    """Writes a program and improves it until the environment ends the attempt; see `Acting` for the other arguments.

    Args:
        max_steps: the most programs and probes of an attempt.
        program_tokens: the longest reply.
        notes: write a note after an attempt whose verdict is shown (for ExpNote).
        tests: the most tests that the agent writes before its first draft; the environment runs the drafts on them.
        native: call `TOOLS`; otherwise, programs and probes are text.
    """

    llm: LLM
    instruction: str
    examples: Sequence[Trajectory] = ()
    max_steps: int = 3
    program_tokens: int = 200
    temperature: float = 0.0
    shots: int = 2
    notes: bool = False
    tests: int = 0
    native: bool = False
    prompt_tokens: int | None = None
    system: bool = False

    @property
    def name(self) -> str:
        """The agent's name in records."""
        return "coder"

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt. See `seasoned.protocols.Agent`."""

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> Outcome:
            shown = guidance.demonstrations or tuple(self.examples)[: self.shots]
            preamble, limit = self.preamble(shown), self.prompt_tokens
            recorder.begin(preamble, shown, observation, system=self.system, prompt_tokens=limit)
            outcome = self._write(recorder)
            if verdict := recorder.info.get("verdict"):
                recorder.meta["verdict"] = str(verdict)
            return outcome

        return attempt(self.name, task, env, guidance, body, advise)

    def preamble(self, examples: Sequence[Trajectory]) -> list[Message]:
        """Instruction and examples as a conversation, with the last judged program of each example."""
        messages: list[Message] = [{"role": "system", "content": self.instruction}]
        for example in examples:
            programs = [step for step in example.steps if step.action and not step.action.startswith(_ASIDE)]
            for step in programs[-1:]:
                # A worked example also shows its guidance; the agent's own attempt, only its task and program.
                guidance = [example.guidance] if example.agent == "worked" and example.guidance else []
                messages.append({"role": "user", "content": "\n\n".join(["New task.", *guidance, example.task])})
                if self.native:
                    call = ToolCall(name="write", arguments={"program": step.action}, id=f"example-{len(messages)}")
                    messages += [calling("", [call]), result(call, RIGHT)]
                else:
                    messages.append({"role": "assistant", "content": step.action})
        return messages

    def _write(self, recorder: Recorder) -> Outcome:
        if self.tests and self._test(recorder):
            return ended(recorder)
        while len(recorder.steps) < self.max_steps:
            action, call = self._called(recorder) if self.native else (self._said(recorder), None)
            if not action:
                recorder.steps.append(Step(action="N/A", observation=NOTHING, call=call))
                recorder.invalid += 1
                self._tell(recorder, NOTHING, call)
                continue
            observation = recorder.act(action, call=call)
            reported = recorder.info.pop("calls", None)
            if isinstance(reported, list) and reported:
                recorder.meta.setdefault("calls", []).extend(reported)
            if recorder.over:
                self._note(recorder, observation, call)
                return ended(recorder)
            self._tell(recorder, observation, call)
            self._advised(recorder)
        return Outcome(success=False, reward=reward(recorder), reason="step_limit")

    def _test(self, recorder: Recorder) -> bool:
        """Let the model write tests for the environment (Reflexion, programs); return whether that ended it."""
        recorder.say("user", TESTED.format(tests=self.tests))
        reply = recorder.ask(self.llm, max_tokens=self.program_tokens, temperature=self.temperature)
        tests = [line.strip() for line in reply.text.splitlines() if line.strip().startswith("assert ")][: self.tests]
        if tests:
            recorder.messages[-1] = {"role": "assistant", "content": "\n".join(tests)}
        recorder.say("user", recorder.act("\n".join(tests)) if tests else NOTHING)
        return recorder.over

    def _said(self, recorder: Recorder) -> str:
        """The program or probe in one text reply."""
        reply = recorder.ask(self.llm, stop=_STOPS, max_tokens=self.program_tokens, temperature=self.temperature)
        action = read_program(reply.text)
        if action:
            recorder.messages[-1] = {"role": "assistant", "content": action}
        return action

    def _called(self, recorder: Recorder) -> tuple[str, ToolCall | None]:
        """The program or probe in the first tool call of one reply, or else in its text; and the call, if any."""
        limit, temperature = self.program_tokens + CALL_TOKENS, self.temperature
        reply = recorder.ask(self.llm, tools=TOOLS, tool_choice="required", max_tokens=limit, temperature=temperature)
        parsed = with_calls(reply, TOOLS)
        if not parsed.calls:
            return read_program(parsed.text), None
        call = parsed.calls[0].model_copy(update={"id": parsed.calls[0].id or f"call-{len(recorder.messages)}"})
        recorder.messages[-1] = calling(parsed.text, [call])
        if check_call(call, TOOLS):
            return "", call
        text = str(call.arguments.get("program") or "")
        probe = str(call.arguments.get("call") or "").strip().removeprefix(">>>").strip()
        return (f">>> {probe}" if probe else read_program(text) or text.strip()), call

    def _tell(self, recorder: Recorder, observation: str, call: ToolCall | None) -> None:
        if call is None:
            recorder.say("user", observation)
        else:
            recorder.messages.append(result(call, observation))

    def _advised(self, recorder: Recorder) -> None:
        """Show newly recalled guidance, for the functions that the draft uses."""
        text = recorder.guidance.text
        entries = (entry for block in recorder.advised().blocks for entry in block.entries)
        if news := [entry.text for entry in entries if entry.text not in text]:
            recorder.say("user", "\n".join(news))

    def _note(self, recorder: Recorder, observation: str, call: ToolCall | None) -> None:
        if not (self.notes and observation):
            return
        self._tell(recorder, f"{observation}\n{NOTED}", call)
        note = recorder.ask(self.llm, stop=["\n"], max_tokens=60, temperature=self.temperature).text
        key, colon, value = note.strip().strip("`*- ").partition(":")
        if colon and value.strip():
            recorder.steps.append(Step(action=f"NOTE[{key.strip('`* ')}]: {value.strip()}", observation="OK."))
