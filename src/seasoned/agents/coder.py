"""The agent that writes programs: it drafts, reads what its program raised, may look with a call, and writes again.

Always holds: nothing a model writes raises; a program reaches the environment as one action, without the fence around
it; constant text comes first and each turn only appends; what the environment tells of the library's calls is kept in
`meta["calls"]`, for a method to learn from, and what was wrong in `meta["verdict"]`, for a reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.agents.react import ended, reward
from seasoned.agents.recorder import Recorder, attempt, placed
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.programs import read_program
from seasoned.types import Guidance, Message, Outcome, Step, Task, Trajectory

NOTHING = "That was no program. Reply with the function alone."
NOTED = "Note in one line what to remember of one of the functions for other tasks. Begin with its name and a colon."
_STOPS = ("\n```\n", "\nprint(", "\nassert ", "\n# Test", "\nIt is called")


@dataclass(frozen=True)
class Coder:
    """Writes a program and improves it until the environment ends the attempt.

    Args:
        llm: the model.
        instruction: what kind of task it is.
        examples: worked attempts, where guidance brings no demonstrations.
        max_steps: programs and probes an attempt may take.
        program_tokens: longest reply.
        temperature: for every call.
        shots: at most so many examples are shown.
        notes: whether it writes a note after an attempt whose verdict it is told (for ExpNote).
        asks: whether it asks for guidance again after an error, for the functions that its draft uses.
        prompt_tokens: a prompt of more tokens ends the attempt; None or 0: only one that the model refuses does.
        system: whether guidance stands at the end of the system prompt.
    """

    llm: LLM
    instruction: str
    examples: Sequence[Trajectory] = ()
    max_steps: int = 3
    program_tokens: int = 200
    temperature: float = 0.0
    shots: int = 2
    notes: bool = False
    asks: bool = True
    prompt_tokens: int | None = None
    system: bool = False

    @property
    def name(self) -> str:
        """The agent's name in records."""
        return "coder"

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt. See `seasoned.protocols.Agent`."""
        calls: list[Any] = []
        kept: dict[str, Any] = {}

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> Outcome:
            shown = guidance.demonstrations or tuple(self.examples)[: self.shots]
            recorder.prompt_limit = self.prompt_tokens
            opening, beside = placed(self.preamble(shown), guidance.text, self.system)
            recorder.messages.extend(opening)
            recorder.shown.append((0, tuple(example.id for example in shown)))
            recorder.say("user", "\n\n".join(part for part in ("New task.", beside, observation) if part))
            outcome = self._write(recorder, calls)
            kept.update({"verdict": str(said)} if (said := recorder.info.get("verdict")) else {})
            return outcome

        made = attempt(self.name, task, env, guidance, body, advise if self.asks else None)
        kept.update({"calls": calls} if calls else {})
        return made.model_copy(update={"meta": {**made.meta, **kept}}) if kept else made

    def preamble(self, examples: Sequence[Trajectory]) -> list[Message]:
        """Instruction and examples as a conversation: of each example the program that was judged last."""
        messages: list[Message] = [{"role": "system", "content": self.instruction}]
        for example in examples:
            programs = [step for step in example.steps if step.action and not step.action.startswith((">>>", "NOTE["))]
            for step in programs[-1:]:
                # Of a worked example also what was known; an attempt of one's own is shown as its task and program.
                known = [example.guidance] if example.agent == "worked" and example.guidance else []
                messages.append({"role": "user", "content": "\n\n".join(["New task.", *known, example.task])})
                messages.append({"role": "assistant", "content": step.action})
        return messages

    def _write(self, recorder: Recorder, calls: list[Any]) -> Outcome:
        while len(recorder.steps) < self.max_steps:
            limits: dict[str, Any] = {"max_tokens": self.program_tokens, "temperature": self.temperature}
            reply = recorder.ask(self.llm, stop=_STOPS, **limits)
            action = read_program(reply.text)
            if not action:
                recorder.steps.append(Step(action="N/A", observation=NOTHING))
                recorder.invalid += 1
                recorder.say("user", NOTHING)
                continue
            recorder.messages[-1] = {"role": "assistant", "content": action}
            observation = recorder.act(action)
            told = recorder.info.pop("calls", None)
            calls.extend(told if isinstance(told, list) else [])
            if recorder.over:
                self._note(recorder, observation)
                return ended(recorder)
            recorder.say("user", observation)
            if self.asks:
                self._advised(recorder)
        return Outcome(success=False, reward=reward(recorder), reason="step_limit")

    def _advised(self, recorder: Recorder) -> None:
        """Show what is recalled now and did not stand there before."""
        known = recorder.guidance.text
        blocks = recorder.advised().blocks
        if news := [entry.text for block in blocks for entry in block.entries if entry.text not in known]:
            recorder.say("user", "\n".join(news))

    def _note(self, recorder: Recorder, observation: str) -> None:
        if not (self.notes and observation):
            return
        recorder.say("user", f"{observation}\n{NOTED}")
        said = recorder.ask(self.llm, stop=["\n"], max_tokens=60, temperature=self.temperature).text
        key, colon, value = said.strip().strip("`*- ").partition(":")
        if colon and value.strip():
            recorder.steps.append(Step(action=f"NOTE[{key.strip('`* ')}]: {value.strip()}", observation="OK."))
