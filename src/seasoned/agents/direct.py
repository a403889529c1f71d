"""Agents that answer in one reply: zero-shot, few-shot and chain of thought (ExpNote, table 1).

Always holds: one model call per attempt; constant examples before the case; guidance below the case or at the end of
the system prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from seasoned.agents.dialogue import offered
from seasoned.agents.recorder import Recorder, attempt, placed
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.turns import split_reasoning
from seasoned.text import render_prompt
from seasoned.types import Example, Guidance, Message, Task, Trajectory


@dataclass(frozen=True)
class Direct:
    """One answer per case: `zero-shot`; `few-shot` with examples; `cot` with examples that show their reasoning.

    With `system`, guidance goes at the end of the system prompt.
    """

    llm: LLM
    instruction: str
    examples: Sequence[Example] = ()
    style: Literal["zero-shot", "few-shot", "cot"] = "zero-shot"
    max_tokens: int = 24
    reasoning_tokens: int = 160
    temperature: float = 0.0
    system: bool = False

    @property
    def name(self) -> str:
        """The agent's name in records."""
        return self.style

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt. See `seasoned.protocols.Agent`; it never asks for guidance again."""
        del advise

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> None:
            opening, below = placed(self.preamble(), guidance.text, self.system)
            recorder.messages.extend(opening)
            question = offered(observation, info.get("choices", ()))
            recorder.say("user", f"{question}\n{below}" if below else question)
            thought, answer = self._answer(recorder, info)
            recorder.act(f"ANSWER[{answer}]", thought)

        return attempt(self.name, task, env, guidance, body)

    def preamble(self) -> list[Message]:
        """Instruction and examples as a conversation."""
        messages: list[Message] = [{"role": "system", "content": _system_prompt(self.instruction, self.style)}]
        for example in self.examples if self.style != "zero-shot" else ():
            thought = f"{example.reasoning or example.thought}\nAnswer: " if self.style == "cot" else ""
            messages.append({"role": "user", "content": offered(example.question, example.choices)})
            messages.append({"role": "assistant", "content": f"{thought}{example.answer}"})
        return messages

    def _answer(self, recorder: Recorder, info: dict[str, Any]) -> tuple[str, str]:
        if self.style == "cot":
            text = recorder.ask(self.llm, max_tokens=self.reasoning_tokens, temperature=self.temperature).text
            return split_reasoning(text)
        choices = info.get("choices")
        answer = recorder.answer(self.llm, choices, max_tokens=self.max_tokens, temperature=self.temperature)
        return "", answer


@lru_cache(maxsize=64)
def _system_prompt(instruction: str, style: str) -> str:
    return render_prompt("seasoned.agents", "direct.j2", instruction=instruction, style=style)
