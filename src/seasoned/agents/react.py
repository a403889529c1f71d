"""Agents that act in several steps: Act, ReAct, and one that chooses among commands derived from its observations.

`act` replies with an action, `react` with a thought and an action (ReAct; ExpeL section 4.1), `choose` picks its action
from the commands that the environment derives from the observations so far (`info["choices"]`). Always holds: a thought
is not a step of the environment; no model reply raises an error; constant text comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seasoned.agents.halting import Halt, ends_early
from seasoned.agents.recorder import Recorder, attempt
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.turns import read_turn
from seasoned.text import render_prompt
from seasoned.types import Guidance, Message, Outcome, Step, Task, Trajectory

THINKING_ONLY = "You have thought several times without acting. Send an action."
NO_ACTION = "That was no action. Send one action on one line."
_THOUGHTS_IN_A_ROW = 3


@dataclass(frozen=True)
class Acting:
    """The common part of the agents that act in several steps.

    Args:
        llm: the model.
        instruction: describes the kind of task and the actions.
        examples: worked trajectories, those of the task's category first, used if guidance has no demonstrations.
        max_steps: the most actions of an attempt (the benchmark's H).
        repeats: identical actions in a row that end an attempt (Omega of Reflexion, section 2.2); None: never.
        same_observation: whether identical actions must have the same observation too.
        max_actions: this many actions end an attempt (epsilon in that section), if fewer than `max_steps`.
        prompt_tokens: a prompt with more tokens ends an attempt before it is sent; see `Recorder.ask`. None or 0: only
            a prompt that the model refuses does.
        halt: another rule that ends an attempt; see `seasoned.agents.halting`.
        shots: the most examples to show.
        think_tokens: the longest thought.
        action_tokens: the longest action.
        temperature: for every call.
        system: put the text of guidance at the end of the system prompt (ERL, section 2), not with the task.
        asks: ask for guidance again at each turn, for methods that use the attempt so far. New demonstrations then
            replace those at the beginning; new text follows the observation.
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

    def halted(self, recorder: Recorder) -> Outcome | None:
        """The outcome if a rule ends the attempt now; else None."""
        limits = {"omega": self.repeats, "epsilon": self.max_actions}
        early = ends_early(recorder.steps, **limits, with_observation=self.same_observation)
        if early is None and self.halt is not None:
            early = self.halt(recorder.steps)
        return None if early is None else Outcome(success=False, reward=reward(recorder), reason=early)


@dataclass(frozen=True)
class React(Acting):
    """Acts until the environment ends the attempt, a limit of steps or tokens is reached, or it goes in circles.

    `style` is `act`, `react` or `choose`; `Acting` explains the other arguments.
    """

    style: Literal["act", "react", "choose"] = "react"

    @property
    def name(self) -> str:
        """The agent's name in records."""
        return self.style

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt. See `seasoned.protocols.Agent`."""

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> Outcome:
            shown = guidance.demonstrations or nearest_first(self.examples, task)[: self.shots]
            preamble, limit = self.preamble(shown), self.prompt_tokens
            begun = recorder.begin(preamble, shown, observation, system=self.system, prompt_tokens=limit)
            return self._play(recorder, info, begun)

        return attempt(self.name, task, env, guidance, body, advise if self.asks else None)

    def preamble(self, examples: Sequence[Trajectory]) -> list[Message]:
        """Instruction and examples as a conversation in the form that the agent itself uses."""
        system = render_prompt("seasoned.agents", "react.j2", instruction=self.instruction, style=self.style)
        messages: list[Message] = [{"role": "system", "content": system}]
        for example in examples:
            text = f"New task.\n\n{example.task}"
            for step in example.steps:
                messages.append({"role": "user", "content": text})
                messages.append({"role": "assistant", "content": self._reply(step)})
                text = step.observation
        return messages

    def _reply(self, step: Step) -> str:
        if self.style != "react":
            return step.action
        thought = f"Thought: {step.thought}\n" if step.thought else ""
        return f"{thought}Action: {step.action}"

    def _play(self, recorder: Recorder, info: dict[str, Any], begun: int) -> Outcome:
        pending: list[str] = []
        while len(recorder.steps) < self.max_steps:
            thought, action = self._turn(recorder, info)
            if not action and thought and len(pending) + 1 < _THOUGHTS_IN_A_ROW:
                pending.append(thought)
                recorder.say("user", "OK.")
                continue
            reminder = THINKING_ONLY if thought else NO_ACTION
            # A thought is not a step, so thoughts belong to the step that follows them.
            thought, pending = " ".join(filter(None, (*pending, thought))), []
            if action:
                observation = recorder.act(action, thought)
                info = {**info, **recorder.info}
            else:
                observation = reminder
                recorder.steps.append(Step(thought=thought, action="N/A", observation=observation))
                recorder.invalid += 1
            if recorder.over:
                return ended(recorder)
            if early := self.halted(recorder):
                return early
            recorder.say("user", observation)
            if self.asks:
                begun = self._advised(recorder, begun)
        return Outcome(success=False, reward=reward(recorder), reason="step_limit")

    def _advised(self, recorder: Recorder, begun: int) -> int:
        """Put newly recalled guidance into the conversation; return the number of messages before the task."""
        recalled, news = recorder.news()
        if news:
            recorder.say("user", news)
        order = {name: place for place, name in enumerate(recorder.shown[-1][1])}
        if not recalled.demonstrations or {example.id for example in recalled.demonstrations} == order.keys():
            return begun
        # Demonstrations that stay come first, so that the server's prefix cache serves them.
        demonstrations = sorted(recalled.demonstrations, key=lambda example: order.get(example.id, len(order)))
        recorder.shown.append((len(recorder.steps), tuple(example.id for example in demonstrations)))
        _, *messages = self.preamble(demonstrations)
        recorder.messages[1:begun] = messages
        return 1 + len(messages)

    def _turn(self, recorder: Recorder, info: Mapping[str, Any]) -> tuple[str, str]:
        """The thought and the action in one reply, each "" if missing."""
        choices = info.get("choices")
        if self.style == "choose" and choices:
            limit = self.action_tokens
            return "", recorder.answer(self.llm, choices, max_tokens=limit, temperature=self.temperature)
        thinks = self.style == "react"
        # No stop at a line break: models put a thought, a heading or a fence before the action.
        stop = ["\nObservation", "\nNew task", "Observation:"]
        limit = self.think_tokens + self.action_tokens if thinks else self.action_tokens
        reply = recorder.ask(self.llm, stop=stop, max_tokens=limit, temperature=self.temperature)
        turn = read_turn(reply.text)
        # The model must not see text that it invented after its action.
        recorder.messages[-1] = {"role": "assistant", "content": self._kept(turn.thought, turn.action, reply.text)}
        return turn.thought, turn.action

    def _kept(self, thought: str, action: str, text: str) -> str:
        if action:
            return self._reply(Step(thought=thought, action=action))
        return f"Thought: {thought}" if thought else text


def nearest_first(examples: Sequence[Trajectory], task: Task) -> list[Trajectory]:
    """The worked attempts, those of the task's category first."""
    return sorted(examples, key=lambda example: example.category != task.category)


def reward(recorder: Recorder) -> float:
    """The reward so far, between 0 and 1: the environment's own total, or else the sum over the steps."""
    reported = recorder.info.get("reward")
    total = reported if isinstance(reported, int | float) else sum(step.reward for step in recorder.steps)
    return min(max(float(total), 0.0), 1.0)


def ended(recorder: Recorder) -> Outcome:
    """The outcome of an attempt that the environment ended."""
    success, answer = recorder.info.get("success"), str(recorder.info.get("answer", ""))
    cut = bool(recorder.info.get("truncated"))
    if success is None and "success" in recorder.info:  # the environment says that success is unknown
        return Outcome(reason="step_limit" if cut else "answered" if answer else "halted", answer=answer)
    if cut and not success:
        return Outcome(success=False, reward=reward(recorder), reason="step_limit", answer=answer)
    if success is None:
        return Outcome(success=False, reward=reward(recorder), reason="halted", answer=answer)
    how = "answered" if answer else "won" if success else "halted"
    return Outcome(success=bool(success), reward=max(reward(recorder), float(bool(success))), reason=how, answer=answer)
