"""How text is written: for a terminal or page, for a prompt, an attempt as a transcript, and the words of a text.

Always holds: what is shown to a person has no control characters, half characters or marks that turn the direction of
what follows; what goes into a prompt is put in as a value, never as a template, and one line of it cannot pass for
several; a transcript with a limit is never longer; words are folded in one way, so that what was written is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from seasoned.types import Guidance, Step, Trajectory

if TYPE_CHECKING:
    import jinja2

UNKNOWN = "\N{EM DASH}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
CAP = 600
"""Characters of a line in a prompt, where nothing else is said."""
WORDS_CAP = 300
"""Characters of a text that `split` looks at."""
TOKEN = 4
"""Characters that count as one token here: a cheap estimate, right within a third for English prose."""

LIMIT = 20_000
"""Characters of a reply that its readers look at, after its thinking."""

_TASK_CAP = 4000  # characters of a task; and of each part of a step, where the whole has a limit
_ROOMY = 8 * _TASK_CAP  # characters: with a greater limit no part is cut for being long alone
_LEAST = 24  # characters that are left of a line that is cut
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Unassigned characters that stay so, or that Unicode keeps for what nobody sees; beside these, the last two of every
# 65,536.
_NEVER = ((0x2065, 0x2065), (0xFDD0, 0xFDEF), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))
_PAPERS = {
    "act": "Act",
    "autoguide": "AutoGuide",
    "cot": "CoT",
    "erl": "ERL",
    "expel": "ExpeL",
    "expnote": "ExpNote",
    "react": "ReAct",
    "reflexion": "Reflexion",
    "teachme": "TeachMe",
}
_CONSIDERED = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_CONSIDERED_TO = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)  # a chat template opened the block
_SEPARATORS = re.compile(r"[\s,;:/|.!?\"'()\[\]{}<>“”‘’„«»…*_`~]+")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


def clean(text: object) -> str:
    """Text for a person, that leads no terminal or browser astray; line ends become newlines, tabs stay."""
    unified = str(text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _DIRECTION.sub("", unified))


def cut(text: object, limit: int) -> str:
    """At most `limit` characters of it, then how many were left out."""
    whole = str(text)
    if len(whole) <= limit:
        return clean(whole)
    return f"{clean(whole[:limit])}{ELLIPSIS} [{len(whole) - limit:,} characters left out]"


def one_line(text: object, limit: int = 80) -> str:
    """A single line for a person, of at most `limit` characters, an ellipsis included."""
    # Far more than a line is never looked at, however long the text is.
    line = " ".join(clean(str(text)[: 8 * limit + 64]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + ELLIPSIS


def label(name: object) -> str:
    """A condition's name as its paper writes it: `expnote-merge` becomes ExpNote-merge."""
    parts = re.split(r"([-_+ ]+)", one_line(name, 48))
    return "".join(_PAPERS.get(part.lower(), part) for part in parts)


def count(number: int | None) -> str:
    """A count in a narrow column: 912, 45.6k, 1.21M."""
    if number is None:
        return UNKNOWN
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.3g}k" if number < 99_950 else f"{number / 1000:.0f}k"
    return f"{number / 1e6:.2f}M" if number < 999_500_000 else f"{number / 1e9:.2f}G"


def storable(text: str) -> str:
    """The text as it can be sent and stored: lone surrogates and NUL become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def without_thinking(text: str) -> str:
    """A reply without what the model considered in `<think>` before it."""
    return _CONSIDERED_TO.sub("", _CONSIDERED.sub("\n", text))


@cache
def _environment(package: str) -> jinja2.Environment:
    import jinja2

    def source(name: str) -> str | None:
        file = resources.files(package) / "prompts" / name
        return file.read_text(encoding="utf-8") if file.is_file() else None

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(source),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def render_prompt(package: str, name: str, **values: Any) -> str:
    """Render `prompts/<name>` of a package with values; a missing value raises, a value is never a template."""
    return _environment(package).get_template(name).render(**values).strip()


def prompt_line(text: str, limit: int = CAP) -> str:
    """One line for a prompt, without control characters, cut at `limit` characters with an ellipsis.

    Joiners and direction marks of real scripts and emoji stay (category Cf), and characters that are younger than this
    Python, such as new emoji; other control characters go.
    """
    flat = " ".join(text.split())
    if not flat.isprintable():
        flat = " ".join("".join(c for c in flat if c == " " or _is_shown(c)).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + ELLIPSIS


def prompt_line_ends(text: str, limit: int) -> str:
    """`prompt_line`, but of a text that is too long the middle is left out: what is asked often stands at its end."""
    flat = prompt_line(text, len(text) + 1)
    if len(flat) <= limit:
        return flat
    tail = max((limit - 3) // 2, 0)
    return prompt_line(f"{flat[: max(limit - 3 - tail, 0)].rstrip()} … {flat[len(flat) - tail :].lstrip()}", limit)


def _is_shown(char: str) -> bool:
    category = unicodedata.category(char)
    if category != "Cn":
        return category not in ("Cc", "Cs", "Co")
    number = ord(char)
    return number & 0xFFFE != 0xFFFE and not any(first <= number <= last for first, last in _NEVER)


def tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // TOKEN)


def guidance_tokens(guidance: Guidance) -> int:
    """About how many tokens guidance has: its text, and as transcripts the demonstrations that are not in the text."""
    return tokens(guidance.text) + sum(tokens(transcript(one)) for one in not_in_text(guidance))


def not_in_text(guidance: Guidance) -> list[Trajectory]:
    """The demonstrations that the text does not show. An entry without ids shows those whose task it holds."""
    entries = [entry for block in guidance.blocks for entry in block.entries]
    named = {demonstration_id for entry in entries for demonstration_id in entry.demonstration_ids}
    plain = "\n".join(entry.text for entry in entries if not (entry.lesson_ids or entry.demonstration_ids))
    return [one for one in guidance.demonstrations if one.id not in named and prompt_line(one.task) not in plain]


def transcript(trajectory: Trajectory, *, limit: int | None = None, cap: int | None = None, task: bool = True) -> str:
    """The attempt as lines of "Task: ..", "Thought: ..", "Action: .." and "Observation: ..", empty ones left out.

    Args:
        trajectory: the attempt; how it ended is not told.
        limit: at most so many characters in all; the attempt is shortened to that, see `shorten_trajectory`.
        cap: at most so many characters of each thought, action and observation; by default 600, or 4,000 where there
            is a limit, as that takes from the longest what is too much, or all of a limit of more than 32,000.
        task: whether the task's text stands first.
    """
    if cap is None:
        cap = CAP if limit is None else _TASK_CAP if limit <= _ROOMY else limit
    if limit is not None:
        trajectory = shorten_trajectory(trajectory, limit, cap=cap, task=task)
    lines = [f"Task: {prompt_line_ends(trajectory.task, max(cap, _TASK_CAP))}"] if task else []
    lines += [line for step in trajectory.steps for line in step_lines(step, cap)]
    text = "\n".join(lines)
    return text if limit is None else text[: max(limit, 0)]


def step_lines(step: Step, cap: int = CAP) -> list[str]:
    """A step as up to three lines."""
    parts = (("Thought", step.thought), ("Action", step.action), ("Observation", step.observation))
    return [f"{label}: {line}" for label, text in parts if (line := prompt_line(text, cap))]


def shorten_trajectory(trajectory: Trajectory, limit: int, *, cap: int = _TASK_CAP, task: bool = True) -> Trajectory:
    """The same attempt with less text, so that its transcript has at most `limit` characters where that can be.

    The longest observations are cut first, all to one length; then the thoughts, then the middle of the task; then
    steps in the middle are left out, and a line says how many. (Reflexion's code cuts observations too, and knows no
    second step.)

    Args:
        trajectory: what is to be shortened; it is returned as it is where it fits.
        limit: characters of the transcript.
        cap: as in `transcript`.
        task: as in `transcript`.

    Returns:
        A trajectory with the same id, task id and outcome.
    """

    def over() -> int:
        return len(transcript(trajectory, cap=cap, task=task)) - limit

    for field in ("observation", "thought"):
        if (excess := over()) > 0:
            trajectory = trajectory.model_copy(update={"steps": _cut(trajectory.steps, field, excess, cap)})
    if task and (excess := over()) > 0:
        longest = max(cap, _TASK_CAP)
        kept = max(len(prompt_line_ends(trajectory.task, longest)) - excess, limit // 2, _LEAST)
        trajectory = trajectory.model_copy(update={"task": prompt_line_ends(trajectory.task, min(kept, longest))})
    if (excess := over()) > 0:
        trajectory = trajectory.model_copy(update={"steps": _thin(trajectory.steps, excess, cap)})
    return trajectory


def _cut(steps: Sequence[Step], field: Literal["observation", "thought"], excess: int, cap: int) -> tuple[Step, ...]:
    """The steps with the field cut to the greatest length that saves `excess` characters, or else to the least one."""
    lengths = [len(prompt_line(getattr(step, field), cap)) for step in steps]
    low, high = _LEAST, max(lengths, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(length - middle for length in lengths if length > middle) >= excess:
            low = middle
        else:
            high = middle - 1
    return tuple(step.model_copy(update={field: prompt_line(getattr(step, field), min(low, cap))}) for step in steps)


def _thin(steps: Sequence[Step], excess: int, cap: int) -> tuple[Step, ...]:
    """The steps without as many in the middle as it takes to save `excess` characters; the first and the last stay."""
    size = [sum(len(line) + 1 for line in step_lines(step, cap)) for step in steps]
    for count in range(2, len(steps) - 1):
        start = max(1, min((len(steps) - count) // 2, len(steps) - 1 - count))
        mark = Step(observation=f"({count} steps are left out here)")
        saved = sum(size[start : start + count]) - len(step_lines(mark)[0]) - 1
        if saved >= excess or count == len(steps) - 2:
            return (*steps[:start], mark, *steps[start + count :])
    return tuple(steps)


def fold(text: str) -> str:
    """Lower-case text in one Unicode form, so that what looks alike compares alike."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def split_words(text: str) -> list[str]:
    """The folded words of a text in order. Symbols such as emoji are words of their own when spaces part them."""
    return [word for word in _SEPARATORS.split(fold(text)) if word]


def same_words(text: str) -> str:
    """The words of a text, so that texts compare equal whatever their case and marks; "" where it has none."""
    return " ".join(words_of(text))


def holds_words(text: str, other: str) -> bool:
    """Whether all words of another text stand in this one, in a row: it is a copy, whatever stands around it."""
    words = same_words(other)
    return bool(words) and f" {words} " in f" {same_words(text)} "


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """The folded words of a text, as far as an insight may go; of Chinese, Japanese and Korean each character."""
    plain = len(text) <= WORDS_CAP and text.isascii() and text.isprintable()  # then it is a line for a prompt already
    return tuple(_WORD.findall(text.lower() if plain else fold(prompt_line(text, WORDS_CAP))))


def all_words(text: str) -> tuple[str, ...]:
    """The folded words of a text of any length."""
    return tuple(_WORD.findall(fold(prompt_line(text, len(text)))))
