"""A made-up run of EMOJI with private codes: rows, lessons and whole conversations, the same at every call."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from seasoned.lab.report.build import build
from seasoned.lab.report.measures import Row
from seasoned.lab.report.summary import Summary
from seasoned.types import Lesson, Outcome, Step, Trajectory, Usage

MEANING = {"joy": "ka", "fear": "zu", "anger": "mo", "sadness": "li", "disgust": "ve", "shame": "ro", "guilt": "pe"}
TEXTS = {
    "joy": "My sister called to say the twins were born and everybody was well.",
    "fear": "The lift stopped between two floors and the light went out.",
    "anger": "He parked across my gate for the third time this week.",
    "sadness": "I packed the last box in my grandmother's kitchen.",
    "disgust": "Something had died behind the fridge, and I found it with my hand.",
    "shame": "I read out the wrong name at the ceremony, twice.",
    "guilt": "I told her I was ill and went to the concert instead.",
}
RATES = {"disabled": 0.25, "few-shot": 0.32, "positive": 0.55, "negative": 0.5}
RUN = {
    "id": "2031-04-05T101112-emoji-3f9c",
    "name": "emoji",
    "benchmark": "emoji",
    "model": "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
    "seeds": [0, 1],
    "started": "2031-04-05T10:11:12+00:00",
    "finished": "2031-04-05T10:17:40+00:00",
    "version": "0.1.0",
}


@pytest.fixture(scope="session")
def make_row() -> Callable[..., Row]:
    def make(condition: str = "disabled", task_id: str = "t0", **fields: Any) -> Row:
        given = {
            "run_id": "r",
            "benchmark": "emoji",
            "seed": 0,
            "split": "test",
            "task": "a task",
            "reason": "answered",
        }
        return Row(**{**given, "condition": condition, "task_id": task_id, **fields})

    return make


@pytest.fixture(scope="session")
def retried(make_row: Callable[..., Row]) -> list[Row]:
    """Twelve tasks in two folds: `react` once, `retry` and `reflexion` up to four times, and a gathering with retries.

    Reflexion solves 4, 6, 7 and 7 of them; retrying solves 4, 4, 5 and 5. What stays unsolved runs in a loop (tasks 7
    and 8), out of steps (9 and 10), or gives a wrong answer (11).
    """
    solved_in = {
        "react": [0] * 4 + [9] * 8,
        "retry": [0] * 4 + [2] + [9] * 7,
        "reflexion": [0] * 4 + [1, 1, 2] + [9] * 5,
        "training": [0] * 5 + [3] + [9] * 6,
    }
    why = {7: "loop", 8: "loop", 9: "step_limit", 10: "step_limit"}
    rows = []
    for condition, at in solved_in.items():
        for i in range(12):
            last = 0 if condition == "react" else min(at[i], 3)
            for trial in range(last + 1):
                won = trial == at[i]
                row = make_row(
                    condition,
                    f"t{i}",
                    split="train" if condition == "training" else "test",
                    benchmark="alfworld",
                    fold=i % 2,
                    category=("put", "clean")[i % 2],
                    success=won,
                    reason="won" if won else why.get(i, "answered"),
                    trial=trial,
                    turns=5 + trial,
                    trajectory_id=f"{condition}-{i}-{trial}",
                    usage=Usage(prompt_tokens=100, completion_tokens=10, calls=5),
                )
                rows.append(row)
    return rows


@pytest.fixture(scope="session")
def retried_summary(retried: list[Row]) -> Summary:
    return build(retried, run={"benchmark": "alfworld", "method": "reflexion"}, baseline="react")


@pytest.fixture(scope="session")
def guided(make_row: Callable[..., Row]) -> tuple[list[Row], list[Lesson], list[Trajectory]]:
    """A shop of ERL: eight tasks of two kinds, of which react solves 2 and erl 6; two attempts to learn from.

    A trajectory is a transcript of 10 tokens, and two of them are shown; of heuristics 15 tokens to erl-matched, 30 to
    the others.
    """
    solved = {"react": 2, "few-shot-trajectories": 3, "erl-matched": 4, "erl": 6, "erl-success": 5, "erl-failure": 1}
    rows = [
        make_row("training", f"old{i}", split="train", category="put", success=not i, trajectory_id=f"old{i}")
        for i in range(2)
    ]
    made = [Trajectory(id=f"old{i}", task_id=f"old{i}", task="t", steps=(Step(action="a" * 23),)) for i in range(2)]
    for condition, n in solved.items():
        for i in range(8):
            name = f"{condition}-{i}"
            rows.append(
                make_row(
                    condition,
                    f"t{i}",
                    benchmark="webshop",
                    category=("put", "clean")[i % 2],
                    success=i < n,
                    reward=1.0 if i < n else 0.25,
                    turns=3 + i % 2,
                    trajectory_id=name,
                )
            )
            shown = ("old0", "old1") if condition == "few-shot-trajectories" else ()
            told = "x" * {"react": 0, "few-shot-trajectories": 0, "erl-matched": 60}.get(condition, 120)
            made.append(Trajectory(id=name, task_id=f"t{i}", task="t", guidance=told, demonstration_ids=shown))
    lessons = [
        Lesson(kind="heuristic", text="x", category="put", sources=(f"old{i}",), data={"success": not i})
        for i in range(2)
    ]
    return rows, lessons, made


@pytest.fixture(scope="session")
def guided_summary(guided: tuple[list[Row], list[Lesson], list[Trajectory]]) -> Summary:
    rows, lessons, made = guided
    return build(rows, run={"benchmark": "webshop"}, baseline="react", lessons=lessons, trajectories=made)


@pytest.fixture
def swept(make_row: Callable[..., Row]) -> Callable[..., Summary]:
    """Ten tasks, of which each condition solves as many as it is given."""

    def make(**solved: int) -> Summary:
        names = {name.replace("_", "-"): n for name, n in solved.items()}
        return build([make_row(name, f"t{i}", success=i < n) for name, n in names.items() for i in range(10)], run={})

    return make


def _episodes(make: Callable[..., Row], chance: random.Random) -> list[Row]:
    rows = []
    plan = [
        ("disabled", 0),
        ("few-shot", 0),
        *(("expnote", n) for n in (15, 30, 60)),
        ("positive", 60),
        ("negative", 60),
    ]
    for seed in (0, 1):
        for i in range(60):
            emotion = list(MEANING)[i % 7]
            shared: dict[str, Any] = {"seed": seed, "category": emotion, "gold": MEANING[emotion], "turns": 2}
            solved = chance.random() < 0.3
            shared["usage"] = Usage(prompt_tokens=500, cached_tokens=430, completion_tokens=40, calls=3, seconds=1.6)
            train = {"split": "train", "task": f"{TEXTS[emotion]} ({i})", "trajectory_id": f"train-{seed}-{i}"}
            rows.append(make("expnote", f"train{i}", success=solved, **train, **shared))
        for condition, trained_on in plan:
            for i in range(60):
                emotion = list(MEANING)[i % 7]
                rate = RATES.get(condition, 0.25 + 0.5 * (trained_on / 60) ** 0.6)
                success: bool | None = chance.random() < rate
                reason = "answered"
                if (condition, seed, i) in {("disabled", 1, 7), ("expnote", 0, 11)}:
                    success, reason = None, "error"
                if (condition, seed, i) == ("expnote", 1, 20):
                    success, reason = False, "budget"
                cached = 0 if i == 0 else 360
                usage = Usage(
                    prompt_tokens=380 + trained_on, cached_tokens=cached, completion_tokens=12, calls=1, seconds=0.4
                )
                used = () if condition in ("disabled", "few-shot") else (f"les-{seed}-{emotion}", f"les-{seed}-the")
                row = make(
                    condition,
                    f"test{i}",
                    seed=seed,
                    task=f"{TEXTS[emotion]} ({i})",
                    category=emotion,
                    gold=MEANING[emotion],
                    answer=MEANING[emotion] if success else "li",
                    success=success,
                    reward=None if success is None else float(success),
                    reason=reason,
                    trained_on=trained_on,
                    turns=1,
                    lesson_ids=used,
                    usage=usage,
                    trajectory_id=f"{condition}-{trained_on}-{seed}-{i}",
                )
                rows.append(row)
    return rows


@pytest.fixture(scope="session")
def rows(make_row: Callable[..., Row]) -> list[Row]:
    return _episodes(make_row, random.Random(5))


@pytest.fixture(scope="session")
def lessons(rows: list[Row]) -> list[Lesson]:
    found = []
    for seed in (0, 1):
        for i, (emotion, code) in enumerate(MEANING.items()):
            text = f"{code} stands for {emotion}: look for words like those in “{TEXTS[emotion][:34]}…”"
            source = (f"train-{seed}-{i}", f"train-{seed}-{i + 7}")
            found.append(Lesson(id=f"les-{seed}-{emotion}", kind="note", key=code, text=text, sources=source))
        weak = Lesson(id=f"les-{seed}-the", kind="note", key="the", text="the", sources=(f"train-{seed}-20",))
        found += [weak, Lesson(id=f"les-{seed}-never", kind="note", key="مرحبا", text="لا أحد يذكر هذا 🦉")]
    return found


@pytest.fixture(scope="session")
def summary(rows: list[Row], lessons: list[Lesson]) -> Summary:
    return build(rows, run=RUN, lessons=lessons)


@pytest.fixture(scope="session")
def tell(rows: list[Row]) -> Callable[[str], Trajectory]:
    """The whole conversation behind a row, by its trajectory id."""
    known = {row.trajectory_id: row for row in rows}

    def one(trajectory_id: str) -> Trajectory:
        row = known[trajectory_id]
        options = "ka zu mo li"
        notes = (
            "\n".join(f"- {one_id.rsplit('-', 1)[-1]}" for one_id in row.lesson_ids) or "Nothing was noted for this."
        )
        said = f"THINK[The writer feels {row.category}.]\nANSWER[{row.answer}]"
        messages = (
            {
                "role": "system",
                "content": "You choose the code that fits a text.\n" + "Reply with commands only.\n" * 4,
            },
            {"role": "user", "content": f"Notes:\n{notes}\n\nText: {row.task}\nCodes: {options}"},
            {"role": "assistant", "content": said},
            {"role": "user", "content": "Right." if row.solved else "Wrong."},
        )
        outcome = Outcome(success=row.success, reward=row.reward, reason=row.reason, answer=row.answer)
        return Trajectory(
            id=trajectory_id,
            task_id=row.task_id,
            task=row.task,
            category=row.category,
            agent="dialogue",
            messages=messages,
            outcome=outcome,
            lesson_ids=row.lesson_ids,
            usage=row.usage,
        )

    return one
