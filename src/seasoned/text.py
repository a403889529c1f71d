"""Text for terminals, pages and prompts; attempts as transcripts; and the words of a text.

Always holds: text for a person has no control characters, lone surrogates or marks that change the text direction; a
prompt takes text as a value, never as a template, and a value of one line cannot add lines; a transcript never exceeds
its limit; words are folded in one way, so that a search finds stored words.
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
"""Characters of a line in a prompt, by default."""
WORDS_CAP = 300
"""Characters of a text that `words_of` uses."""
TOKEN = 4
"""Characters that count as one token here: a cheap estimate, right within a third for English prose."""

LIMIT = 20_000
"""Characters of a reply that are parsed, not counting its thinking."""

_TASK_CAP = 4000  # characters of a task, and of each part of a step when the transcript has a limit
_ROOMY = 8 * _TASK_CAP  # characters: with a greater limit, no part is cut just because it is long
_LEAST = 24  # characters that a shortened line keeps
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Characters that Unicode never assigns, or reserves for what is never shown; so are the last two of every 65,536.
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
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)  # the chat template opened the block
_SEPARATORS = re.compile(r"[\s,;:/|.!?\"'()\[\]{}<>“”‘’„«»…*_`~]+")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


def clean(text: object) -> str:
    """Text that is safe to show in a terminal or browser; line ends become newlines, tabs stay."""
    unified = str(text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _DIRECTION.sub("", unified))


def cut(text: object, limit: int) -> str:
    """The first `limit` characters of a text, then how many were left out."""
    full = str(text)
    if len(full) <= limit:
        return clean(full)
    return f"{clean(full[:limit])}{ELLIPSIS} [{len(full) - limit:,} characters left out]"


def one_line(text: object, limit: int = 80) -> str:
    """The text as a single line for a person, of at most `limit` characters including the ellipsis."""
    # A long text is cut first, so that its length costs nothing.
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
    """Text that can be sent and stored: lone surrogates and NUL become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def without_thinking(text: str) -> str:
    """A reply without the model's thinking in `<think>`."""
    return _THINKING_END.sub("", _THINKING.sub("\n", text))


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
    """Render `prompts/<name>` of a package; a missing value raises, and a value is never read as a template."""
    return _environment(package).get_template(name).render(**values).strip()


def prompt_line(text: str, limit: int = CAP) -> str:
    """One line for a prompt, without control characters, cut at `limit` characters with an ellipsis.

    Joiners and direction marks of real scripts and emoji stay (category Cf), as do characters newer than this Python,
    such as new emoji. Other control characters are removed.
    """
    flat = " ".join(text.split())
    if not flat.isprintable():
        flat = " ".join("".join(c for c in flat if c == " " or _is_shown(c)).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + ELLIPSIS


def prompt_line_ends(text: str, limit: int) -> str:
    """As `prompt_line`, but leaves out the middle of a long text, since the question often stands at its end."""
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
    """About how many tokens guidance has: its text, and transcripts of the demonstrations that are not in the text."""
    return tokens(guidance.text) + sum(tokens(transcript(one)) for one in not_in_text(guidance))


def not_in_text(guidance: Guidance) -> list[Trajectory]:
    """The demonstrations that the text does not show. An entry without ids shows those whose task it contains."""
    entries = [entry for block in guidance.blocks for entry in block.entries]
    shown_ids = {demonstration_id for entry in entries for demonstration_id in entry.demonstration_ids}
    plain = "\n".join(entry.text for entry in entries if not (entry.lesson_ids or entry.demonstration_ids))
    return [one for one in guidance.demonstrations if one.id not in shown_ids and prompt_line(one.task) not in plain]


def transcript(trajectory: Trajectory, *, limit: int | None = None, cap: int | None = None, task: bool = True) -> str:
    """The attempt as lines of "Task: ..", "Thought: ..", "Action: .." and "Observation: ..", without empty ones.

    It has at most `limit` characters in all; `shorten_trajectory` shortens the attempt to that. `cap` limits each
    thought, action and observation: by default to 600 without a limit; with one to 4,000, since the limit then cuts the
    longest parts; with one above 32,000, to the limit itself.
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
    """A step in up to three lines."""
    parts = (("Thought", step.thought), ("Action", step.action), ("Observation", step.observation))
    return [f"{label}: {line}" for label, text in parts if (line := prompt_line(text, cap))]


def shorten_trajectory(trajectory: Trajectory, limit: int, *, cap: int = _TASK_CAP, task: bool = True) -> Trajectory:
    """Shorten an attempt so that its transcript has at most `limit` characters, where that is possible.

    The longest observations are cut first, all to one length; then the thoughts, then the middle of the task. Last,
    steps in the middle are left out, and a line says how many. (Reflexion's code cuts observations only.) The id, the
    task id and the outcome stay; `cap` and `task` are those of `transcript`.
    """

    def over() -> int:
        return len(transcript(trajectory, cap=cap, task=task)) - limit

    for field in ("observation", "thought"):
        if (excess := over()) > 0:
            trajectory = trajectory.model_copy(update={"steps": _cut(trajectory.steps, field, excess, cap)})
    if task and (excess := over()) > 0:
        longest = max(cap, _TASK_CAP)
        length = max(len(prompt_line_ends(trajectory.task, longest)) - excess, limit // 2, _LEAST)
        trajectory = trajectory.model_copy(update={"task": prompt_line_ends(trajectory.task, min(length, longest))})
    if (excess := over()) > 0:
        trajectory = trajectory.model_copy(update={"steps": _thin(trajectory.steps, excess, cap)})
    return trajectory


def _cut(steps: Sequence[Step], field: Literal["observation", "thought"], excess: int, cap: int) -> tuple[Step, ...]:
    """The steps with a field cut to the greatest length that saves `excess` characters, or else to the least length."""
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
    """The steps without enough of the middle ones to save `excess` characters; the first and the last stay."""
    size = [sum(len(line) + 1 for line in step_lines(step, cap)) for step in steps]
    for count in range(2, len(steps) - 1):
        start = max(1, min((len(steps) - count) // 2, len(steps) - 1 - count))
        mark = Step(observation=f"({count} steps are left out here)")
        saved = sum(size[start : start + count]) - len(step_lines(mark)[0]) - 1
        if saved >= excess or count == len(steps) - 2:
            return (*steps[:start], mark, *steps[start + count :])
    return tuple(steps)


def fold(text: str) -> str:
    """Lower-case text in one Unicode form, so that texts that look alike compare equal."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def split_words(text: str) -> list[str]:
    """The folded words of a text in order. Symbols such as emoji are words of their own between spaces."""
    return [word for word in _SEPARATORS.split(fold(text)) if word]


def same_words(text: str) -> str:
    """The words of a text, to compare texts whatever their case and punctuation; "" if it has none."""
    return " ".join(words_of(text))


def holds_words(text: str, other: str) -> bool:
    """Whether this text contains the words of another one in a row, so that it copies it."""
    words = same_words(other)
    return bool(words) and f" {words} " in f" {same_words(text)} "


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """The folded words of the first `WORDS_CAP` characters; Chinese, Japanese and Korean characters are words each."""
    plain = len(text) <= WORDS_CAP and text.isascii() and text.isprintable()  # then `prompt_line` would change nothing
    return tuple(_WORD.findall(text.lower() if plain else fold(prompt_line(text, WORDS_CAP))))


def all_words(text: str) -> tuple[str, ...]:
    """The folded words of a text of any length."""
    return tuple(_WORD.findall(fold(prompt_line(text, len(text)))))
