"""What the benchmarks of programs share: the environment that runs them, and how they are judged.

Always holds: a program runs only in the sandbox; its process gets no hidden answers or tests, and hidden inputs only as
arguments of its function; a program that fails in any way is wrong; a sandbox that fails is an infrastructure error.
"""

from __future__ import annotations

import ast
import atexit
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from seasoned.lab.benchmarks.act import WRITTEN
from seasoned.lab.benchmarks.base import PROMPTS, Benchmark, Check, read_toml
from seasoned.methods.facts import HEADING
from seasoned.sandbox import Fault, Library, Ran, Sandbox
from seasoned.text import cut, prompt_line
from seasoned.types import Outcome, Step, Task, Trajectory

CODE_OPTIONS: dict[str, Any] = {"probes": 1, "drafts": 2, "unsafe": False}
"""The number of probes and drafts of an attempt, and `unsafe`: run programs without a sandbox if none works."""

PROBE = ">>>"
RIGHT = "Right."
SECONDS = 4.0
_SHOWN = 200
_WORDS = read_toml(PROMPTS / "code.toml")


@dataclass(frozen=True)
class Verdict:
    """Whether a program is right, the fault in a sentence, and the result of its run."""

    right: bool
    says: str = ""
    ran: Ran | None = None


def code_benchmark(
    name: str,
    pools: tuple[tuple[Task, ...], tuple[Task, ...]],
    libraries: Sequence[Library],
    options: Mapping[str, Any],
    source: str,
) -> Benchmark:
    """A benchmark whose tasks ask for a program, with or without a library."""
    libraries = tuple(libraries)
    limits = (options["drafts"], options["probes"], options["unsafe"])
    return Benchmark(
        name=name,
        instruction=" ".join(_WORDS["instruction"].split()),
        train=pools[0],
        test=pools[1],
        max_turns=options["drafts"] + options["probes"],
        make_env=lambda reveal: CodeEnvironment(libraries or (Library(),), reveal, *limits),
        source=source,
        manner="act",
        trajectories=worked(name) if libraries else (),
        about=" ".join(_WORDS["about"].split()),
        programs=True,
        libraries=libraries,
    )


def program_task(
    name: str, prompt: str, entry: str, *, hidden: Sequence[str], visible: Sequence[str], reference: str = ""
) -> Task:
    """A task to complete a function.

    Args:
        name: the task's id.
        prompt: imports, helpers and the function's head with its docstring; it runs before the program.
        entry: the function's name.
        hidden: statements that judge the program.
        visible: statements that an attempt may see.
        reference: a right program; "" if none is known.
    """
    data = {"entry": entry, "setup": prompt, "hidden": list(hidden), "visible": list(visible), "answer": reference}
    return Task(id=name, text=f"Complete this function:\n\n{prompt.strip()}", data=data)


def check_references(tasks: Sequence[Task], source: str, *, unsafe: bool) -> Check:
    """Run each task's reference solution; without one, check that a function that returns None fails."""
    problems: list[str] = []
    with Sandbox(Library(), unsafe=unsafe) as sandbox:
        for task in tasks:
            reference = str(task.data.get("answer") or "")
            verdict = judged(sandbox, task, reference or f"def {task.data['entry']}(*args, **named):\n    return None")
            if verdict.right is bool(reference) and verdict.ran and verdict.ran.tests:
                continue
            fault = f"the tests of {task.id} do not detect a function that returns None"
            if reference:
                fault = f"the reference solution of {task.id} fails"
            problems.append(f"{fault}: {verdict.says}" if verdict.says else fault)
    without = sum(not task.data.get("answer") for task in tasks)
    facts = (f"{without} tasks have no reference solution; a function that returns None has to fail them",)
    return Check(len(tasks) - len(problems), len(tasks), tuple(problems[:5]), source, 0, facts if without else ())


def worked(benchmark: str) -> tuple[Trajectory, ...]:
    """Worked attempts at tasks for a library that does not exist, with facts about it; every condition shows them."""
    return tuple(
        Trajectory(
            id=f"tra-{benchmark}-worked-{place}",
            task_id=f"{benchmark}-worked-{place}",
            task=one["task"],
            benchmark=benchmark,
            agent="worked",
            steps=(Step(action=one["program"], observation=RIGHT, reward=1.0),),
            guidance=f"{HEADING}\n{one['facts']}",
            outcome=Outcome(success=True, reward=1.0, reason="answered", answer=one["program"]),
            meta={"trial": 0},
            created=WRITTEN,
        )
        for place, one in enumerate(_WORDS["attempt"], 1)
    )


@cache
def shared_sandbox(library: Library, unsafe: bool) -> Sandbox:
    """One sandbox for all attempts with a library in this process."""
    sandbox = Sandbox(library, seconds=SECONDS, unsafe=unsafe)
    atexit.register(sandbox.close)
    return sandbox


class CodeEnvironment:
    """Accepts programs and probes, and judges the first program that runs.

    An action that begins with `>>>` is a probe: its lines run, and the last line's result is observed. If all lines
    begin with `assert`, they are the agent's own tests, and its drafts run on them too. Any other action is a program.
    It runs on the sample or tests that the task shows; while drafts are left, an error is observed; otherwise the
    program is judged. `info["calls"]` are the library calls made, and `info["verdict"]` says what was wrong, for
    readers of the attempt; the agent sees it only with `reveal`.
    """

    def __init__(self, libraries: Sequence[Library], reveal: bool, drafts: int, probes: int, unsafe: bool) -> None:
        self.libraries, self.reveal, self.drafts, self.probes, self.unsafe = libraries, reveal, drafts, probes, unsafe
        self._task: Task | None = None
        self._drafts = self._probes = 0
        self._tests: list[str] = []

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a task."""
        self._task, self._drafts, self._probes, self._tests = task, 0, 0, []
        return task.text, {"probes": self.probes}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a probe or a program."""
        assert self._task is not None, "call reset first"
        version = min(int(self._task.data.get("version", 1)), len(self.libraries))
        sandbox = shared_sandbox(self.libraries[version - 1], self.unsafe)
        if action.lstrip().startswith(PROBE):
            return self._probe(sandbox, action)
        if not self._drafts and (tests := _asserts(action)):
            self._tests = tests
            return "Now write the function.", 0.0, False, False, {}
        self._drafts += 1
        is_tried = self.drafts > 1 or self.libraries[0].name
        trial = tried(sandbox, self._task, action, self._tests) if is_tried else Verdict(True)
        info = self._info(sandbox, trial.ran)
        if not trial.right and self._drafts < self.drafts:
            return f"{trial.says}\nWrite the function again.", 0.0, False, False, info
        # A program that fails a visible test may still pass the hidden tests.
        verdict = judged(sandbox, self._task, action) if trial.right or "hidden" in self._task.data else trial
        self._task = None
        info |= {"success": verdict.right, "answer": action[:4000], "verdict": verdict.says}
        says = (RIGHT if verdict.right else f"Wrong: {verdict.says}") if self.reveal else ""
        return says, float(verdict.right), True, False, info

    def close(self) -> None:
        """End the attempt; the sandbox stays open for the next one."""
        self._task = None

    def _probe(self, sandbox: Sandbox, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._probes += 1
        if self._probes > self.probes:
            truncated = self._probes > 3 * self.probes + 3
            return "No more probes: write the function.", 0.0, False, truncated, {"invalid": True}
        lines = [line.strip().removeprefix(PROBE).strip() for line in action.strip().splitlines()]
        ran = sandbox.run("", calls=[[line for line in lines if line][:6] or ["None"]], trace=True)
        return _result(ran), 0.0, False, False, self._info(sandbox, ran)

    def _info(self, sandbox: Sandbox, ran: Ran | None) -> dict[str, Any]:
        library = {"library": sandbox.library.name, "library_version": sandbox.version}
        return {"calls": [{**asdict(call), **library} for call in (ran.calls if ran else ())]}


def tried(sandbox: Sandbox, task: Task, program: str, agent_tests: Sequence[str] = ()) -> Verdict:
    """Run a program on what the task shows: a sample call, which must not fail, or visible tests, which must pass.

    The agent's own tests run after the visible ones.
    """
    if "visible" in task.data:
        tests = [*task.data["visible"], *agent_tests]
        return _tested(sandbox, task, program, tests) if tests else Verdict(True)
    ran = sandbox.run(program, calls=[task.data["sample"]], trace=True)
    if fault := _fault(ran):
        return Verdict(False, f"{task.data['sample']}: {fault}{_where(program, ran)}", ran)
    return Verdict(True, "", ran)


def _asserts(action: str) -> list[str]:
    """The tests of an action with only `assert` lines, without invalid Python; [] for any other action."""
    lines = [line.strip() for line in action.splitlines() if line.strip()]
    return [line for line in lines if is_python(line)] if all(line.startswith("assert ") for line in lines) else []


def is_python(text: str) -> bool:
    """Whether a text is valid Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def judged(sandbox: Sandbox, task: Task, program: str) -> Verdict:
    """Run a program on the hidden inputs or tests."""
    if "hidden" in task.data:
        return _tested(sandbox, task, program, task.data["hidden"])
    calls, answers = task.data["calls"], task.data["answers"]
    ran = sandbox.run(program, calls=calls, apart=True)
    if ran.fault or len(ran.values) < len(calls):
        return Verdict(False, _fault(ran) or "it gave nothing", ran)
    for call, answer, value in zip(calls, answers, ran.values, strict=True):
        if value.fault:
            return Verdict(False, f"{call} raised {prompt_line(value.fault.text, _SHOWN)}, but {answer} is right", ran)
        if not (value.exact and same(value.text, answer)):
            return Verdict(False, f"{call} gave {prompt_line(value.text, _SHOWN)}, but {answer} is right", ran)
    return Verdict(True, "", ran)


def same(text: str, other: str) -> bool:
    """Whether two texts are the same Python value; True and 1 differ, also within lists, tuples and dictionaries."""
    if text == other:
        return True
    try:
        one, two = ast.literal_eval(text), ast.literal_eval(other)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    try:
        return bool(one == two) and _bools(one) == _bools(two)
    except RecursionError:
        return False


def _bools(value: Any) -> Any:
    """Which parts of a value are True or False."""
    if isinstance(value, list | tuple):
        return [_bools(part) for part in value]
    if isinstance(value, dict):
        return {key: (_bools(key), _bools(part)) for key, part in value.items()}
    return isinstance(value, bool)


_ENDED = {
    "time": "it did not end in time",
    "output": "it printed too much",
    "early": "it ended before it gave anything",
}


def _tested(sandbox: Sandbox, task: Task, program: str, tests: Sequence[str]) -> Verdict:
    setup = str(task.data.get("setup", ""))
    source = f"{setup}\n\n{program}"
    ran = sandbox.test(source, task.data["entry"], tests, setup=setup, seconds=3 * SECONDS)
    if fault := _fault(ran):
        return Verdict(False, fault + _where(source, ran), ran)
    for test, result in zip(tests, ran.tests, strict=False):
        if not result.passed:
            last = f" ({result.last})" if result.last else ""
            return Verdict(False, f"`{cut(test, _SHOWN).strip()}` fails: {prompt_line(result.why, _SHOWN)}{last}", ran)
    return Verdict(len(ran.tests) == len(tests), "" if ran.tests else "nothing was tested", ran)


def _first_fault(ran: Ran) -> Fault | None:
    return ran.fault or next((value.fault for value in ran.values if value.fault), None)


def _fault(ran: Ran) -> str:
    if ran.ended != "done":
        return _ENDED[ran.ended]
    fault = _first_fault(ran)
    return prompt_line(fault.text, _SHOWN) if fault else ""


def _where(program: str, ran: Ran) -> str:
    fault, lines = _first_fault(ran), program.splitlines()
    if fault is None or not 0 < fault.line <= len(lines):
        return ""
    return f" (line {fault.line}: {prompt_line(lines[fault.line - 1], 100)})"


def _result(ran: Ran) -> str:
    fault = _fault(ran)
    return fault if fault or not ran.values else prompt_line(ran.values[0].text, _SHOWN)
