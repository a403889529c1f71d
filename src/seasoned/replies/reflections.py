"""Reads the reflection in a model's reply: a plan for the next attempt after a failure.

Always holds: no reply raises, and a reflection is one line of at most `REFLECTION_CHARS` characters.
"""

from __future__ import annotations

import re

from seasoned.replies.forms import said
from seasoned.text import prompt_line

REFLECTION_CHARS = 800
"""The most characters of a reflection."""
# From here on, the model invents another attempt.
_INVENTED = re.compile(
    r"^[ \t*_#>]{0,8}(?:(?:task|observation)[ \t*_]{0,4}\d{0,3}[ \t*_]{0,4}[:：]|the attempt failed\.?[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
_LABEL = re.compile(
    r"[\s*_#>\"“-]{0,12}(?:(?:my|the|new|next|revised|updated|short|improved)\s){0,3}(?:plan|reflection|lesson|strategy)"
    r"[ \t*_]{0,4}\d{0,3}[ \t*_]{0,4}[:：\n][\s*_\"“]{0,8}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


def read_reflection(text: str, *, whole: bool = True, longest: int = REFLECTION_CHARS) -> str:
    """The reflection in a reply, as one line of at most `longest` characters; "" if there are hardly any words.

    Leaves out thinking, markdown, a label such as "Plan:", an invented second attempt, and repeated sentences; of a
    reply that was cut off (not `whole`), also an unfinished last sentence, unless it is the only one.
    """
    plain = said(text)
    invented = _INVENTED.search(plain)
    plain = plain[: invented.start()] if invented else plain
    label = _LABEL.match(plain)
    plain = prompt_line(plain[label.end() :] if label else plain, 2 * longest).replace("**", "").strip('"“”*_` ')
    sentences = list(dict.fromkeys(part for part in _SENTENCE.split(plain) if part))
    if not whole and len(sentences) > 1 and sentences[-1][-1] not in ".!?。！？":
        sentences.pop()
    reflection = prompt_line(" ".join(sentences), longest)
    letters = [char for char in reflection.casefold() if char.isalpha()]
    return reflection if len(letters) >= 8 and len(set(letters)) >= 4 else ""
