"""The command dialogue of ExpNote: THINK and ANSWER, then NOTE if the answer is judged.

Two styles. `free`: the model writes the commands itself, as in the paper (section 3.2), and may look up notes with
RECALL. `guided`: each turn asks for one command and the model writes only its argument, which costs fewer tokens and
suits small models. Always holds: both record the same steps (`THINK[..]`, `ANSWER[..]`, `NOTE[key]: ..`); a command
in a thought is ignored; the same conversation with the worked cases comes before every case, so that a server's prefix
cache serves it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal

from seasoned.agents.recorder import Recorder, attempt, placed
from seasoned.errors import ParseError
from seasoned.llm.tools import say
from seasoned.protocols import LLM, Advise, Environment
from seasoned.replies.commands import RIGHT, WRONG, inert, parse, recall_words
from seasoned.text import prompt_line, render_prompt, without_thinking
from seasoned.types import Example, Guidance, Message, Task, Trajectory

NO_NOTES = "No relevant notes."
_TO_NOTE = "I note what this case shows, for later ones"
NOTES = {
    "type": "array",
    "items": {"type": "string", "pattern": '^[^:"\\\\]+: [^"\\\\]+$'},
    "minItems": 1,
    "maxItems": 4,
}
"""The schema of a reply to NOTE: without it, a small model repeats the right answer and notes nothing."""


@dataclass(frozen=True)
class Dialogue:
    """An agent that thinks, answers and, after the verdict, notes what it learned.

    `notes` says where recalled notes go: with the case, or after the first thought, when `advise` recalls them. With
    `system`, the notes of the case go at the end of the system prompt instead (ERL, section 2). In the free style,
    `max_turns` limits the model replies, and `note_turns` is the number of commands after the verdict (the paper's n),
    of which worked cases show a thought first. Each worked case shows at most `example_notes` notes. `think_tokens`,
    `answer_tokens` and `note_tokens` limit the length of replies.
    """

    llm: LLM
    instruction: str
    think_hint: str = "what you make of the case."
    note_hint: str = ""
    examples: Sequence[Example] = ()
    style: Literal["guided", "free"] = "guided"
    notes: Literal["case", "thought"] = "case"
    max_turns: int = 10
    think_tokens: int = 80
    answer_tokens: int = 24
    note_tokens: int = 120
    temperature: float = 0.0
    system: bool = False
    note_turns: int | None = None
    example_notes: int | None = None

    @property
    def name(self) -> str:
        """The agent's name in records."""
        return f"dialogue-{self.style}"

    def run(self, task: Task, env: Environment, guidance: Guidance, advise: Advise | None = None) -> Trajectory:
        """Make one attempt (paper section 3.1). See `seasoned.protocols.Agent`."""
        talk = self._guided if self.style == "guided" else self._free

        def body(recorder: Recorder, observation: str, info: dict[str, Any]) -> None:
            opening, beside = placed(self.preamble(), guidance.text, self.system)
            recorder.messages.extend(opening)
            question = observation if self.style == "guided" else offered(observation, info.get("choices", ()))
            talk(recorder, question if guidance.text and not beside else self._case(question, beside), info)

        return attempt(self.name, task, env, guidance, body, advise)

    def preamble(self) -> list[Message]:
        """The beginning of every conversation: instruction and worked cases."""
        hints = {"instruction": self.instruction, "think_hint": self.think_hint, "note_hint": self.note_hint}
        system = render_prompt("seasoned.agents", f"dialogue_{self.style}.j2", **hints)
        messages: list[Message] = [{"role": "system", "content": system}]
        for example in self.examples:
            for message in self._example(example):
                say(messages, message["role"], message["content"])
        return messages

    def _guided(self, recorder: Recorder, question: str, info: Mapping[str, Any]) -> None:
        start = 0 if self.system else len(recorder.messages)
        recorder.say("user", f"{question}\nTHINK")
        thought = recorder.ask(self.llm, stop=["\n"], max_tokens=self.think_tokens, temperature=self.temperature).text
        recorder.act(_spell("THINK", "", prompt_line(thought)), thought)
        if not recorder.over:
            self._answer(recorder, start, info)

    def _answer(self, recorder: Recorder, start: int, info: Mapping[str, Any]) -> None:
        """Answer, and note what was learned if the answer is judged; recalled notes begin at the message `start`."""
        notes = recorder.advised().text if self.notes == "thought" else ""
        recorder.say("user", self._then(notes, "ANSWER", info.get("choices", ())))
        answer = recorder.answer(
            self.llm, info.get("choices"), max_tokens=self.answer_tokens, temperature=self.temperature
        )
        judged = recorder.act(f"ANSWER[{answer}]")
        if recorder.over:
            return
        shown = recorder.messages
        recorder.messages = self._unaided(shown, start, notes, recorder.guidance.text)
        recorder.say("user", f"{judged}\nNOTE")
        written, notes_dialogue = self._notes(recorder), recorder.messages[len(shown) :]
        recorder.messages = [*shown, *notes_dialogue]
        for note in written:
            key, _, value = note.partition(":")
            if not recorder.over and key.strip() and value.strip():
                recorder.act(_spell("NOTE", prompt_line(key), prompt_line(value)))
        if not recorder.over:
            recorder.act("END")

    def _unaided(self, messages: Sequence[Message], start: int, *recalled: str) -> list[Message]:
        """The conversation without recalled notes.

        A note should say what this case taught; a small model that sees older notes repeats them.
        """
        unaided = list(messages)
        for place in range(start, len(unaided)):
            if unaided[place]["role"] != "assistant":
                text = unaided[place]["content"]
                for notes in filter(None, recalled):
                    text = text.replace(notes, NO_NOTES)
                unaided[place] = {**unaided[place], "content": text}
        return unaided

    def _notes(self, recorder: Recorder) -> list[str]:
        """The notes that the model writes; none if its reply is not a list of them."""
        try:
            reply = recorder.ask(self.llm, schema=NOTES, max_tokens=self.note_tokens, temperature=self.temperature)
        except ParseError:
            return []
        return [str(note) for note in reply.parsed]

    def _free(self, recorder: Recorder, question: str, info: Mapping[str, Any]) -> None:
        del info
        recorder.say("user", question)
        notes_shown, left = self.notes == "case", self.note_turns
        for _ in range(self.max_turns):
            limit = max(self.think_tokens, self.answer_tokens, self.note_tokens)
            reply = recorder.ask(self.llm, max_tokens=limit, temperature=self.temperature).text
            commands = parse(reply)
            actions = [_spell(c.name, c.key, c.text) for c in commands] or [without_thinking(reply)]
            # After an answer or a question, the model has to wait for the reply: later commands do not count.
            ends = (n for n, action in enumerate(actions, 1) if action.startswith("ANSWER[") or recall_words(action))
            if (end := next(ends, len(actions))) < len(actions):
                actions = actions[:end]
                recorder.messages[-1] = {"role": "assistant", "content": "\n".join(actions)}
            observations = []
            for action in actions:
                if left is not None and any(step.action.startswith("ANSWER[") for step in recorder.steps):
                    if left == 0:
                        return
                    left -= 1
                observation = recorder.act(action)
                if recorder.over:
                    return
                query = recall_words(action)
                observations.append((recorder.advised().text or NO_NOTES) if query else observation)
            response = "\n".join(dict.fromkeys(o for o in observations if o)) or "OK."
            if notes_shown or any(map(recall_words, actions)):
                recorder.say("user", response)
            else:
                recorder.say("user", self._then(recorder.advised().text, response))
                notes_shown = True

    def _case(self, question: str, notes: str) -> str:
        """The first message of a case: the question, and its recalled notes unless they come later."""
        return question if self.notes == "thought" else f"{question}\n{notes or NO_NOTES}"

    def _then(self, notes: str, line: str, choices: Sequence[str] = ()) -> str:
        """The message after a thought: the offered answers, the notes if they are recalled now, and the next line."""
        lines = ["  ".join(choices)] if choices else []
        return "\n".join([*lines, notes or NO_NOTES, line] if self.notes == "thought" else [*lines, line])

    def _example(self, example: Example) -> list[Message]:
        guided, recalled, answer = self.style == "guided", _recalled(example), example.wrong or example.answer
        shown = example.notes[: self.example_notes]
        if guided:
            texts = [
                f"{self._case(example.question, recalled)}\nTHINK",
                example.thought,
                self._then(recalled, "ANSWER", example.choices),
                answer,
            ]
            notes = json.dumps([f"{key}: {value}" for key, value in shown], ensure_ascii=False)
        else:
            texts = [
                self._case(offered(example.question, example.choices), recalled),
                f"THINK[{example.thought}]",
                self._then(recalled, "OK."),
                f"ANSWER[{answer}]",
            ]
            notes = "\n".join([*(f"NOTE[{key}]: {value}" for key, value in shown), "END"])
        if example.notes and not guided and self.note_turns is not None:
            texts += [_judged(example), f"THINK[{_TO_NOTE}]", "OK.", notes]
        elif example.notes:
            texts += [f"{_judged(example)}\nNOTE" if guided else _judged(example), notes]
        return [
            {"role": role, "content": text} for role, text in zip(cycle(("user", "assistant")), texts, strict=False)
        ]


def offered(question: str, choices: Sequence[str]) -> str:
    """A question with the answers it offers, if any, on a line below."""
    return f"{question}\n{'  '.join(choices)}" if choices else question


def _spell(name: str, key: str, text: str) -> str:
    if name == "END":
        return "END"
    if name == "NOTE":
        return f"NOTE[{inert(key)}]: {text}"
    return f"ANSWER[{text}]" if name == "ANSWER" else f"{name}[{inert(text)}]"


def _recalled(example: Example) -> str:
    notes = "\n".join(f"- {key}: {value}" for key, value in example.recalled)
    return f"Notes from earlier cases:\n{notes}" if notes else ""


def _judged(example: Example) -> str:
    return WRONG.format(answer=example.answer) if example.wrong else RIGHT
