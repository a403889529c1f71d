"""Records an attempt while an agent makes it.

Always holds: the trajectory has all steps up to a limit, an error or an interruption; if the server or the environment
fails, or the server refuses a prompt, the outcome is unknown with the reason `error`, never a failure; if a prompt is
too long for its limit or the model, the outcome is a failure with the reason `context`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, SupportsFloat, Unpack

from seasoned.errors import (
    BudgetExceeded,
    ContextLengthError,
    DataError,
    InfrastructureError,
    LLMError,
    ParseError,
    RefusedError,
    SeasonedError,
)
from seasoned.llm.tools import calling, chat_of, say
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.commands import answer_in
from seasoned.text import TOKEN, prompt_line
from seasoned.types import ChatOptions, Guidance, Message, Outcome, Reply, Step, Task, ToolCall, Trajectory, Usage


@dataclass
class Recorder:
    """The growing record of one attempt: the conversation, the steps and the usage.

    `shown` are the ids of the demonstrations before the task, each set with the number of steps before it was shown;
    `messages` has the last set. `counted` is the length of the last prompt whose tokens the server counted: in tokens
    and in characters. `meta` is part of the trajectory's; its `empty` counts empty replies by why they ended: "length",
    "content_filter" or "other".
    """

    agent: str
    task: Task
    env: Environment
    guidance: Guidance
    advise: Advise | None = None
    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    info: dict[str, Any] = field(default_factory=dict)
    over: bool = False
    invalid: int = 0
    shown: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    prompt_limit: int | None = None
    counted: tuple[int, int] = (0, 0)
    meta: dict[str, Any] = field(default_factory=dict)

    def say(self, role: str, content: str) -> None:
        """Add a message to the conversation; consecutive messages of one role are joined."""
        say(self.messages, role, content)

    def begin(
        self,
        preamble: Sequence[Message],
        examples: Sequence[Trajectory],
        observation: str,
        *,
        system: bool,
        prompt_tokens: int | None,
    ) -> int:
        """Open the conversation with a preamble that shows these examples, and the task; return the preamble's length.

        With `system`, the guidance is at the end of the system prompt, not with the task. `prompt_tokens` limits every
        prompt.
        """
        self.prompt_limit = prompt_tokens
        opening, beside = placed(preamble, self.guidance.text, system)
        self.messages.extend(opening)
        self.shown.append((0, tuple(example.id for example in examples)))
        self.say("user", "\n\n".join(filter(None, ("New task.", beside, observation))))
        return len(opening)

    def ask(self, llm: LLM, **options: Unpack[ChatOptions]) -> Reply:
        """Ask the model for the next message; add its reply, even a malformed one, and count its usage.

        Raises:
            ContextLengthError: the prompt has more tokens than `prompt_limit` and is not sent, or the model refused it
                as too long.
        """
        size = self._check_room()
        try:
            reply = chat_of(llm)(self.messages, **options)
        except LLMError as error:
            failed = error.reply if isinstance(error.reply, Reply) else Reply(text="")
            self.usage += failed.usage
            if isinstance(error, ParseError):
                self._note_empty(failed)
                self.say("assistant", failed.text)
            raise
        self.usage += reply.usage
        self._note_empty(reply)
        # If there were two calls, the token count is that of both prompts.
        if reply.usage.calls + reply.usage.replayed == 1 and reply.usage.prompt_tokens:
            self.counted = reply.usage.prompt_tokens, size
        if reply.calls:
            self.messages.append(calling(reply.text, reply.calls))
        else:
            self.say("assistant", reply.text)
        return reply

    def _note_empty(self, reply: Reply) -> None:
        if not reply.text.strip() and not reply.calls:
            why = reply.finish_reason if reply.finish_reason in ("length", "content_filter") else "other"
            self.note("empty", why)

    def note(self, what: str, kind: str, times: int = 1) -> None:
        """Count events of a kind under a name in `meta`."""
        counts = self.meta.setdefault(what, {})
        counts[kind] = counts.get(kind, 0) + times

    def _check_room(self) -> int:
        """The characters of the conversation; raises if its tokens (last count plus later text) exceed the limit."""
        size = sum(len(message["content"]) + len(str(message.get("tool_calls", ""))) for message in self.messages)
        counted_tokens, counted_size = self.counted
        tokens = counted_tokens + (size - counted_size) // TOKEN
        if self.prompt_limit and tokens > self.prompt_limit:
            raise ContextLengthError(
                f"the prompt has about {tokens:,} tokens, and may have {self.prompt_limit:,}: allow more "
                "(agent.prompt_tokens), or show fewer or shorter examples"
            )
        return size

    def answer(self, llm: LLM, choices: Sequence[str] | None, *, max_tokens: int, temperature: float) -> str:
        """Let the model answer in one line, or with one of the choices; "" if its reply is none of them."""
        schema = {"type": "string", "enum": list(choices)} if choices else None
        stop = None if schema else ["\n"]
        try:
            reply = self.ask(llm, schema=schema, stop=stop, max_tokens=max_tokens, temperature=temperature)
        except ParseError:
            return ""
        if not schema:
            return prompt_line(answer_in(reply.text))
        # Without quotes, as in the worked cases: they belong to the schema, not to the conversation.
        self.messages[-1] = {"role": "assistant", "content": str(reply.parsed)}
        return str(reply.parsed)

    def act(self, action: str, thought: str = "", call: ToolCall | None = None) -> str:
        """Do one action, or call, in the environment and record the step; return the observation."""
        with _blamed(self.task):
            observation, reward, terminated, truncated, info = self.env.step(action)
            _check(observation, info, reward)
            step = Step(thought=thought, action=action, observation=observation, reward=float(reward), call=call)
            self.over = bool(terminated or truncated)
            self.info |= {**info, "truncated": bool(truncated)}
            self.invalid += bool(info.get("invalid"))
        self.steps.append(step)
        return observation

    def advised(self) -> Guidance:
        """Recall guidance for the attempt so far, add it to `guidance`, and return it."""
        if self.advise is None:
            return Guidance()
        recalled = self.advise(self.trajectory(Outcome()))
        self.guidance += recalled
        return recalled

    def news(self) -> tuple[Guidance, str]:
        """Recall guidance now; also return the lines of its text that are new."""
        known = self.guidance.text.split("\n")
        recalled = self.advised()
        return recalled, "\n".join(line for line in recalled.text.split("\n") if line and line not in known)

    def trajectory(self, outcome: Outcome) -> Trajectory:
        """The record so far, with this outcome; if demonstrations were replaced, each set with its first step."""
        shown = [{"from": step, "ids": list(ids)} for step, ids in self.shown]
        replaced = {"demonstrations": shown} if len(shown) > 1 else {}
        return Trajectory(
            task_id=self.task.id,
            task=self.task.text,
            category=self.task.category,
            agent=self.agent,
            steps=tuple(self.steps),
            outcome=outcome,
            guidance=self.guidance.text,
            guidance_blocks=self.guidance.blocks,
            lesson_ids=tuple(lesson.id for lesson in self.guidance.lessons),
            demonstration_ids=tuple(t.id for t in self.guidance.demonstrations),
            messages=tuple(self.messages),
            usage=self.usage,
            meta={"invalid": self.invalid, **replaced, **deepcopy(self.meta)},
        )

    def outcome(self) -> Outcome:
        """The outcome according to the environment; success is None if the environment says it is unknown."""
        success, answer = self.info.get("success"), str(self.info.get("answer", ""))
        if success is not None:
            return Outcome(success=bool(success), reward=float(bool(success)), reason="answered", answer=answer)
        if "success" in self.info and (self.over or answer):
            return Outcome(reason="answered" if answer else "halted", answer=answer)
        return Outcome(success=False, reward=0.0, reason="step_limit", answer=answer)


def attempt(
    agent: str,
    task: Task,
    env: Environment,
    guidance: Guidance,
    body: Callable[[Recorder, str, dict[str, Any]], Outcome | None],
    advise: Advise | None = None,
) -> Trajectory:
    """Make one attempt of the agent of this name, and return its trajectory.

    `body` makes the attempt, given the recorder, the first observation and its info; it returns the outcome, or None to
    take the environment's.

    Raises:
        BudgetExceeded: the budget of the run is used up (a used-up budget of the episode is an outcome).
    """
    recorder = Recorder(agent, task, env, guidance, advise)
    try:
        with _blamed(task):
            observation, info = env.reset(task)
            _check(observation, info)
        outcome = body(recorder, observation, info) or recorder.outcome()
    except BudgetExceeded as error:
        if error.scope == "run":
            raise
        outcome = Outcome(success=False, reward=0.0, reason="budget", detail=str(error))
    except ContextLengthError as error:
        outcome = Outcome(success=False, reward=0.0, reason="context", detail=str(error))
    except (InfrastructureError, RefusedError) as error:
        if isinstance(error, RefusedError):
            recorder.meta["refused"] = True
        outcome = Outcome(reason="error", detail=str(error))
    return recorder.trajectory(outcome)


def placed(beginning: Sequence[Message], text: str, system: bool) -> tuple[list[Message], str]:
    """The messages before the task, and the guidance for the task's message: "" if the system prompt has it."""
    first, *rest = beginning
    if not (text and system):
        return [first, *rest], text
    return [{**first, "content": f"{first['content'].rstrip()}\n\n{text}"}, *rest], ""


def _check(observation: object, info: object, reward: object = 0.0) -> None:
    """Raise a TypeError that names the first of an environment's return values with a wrong type."""
    if not isinstance(observation, str):
        raise TypeError(f"an observation should be a text, and is a {type(observation).__name__}")
    if not isinstance(info, Mapping):
        raise TypeError(f"the info should be a dict, and is a {type(info).__name__}")
    choices = info.get("choices") or ()
    if not isinstance(choices, list | tuple) or not all(isinstance(choice, str) for choice in choices):
        raise TypeError(f"info['choices'] should be a list of texts, and is {choices!r:.100}")
    for number in (reward, info.get("reward") or 0.0):
        if not isinstance(number, SupportsFloat) or not math.isfinite(number):
            raise TypeError(f"a reward should be a finite number, and is {number!r:.100}")


@contextmanager
def _blamed(task: Task) -> Iterator[None]:
    """Turn an environment's own exception into an infrastructure error, which ends the attempt but not the run."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SeasonedError) and not isinstance(error, DataError):
            raise
        problem = error if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        raise InfrastructureError(f"the environment failed at the task {task.id}: {problem}") from error
