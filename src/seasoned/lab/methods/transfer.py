"""Insights of one family of tasks, adapted to another one (ExpeL, section 4.4).

Always holds: no reply raises; the data of an adapted insight names the original insights; it has no sources, since it
comes from no attempt at the new tasks.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from seasoned.asking import ask
from seasoned.llm.structured import closed_object
from seasoned.protocols import LLM
from seasoned.replies.forms import json_entries, said
from seasoned.replies.operations import INSIGHT_CHARS
from seasoned.text import TOKEN, prompt_line, render_prompt, same_words, transcript
from seasoned.types import Lesson, Message, Trajectory

log = logging.getLogger(__name__)

_LINE = re.compile(
    r"[\s>*_`#-]{0,8}(?:insight\s{0,2})?(?P<number>\d{1,3})[*_`]{0,3}\s{0,2}[.):：][\s*_`]{0,6}(?P<text>\S.*)",
    re.IGNORECASE,
)


def transfer(
    llm: LLM,
    insights: Sequence[Lesson],
    *,
    source_about: str,
    target_about: str,
    examples: Sequence[Trajectory] = (),
    max_insights: int = 10,
    max_tokens: int = 1000,
    room: int = 2000,
) -> list[Lesson]:
    """Adapt insights to another family of tasks (paper section 4.4 and table 1).

    Args:
        llm: the model.
        insights: of the old tasks; only active ones are used, the most important first.
        source_about: describes the old tasks in a few sentences.
        target_about: describes the new tasks.
        examples: worked attempts at new tasks, or none.
        max_insights: the most adapted insights.
        max_tokens: of a reply.
        room: tokens that the examples may take together (a quarter of their characters).

    Returns:
        New insights in no pool yet, in the reply's order, with the origin "transfer" and the originals' importance.

    Raises:
        LLMError: any error of the model, except for a reply of the wrong form.
    """
    active = sorted((lesson for lesson in insights if lesson.status == "active"), key=lambda lesson: -lesson.importance)
    if not active:
        log.warning("there are no insights to adapt")
        return []
    values = {
        "source_about": prompt_line(source_about, 1000),
        "target_about": prompt_line(target_about, 1000),
        "insights": [prompt_line(lesson.text) for lesson in active],
    }

    def prompt(room: int, structured: bool = True) -> list[Message]:
        system = render_prompt("seasoned.lab.methods", "transfer_system.j2", structured=structured, most=max_insights)
        shown = [transcript(example, limit=TOKEN * room // len(examples)) for example in examples]
        case = render_prompt("seasoned.lab.methods", "transfer.j2", **values, examples=shown)
        return [{"role": "system", "content": system}, {"role": "user", "content": case}]

    answer = ask(
        llm,
        prompt,
        room if examples else 0,
        schema=_schema(len(active), max_insights),
        lines=partial(prompt, structured=False),
        max_tokens=max_tokens,
    )
    if answer.problem:
        log.info("asked for lines instead of JSON: %s", answer.problem)
    adapted = _lessons(read_adapted(answer.value)[:max_insights], active)
    if not adapted:
        log.warning("the model adapted none of the %d insights", len(active))
    return adapted


def read_adapted(reply: Any) -> list[tuple[int, str]]:
    """(number, text) of each entry of a JSON value as in the schema; of a text, of each line that begins with a number.

    A text that should have no JSON and has some is read, too; the number is 0 if an object has none. No text raises.
    """
    if not isinstance(reply, str):
        return [(entry["number"], entry["text"]) for entry in reply]
    text = said(reply)
    if begins := re.search(r"[\[{]", text):
        entries = [one for one in json_entries(text[begins.start() :], ("text",)) if isinstance(one, dict)]
        adapted = [(_number(one.get("number")), " ".join(str(one.get("text") or "").split())) for one in entries]
        if adapted:
            return adapted
    lines = (_LINE.match(line) for line in text.split("\n"))
    return [(int(line["number"]), line["text"].strip(" *_`")) for line in lines if line]


def _number(value: object) -> int:
    digits = re.fullmatch(r"\s*(\d{1,3})\s*", str(value))
    return int(digits[1]) if digits else 0


def _schema(insights: int, most: int) -> dict[str, Any]:
    properties = {
        "number": {"type": "integer", "minimum": 1, "maximum": insights},
        "text": {"type": "string", "minLength": 1, "maxLength": INSIGHT_CHARS},
    }
    return {"type": "array", "maxItems": most, "items": closed_object(properties)}


def _lessons(entries: Sequence[tuple[int, str]], sources: Sequence[Lesson]) -> list[Lesson]:
    by_words: dict[str, Lesson] = {}
    for number, text in entries:
        words = same_words(text)
        if not words or words in by_words:
            continue
        # Without a valid number, the insight counts as adapted from all.
        origins = [sources[number - 1]] if 1 <= number <= len(sources) else list(sources)
        by_words[words] = Lesson(
            kind="insight",
            text=prompt_line(text, INSIGHT_CHARS),
            importance=max(lesson.importance for lesson in origins),
            method="expel",
            origin="transfer",
            data={"from": [lesson.id for lesson in origins]},
        )
    return list(by_words.values())
