"""An agent that calls the tools of its environment: thought, call, result, until the environment ends the attempt.

Always holds: each call is a step with its result; a call of an unknown tool or with wrong arguments is reported to the
model and never reaches the environment; no model reply raises an error; each turn only appends, so that a server's
prefix cache serves all but the last lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.agents.react import Acting, ended, nearest_first, reward
from seasoned.agents.recorder import Recorder, attempt
from seasoned.llm.calls import Tool
from seasoned.llm.structured import closed_object
from seasoned.llm.tools import calling, result, say, with_calls
from seasoned.protocols import Advise, Environment
from seasoned.replies.calls import check_call, write_call
from seasoned.text import prompt_line, render_prompt
from seasoned.types import Guidance, Message, Outcome, Step, Task, ToolCall, Trajectory

NO_CALL = "That was no call of a tool. Call one of the tools."
ONE_AT_A_TIME = "This was not done: call one tool at a time."
TOO_LATE = "This was not done: it had ended before."


def text_tool(name: str, description: str, argument: str, what: str) -> Tool:
    """A tool with one argument, a text; `what` describes it."""
    parameters = closed_object({argument: {"type": "string", "description": what}})
    return {"name": name, "description": description, "parameters": parameters}


ACT = text_tool("act", "Does one action.", "action", "the action, on one line")
"""The tool for environments that offer none: an action as text."""

CALL_TOKENS = 64
"""Tokens of a reply in addition to its own text, for the syntax of a tool call."""


@dataclass(frozen=True)
class ToolCaller(Acting):
    """Calls tools until the environment ends the attempt, a limit of steps or tokens is reached, or it goes in circles.

    Its arguments are those of `Acting`. A reply without a call is an action if the environment takes texts
    (`info["tool_choice"]` is not "required"), and otherwise a step without an action.
    """

    name = "tools"

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt. See `seasoned.protocols.Agent`."""

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> Outcome:
            shown = guidance.demonstrations or nearest_first(self.examples, task)[: self.shots]
            preamble, limit = self.preamble(shown, offered(info)), self.prompt_tokens
            recorder.begin(preamble, shown, observation, system=self.system, prompt_tokens=limit)
            return self._play(recorder, info)

        return attempt(self.name, task, env, guidance, body, advise if self.asks else None)

    def preamble(self, examples: Sequence[Trajectory], tools: Sequence[Tool]) -> list[Message]:
        """Instruction and examples as a conversation, in the agent's own form."""
        system = render_prompt("seasoned.agents", "tools.j2", instruction=self.instruction)
        messages: list[Message] = [{"role": "system", "content": system}]
        for number, example in enumerate(examples, 1):
            say(messages, "user", f"New task.\n\n{example.task}")
            for place, step in enumerate(example.steps, 1):
                call = step.call or (_act(step.action) if tools[:1] == [ACT] else None)
                if call is None:
                    messages.append(calling("\n".join(filter(None, (step.thought, step.action))), ()))
                    say(messages, "user", step.observation)
                else:
                    call = call.model_copy(update={"id": f"example-{number}-{place}"})
                    messages += [calling(step.thought, [call]), result(call, step.observation)]
        return messages

    def _play(self, recorder: Recorder, info: dict[str, Any]) -> Outcome:
        while len(recorder.steps) < self.max_steps:
            tools, choice = offered(info), str(info.get("tool_choice") or ("auto" if info.get("tools") else "required"))
            thought, calls = self._turn(recorder, tools, choice)
            if not calls:
                self._speak(recorder, thought, choice)
            for place, call in enumerate(calls):
                if recorder.over or (place and info.get("parallel") is False):
                    recorder.note("calls", "surplus")
                    recorder.messages.append(result(call, TOO_LATE if recorder.over else ONE_AT_A_TIME))
                else:
                    self._do(recorder, call, thought, tools)
                    thought = ""
            if recorder.over:
                return ended(recorder)
            info = {**info, **recorder.info}
            if early := self.halted(recorder):
                return early
            if self.asks and (news := recorder.news()[1]):
                recorder.say("user", news)
        return Outcome(success=False, reward=reward(recorder), reason="step_limit")

    def _turn(self, recorder: Recorder, tools: Sequence[Tool], choice: str) -> tuple[str, tuple[ToolCall, ...]]:
        """The text of one reply, and its calls, including those in the text, each with its own id."""
        limit, temperature = self.think_tokens + self.action_tokens + CALL_TOKENS, self.temperature
        reply = recorder.ask(self.llm, tools=tools, tool_choice=choice, max_tokens=limit, temperature=temperature)
        parsed = with_calls(reply, tools)
        if not reply.calls and parsed.calls:
            recorder.note("calls", "in text", len(parsed.calls))
        calls = tuple(
            call if call.id else call.model_copy(update={"id": f"call-{len(recorder.messages)}-{place}"})
            for place, call in enumerate(parsed.calls, 1)
        )
        recorder.messages[-1] = calling(parsed.text, calls)
        return parsed.text, calls

    def _do(self, recorder: Recorder, call: ToolCall, thought: str, tools: Sequence[Tool]) -> None:
        problem = check_call(call, tools)
        thought = prompt_line(thought, 2000)
        if problem:
            exists = any(tool.get("name") == call.name for tool in tools)
            recorder.note("calls", "wrong arguments" if exists else "unknown tool")
            recorder.invalid += 1
            recorder.steps.append(Step(thought=thought, action=write_call(call), observation=problem, call=call))
        elif tools[:1] == [ACT]:
            recorder.act(prompt_line(str(call.arguments["action"]), 1000), thought, call)
        else:
            recorder.act(write_call(call), thought, call)
        recorder.messages.append(result(call, recorder.steps[-1].observation))

    def _speak(self, recorder: Recorder, text: str, choice: str) -> None:
        """Handle a reply without a call: it is an action if the environment takes texts."""
        if choice == "auto" and text.strip():
            recorder.say("user", recorder.act(text.strip()))
            return
        recorder.note("calls", "no call" if text.strip() else "empty")
        recorder.invalid += 1
        recorder.steps.append(Step(thought=prompt_line(text, 2000), action="N/A", observation=NO_CALL))
        recorder.say("user", NO_CALL)


def offered(info: dict[str, Any]) -> list[Tool]:
    """The tools that an environment offers; if it offers none, the tool for actions as text."""
    tools = info.get("tools")
    items = tools if isinstance(tools, list | tuple) else ()
    valid: list[Tool] = [tool for tool in items if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
    return valid or [ACT]


def _act(action: str) -> ToolCall:
    return ToolCall(name=str(ACT["name"]), arguments={"action": action})
