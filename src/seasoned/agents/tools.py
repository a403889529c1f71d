"""An agent that calls the tools of its environment: thought, call, result, until the environment ends it.

Always holds: each call is a step with its result, also one of an unknown tool or with arguments that do not fit, which
the model is told and the environment never sees; nothing that a model writes raises; each turn only appends to the
conversation, so that a server's prefix cache serves all but the last lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.agents.halting import Halt, ends_early
from seasoned.agents.react import ended, nearest_first, reward
from seasoned.agents.recorder import Recorder, attempt, placed
from seasoned.llm.calls import Tool
from seasoned.llm.tools import calling, result, with_calls
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.calls import check_call, write_call
from seasoned.text import prompt_line, render_prompt
from seasoned.types import Guidance, Message, Outcome, Step, Task, ToolCall, Trajectory

NO_CALL = "That was no call of a tool. Call one of the tools."
ONE_AT_A_TIME = "This was not done: call one tool at a time."
TOO_LATE = "This was not done: it had ended before."
ACT = {
    "name": "act",
    "description": "Does one action.",
    "parameters": {
        "type": "object",
        "properties": {"action": {"type": "string", "description": "the action, on one line"}},
        "required": ["action"],
        "additionalProperties": False,
    },
}
"""What is offered where an environment offers no tools of its own: its actions as text."""

CALL_TOKENS = 64
"""Tokens of a reply beside its thought and its action: what a call needs around its arguments."""


@dataclass(frozen=True)
class ToolCaller:
    """Calls tools until the environment ends, the steps or the room in the prompt run out, or it goes round in circles.

    What its arguments have in common with those of `React` is the same here. A reply without a call is an action where
    the environment takes texts (`info["tool_choice"]` is not "required"), and else a step in which nothing was done.
    """

    llm: LLM
    instruction: str
    examples: Sequence[Trajectory] = ()
    max_steps: int = 20
    repeats: int | None = 3
    same_observation: bool = True
    max_actions: int | None = None
    prompt_tokens: int | None = None
    halt: Halt | None = None
    shots: int = 2
    think_tokens: int = 80
    action_tokens: int = 32
    temperature: float = 0.0
    system: bool = False
    asks: bool = False

    name = "tools"

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt. See `seasoned.protocols.Agent`."""
        noted: Counter[str] = Counter()

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> Outcome:
            shown = guidance.demonstrations or nearest_first(self.examples, task)[: self.shots]
            recorder.prompt_limit = self.prompt_tokens
            opening, beside = placed(self.preamble(shown, offered(info)), guidance.text, self.system)
            recorder.messages.extend(opening)
            recorder.shown.append((0, tuple(example.id for example in shown)))
            recorder.say("user", "\n\n".join(part for part in ("New task.", beside, observation) if part))
            return self._play(recorder, info, noted)

        made = attempt(self.name, task, env, guidance, body, advise if self.asks else None)
        return made.model_copy(update={"meta": {**made.meta, "calls": dict(noted)}}) if noted else made

    def preamble(self, examples: Sequence[Trajectory], tools: Sequence[Tool]) -> list[Message]:
        """Instruction and examples as a conversation in the form that the agent itself uses."""
        system = render_prompt("seasoned.agents", "tools.j2", instruction=self.instruction)
        messages: list[Message] = [{"role": "system", "content": system}]
        for number, example in enumerate(examples, 1):
            _say(messages, f"New task.\n\n{example.task}")
            for place, step in enumerate(example.steps, 1):
                call = step.call or (_act(step.action) if tools[:1] == [ACT] else None)
                if call is None:
                    messages.append(calling("\n".join(filter(None, (step.thought, step.action))), ()))
                    _say(messages, step.observation)
                else:
                    call = call.model_copy(update={"id": f"example-{number}-{place}"})
                    messages += [calling(step.thought, [call]), result(call, step.observation)]
        return messages

    def _play(self, recorder: Recorder, info: dict[str, Any], noted: Counter[str]) -> Outcome:
        while len(recorder.steps) < self.max_steps:
            tools, choice = offered(info), str(info.get("tool_choice") or ("auto" if info.get("tools") else "required"))
            thought, calls = self._turn(recorder, tools, choice, noted)
            if not calls:
                self._speak(recorder, thought, choice, noted)
            for call, done in zip(calls, _allowed(calls, info), strict=True):
                if recorder.over or not done:
                    noted["surplus"] += 1
                    recorder.messages.append(result(call, TOO_LATE if recorder.over else ONE_AT_A_TIME))
                else:
                    self._do(recorder, call, thought, tools, noted)
                    thought = ""
            if recorder.over:
                return ended(recorder)
            info = {**info, **recorder.info}
            limits = {"omega": self.repeats, "epsilon": self.max_actions}
            early = ends_early(recorder.steps, **limits, with_observation=self.same_observation)
            if early or (self.halt is not None and (early := self.halt(recorder.steps))):
                return Outcome(success=False, reward=reward(recorder), reason=early)
            if self.asks and (news := recorder.news()[1]):
                recorder.say("user", news)
        return Outcome(success=False, reward=reward(recorder), reason="step_limit")

    def _turn(
        self, recorder: Recorder, tools: Sequence[Tool], choice: str, noted: Counter[str]
    ) -> tuple[str, tuple[ToolCall, ...]]:
        """One reply: what it says, and its calls, those in its text too, each with an id of its own."""
        limit = self.think_tokens + self.action_tokens + CALL_TOKENS
        temperature = self.temperature
        reply = recorder.ask(self.llm, tools=tools, tool_choice=choice, max_tokens=limit, temperature=temperature)
        found = with_calls(reply, tools)
        if not reply.calls and found.calls:
            noted["in text"] += len(found.calls)
        calls = tuple(
            call if call.id else call.model_copy(update={"id": f"call-{len(recorder.messages)}-{place}"})
            for place, call in enumerate(found.calls, 1)
        )
        recorder.messages[-1] = calling(found.text, calls)
        return found.text, calls

    def _do(self, recorder: Recorder, call: ToolCall, thought: str, tools: Sequence[Tool], noted: Counter[str]) -> None:
        wrong = check_call(call, tools)
        thought = prompt_line(thought, 2000)
        if wrong:
            known = any(tool.get("name") == call.name for tool in tools)
            noted["wrong arguments" if known else "unknown tool"] += 1
            recorder.invalid += 1
            recorder.steps.append(Step(thought=thought, action=write_call(call), observation=wrong, call=call))
        elif tools[:1] == [ACT]:
            recorder.act(prompt_line(str(call.arguments["action"]), 1000), thought, call)
        else:
            recorder.act(write_call(call), thought, call)
        recorder.messages.append(result(call, recorder.steps[-1].observation))

    def _speak(self, recorder: Recorder, text: str, choice: str, noted: Counter[str]) -> None:
        """A reply without a call: a text for the environment, where that takes one."""
        if choice == "auto" and text.strip():
            recorder.say("user", recorder.act(text.strip()))
            return
        noted["no call" if text.strip() else "empty"] += 1
        recorder.invalid += 1
        recorder.steps.append(Step(thought=prompt_line(text, 2000), action="N/A", observation=NO_CALL))
        recorder.say("user", NO_CALL)


def offered(info: dict[str, Any]) -> list[Tool]:
    """The tools that an environment offers, or the one that does its actions as text."""
    tools = info.get("tools")
    listed = tools if isinstance(tools, list | tuple) else ()
    known: list[Tool] = [tool for tool in listed if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
    return known or [ACT]


def _allowed(calls: Sequence[ToolCall], info: dict[str, Any]) -> Iterator[bool]:
    """For each call, whether it may be done beside those before it."""
    return (place == 0 or info.get("parallel") is not False for place, _ in enumerate(calls))


def _act(action: str) -> ToolCall:
    return ToolCall(name=str(ACT["name"]), arguments={"action": action})


def _say(messages: list[Message], text: str) -> None:
    """What the user says, joined to what he said just before."""
    if messages[-1]["role"] == "user":
        messages[-1] = {"role": "user", "content": f"{messages[-1]['content']}\n{text}"}
    else:
        messages.append({"role": "user", "content": text})
