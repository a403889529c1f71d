"""Explores a library: calls each public function with real values, before there is a task.

Rules choose values first: they vary the order and form of arguments, and use values that an error names. For functions
without a result so far, the model proposes calls and sees their errors before it proposes more. Always holds: nothing
runs outside the sandbox; exploring respects its limits of time and calls; a result that differs between two runs is
not a fact.
"""

from __future__ import annotations

import ast
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from seasoned.errors import ConfigError, ContextLengthError
from seasoned.methods.facts import usage
from seasoned.methods.facts.fact import Fact, called, make_fact, of_value, run_fact
from seasoned.protocols import LLM
from seasoned.sandbox import Public, Sandbox
from seasoned.text import LIMIT, prompt_line, render_prompt

_GROUP = 6  # functions in one request to the model
_ENOUGH = 4  # successful calls of a function
_TRIES = 300  # calls of a function
_OF_FUNCTION, _OF_FAILURE = 12, 2  # to keep: successful calls, and calls with the same failure
_BATCH = 20  # calls in one run of the sandbox
_MAX_TEXT = 40  # characters of a text whose numbers are changed
_MAX_WORD = 12  # characters of a word that means yes or no
_ROUNDS = 2  # rounds of asking the model
_VALUES: tuple[object, ...] = (3, 12, 300, "3", [3], [2, 3], (0, 3), (2, 3), "a", 0.5, None)
_INTEGER = re.compile(r"(?<!\d)\d{1,6}(?!\d)")
_LITERAL = re.compile(r"\([^()]{1,60}\)|\[[^\[\]]{1,60}\]|'[^'\n]{1,60}'|\"[^\"\n]{1,60}\"|-?\b\d+(?:\.\d+)?\b")


@dataclass
class Exploration:
    """The calls tried on a library and their outcomes, with limits of seconds and calls.

    `llm` proposes calls of functions without a result so far; None: only rules do. `hints` are texts, such as tasks,
    whose literals are worth trying; `seeds` are calls to try first, such as those of attempts.
    """

    sandbox: Sandbox
    llm: LLM | None = None
    seconds: float = 90.0
    calls: int = 5000
    hints: Sequence[str] = ()
    seeds: Sequence[str] = ()
    tried: dict[tuple[str, ...], Fact | None] = field(default_factory=dict)

    def run(self) -> list[Fact]:
        """Explore, and return the facts that two runs agree on, in the order of the library's functions."""
        end = time.monotonic() + self.seconds
        public = [each for each in self.sandbox.public if not each.is_class and "." not in each.name]
        for each in public:
            if time.monotonic() < end:
                self._vary(each)
        for _ in range(_ROUNDS):
            without_result = [each for each in public if not self._facts(each.name, failed=False)]
            if without_result and self.llm is not None and time.monotonic() < end:
                self._ask(without_result, self.llm)
        for owner in (each for each in self.sandbox.public if each.is_class):
            if time.monotonic() < end:
                self._try_sequences(owner)
        return [fact for fact in self._selection() if run_fact(self.sandbox, fact.same) == fact]

    def _selection(self) -> Iterator[Fact]:
        """For each function, its first successful calls, and the first calls with each error."""
        counts: dict[tuple[str, str], int] = {}
        for fact in sorted((f for f in self.tried.values() if f is not None), key=lambda fact: bool(fact.error)):
            kind, most = (fact.function, fact.error), (_OF_FAILURE if fact.error else _OF_FUNCTION)
            counts[kind] = counts.get(kind, 0) + 1
            if counts[kind] <= most:
                yield fact

    def _facts(self, name: str, *, failed: bool) -> list[Fact]:
        """The results of a function so far, or its failures."""
        facts = (fact for fact in self.tried.values() if fact is not None and fact.function == name)
        return [fact for fact in facts if bool(fact.error) is failed]

    def _ask(self, functions: Sequence[Public], llm: LLM) -> None:
        """Let the model propose calls of these functions, a few at a time; it sees the errors so far."""
        for start in range(0, len(functions), _GROUP):
            group = functions[start : start + _GROUP]
            prompt = render_prompt(
                "seasoned.methods",
                "facts_explore.j2",
                library=self.sandbox.library.name,
                functions=[(f"{each.name}{each.signature}", prompt_line(each.says, 120)) for each in group],
                errors=[fact.text for each in group for fact in self._facts(each.name, failed=True)[:3]],
            )
            with suppress(ContextLengthError, ConfigError):  # a memory may have no model
                reply = llm.chat([{"role": "user", "content": prompt}], max_tokens=48 * len(group))
                names = {each.name for each in group}
                self._try(read_calls(reply.text, names))

    def _try(self, calls: Iterable[Sequence[str]]) -> None:
        """Run the calls that were not tried before."""
        new = [tuple(lines) for lines in calls if tuple(lines) not in self.tried]
        new = list(dict.fromkeys(new))[: max(self.calls - len(self.tried), 0)]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            ran = self.sandbox.run("", calls=[list(lines) for lines in batch], apart=True)
            if len(ran.values) == len(batch):
                facts = [of_value(self.sandbox, lines, value) for lines, value in zip(batch, ran.values, strict=True)]
            else:  # one call ended the run, so run each alone
                facts = [run_fact(self.sandbox, lines) for lines in batch]
            self.tried |= dict(zip(batch, facts, strict=True))

    def _vary(self, function: Public) -> None:
        """Try other values, orders and forms until enough calls succeeded."""
        name, default_calls = function.name, self._default_calls(function)
        self._try([call] for call in self.seeds if called(call) == name)
        for _ in range(_TRIES // _BATCH):
            if len(self._facts(name, failed=False)) >= _ENOUGH:
                break
            failures = self._facts(name, failed=True)
            candidates = [f"{name}({text})" for fact in failures for text in literals(fact.error.partition(":")[2])]
            candidates += [other for fact in failures[:6] for other in variations(fact.call)]
            new = [call for call in dict.fromkeys(candidates) if (call,) not in self.tried][: _BATCH // 2]
            # Values that an error names are the best, so try only a few others before the first error.
            self._try([call] for call in [*new, *itertools.islice(default_calls, _BATCH - len(new) if new else 2)])
        for fact in self._facts(name, failed=False)[:3]:
            self._try([call] for call in (*with_other_numbers(fact.call), *with_other_texts(fact.call, self._texts)))

    @cached_property
    def _texts(self) -> list[str]:
        return texts_in(self.hints)

    def _default_calls(self, function: Public) -> Iterator[str]:
        """Calls with all values, for as many parameters as the signature has."""
        name, parameters = function.name, parameters_of(function.signature)
        words = [repr(text) for text in self._texts] or ["'a'"]
        forms = [*map(repr, _VALUES[:3]), *words, *(form for value in _VALUES for form in forms_of(value))]
        forms += [form for text in self._texts[:8] for form in forms_of(text)]
        if len(parameters) <= 1:
            keyword = f"{parameters[0].lstrip('*')}=" if parameters and parameters[0].startswith("*") else ""
            singles = (f"{name}({keyword}{form})" for form in dict.fromkeys(forms))
            pairs = (f"{name}{form}" for word in words for form in (f"(({word}, 3))", f"((3, {word}))"))
            yield from (call for some in itertools.zip_longest(singles, pairs) for call in some if call)
        else:
            for word in words:
                yield from (f"{name}({word}, 3)", f"{name}(3, {word})")
            yield from (f"{name}({', '.join(each)})" for each in itertools.product(forms[:8], repeat=len(parameters)))

    def _try_sequences(self, owner: Public) -> None:
        """Try up to three method calls in sequence on an object."""
        methods = [each for each in self.sandbox.public if each.name.startswith(f"{owner.name}.")]
        steps: list[str] = []
        for method in methods:
            names = [name for name in parameters_of(method.signature) if name != "self"]
            path = f"x.{method.name.partition('.')[2]}"
            forms = ("3", "(2, 3)") if names else ("",)
            steps += [f"{path}({', '.join([form] * len(names))})" for form in forms]
        first = f"x = {owner.name}({', '.join(['3'] * len(parameters_of(owner.signature)))})"
        for length in (1, 2, 3):
            self._try([first, *each] for each in itertools.permutations(steps, length))


def find_usages(sandbox: Sandbox, facts: Sequence[Fact], texts: Sequence[str]) -> list[Fact]:
    """Facts that show how the functions are used: how to make an argument and how to unpack a result."""
    recipes, usages = usage.texts_made(texts), list[Fact]()
    words = {fact.value: fact for fact in facts if fact.value[:1] in "'\"" and len(fact.value) <= _MAX_WORD}
    # A numeric text counts as a number only if the function returns no other texts.
    numbers = all(usage.is_number(fact.value) for fact in facts if fact.value[:1] in "'\"")
    if len(words) == 2 and len(facts) > 2:
        compared = (_usage(sandbox, each, f"{each.call} == {each.value}") for each in words.values())
        usages += [shown for shown in compared if shown is not None and shown.value == "True"]
        facts = ()
    for fact in facts:
        if fact.error or fact.setup or not called(fact.call):
            continue
        calls = [fact.call]
        for other in usage.arguments_made(fact.call, recipes):
            many = usage.with_many(other)
            if _value(sandbox, other) == fact.value and (not many or _value(sandbox, many)):
                calls = [other]
                break
        unit_calls = [call for call in usage.in_units(fact.call) if usage.is_whole(call, _value(sandbox, call))]
        whole = unit_calls or (usage.is_number(fact.value) and not numbers)
        for call in unit_calls[:1] or calls:
            taken = [] if whole else usage.results_taken(call, fact.value)
            expression = (taken or [call])[0]
            shown = _usage(sandbox, fact, expression) if expression != fact.call else None
            if shown is not None:
                usages.append(shown)
    return usages


def _usage(sandbox: Sandbox, fact: Fact, expression: str) -> Fact | None:
    """The fact that shows how the function of another fact is used; None if its value cannot be compared."""
    row = {"call": expression, "function": fact.function, "value": _value(sandbox, expression), "usage": True}
    return make_fact({**row, "library": sandbox.library.name, "library_version": sandbox.version})


def _value(sandbox: Sandbox, expression: str) -> str:
    """The value of an expression as text; "" if it raises an error, or if its text cannot be compared."""
    ran = sandbox.run("", calls=[expression], seconds=2.0)
    return ran.values[0].text if ran.values and ran.values[0].exact else ""


def read_calls(text: str, names: Iterable[str]) -> list[list[str]]:
    """The calls of these functions in a reply, one per line, with literal arguments only."""
    allowed, calls = set(names), []
    for line in text[:LIMIT].splitlines():
        stripped = line.strip().removeprefix(">>>").strip("`*- \t")
        match = re.match(r"(?:\d{1,3}[.)]\s*)?`?(?:\w{1,60}\.){0,3}(\w{1,60})\(", stripped)
        if match is None or match[1] not in allowed:
            continue
        call = stripped[match.start(1) :].partition(" #")[0].strip().rstrip(";,")
        if called(call) and _is_literal(call):
            calls.append([call])
    return calls


def _is_literal(call: str) -> bool:
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call):  # such as `f(1) ** 2`, which only contains a call
        return False
    try:
        for node in (*tree.args, *(word.value for word in tree.keywords)):
            ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(tree.func, ast.Name)


def texts_in(hints: Iterable[str]) -> list[str]:
    """The first forty strings among the literals in hints."""
    values = (ast.literal_eval(text) for hint in hints for text in literals(hint))
    flat = (part for value in values for part in (value if isinstance(value, list | tuple) else [value]))
    return list(dict.fromkeys(part for part in flat if isinstance(part, str)))[:40]


def parameters_of(signature: str) -> list[str]:
    """The names of a signature's parameters without defaults; that of a keyword-only one begins with a star."""
    names, keyword_only = [], False
    for part in signature.partition("(")[2].rpartition(")")[0].split(","):
        word = part.strip()
        if word in ("/", "") or "=" in word:
            continue
        if word == "*":
            keyword_only = True
        elif not word.startswith("*"):
            names.append(f"*{word.partition(':')[0]}" if keyword_only else word.partition(":")[0].strip())
    return names


def literals(text: str) -> list[str]:
    """The Python literals in a text, such as `(3, 'a')` in `expected something like (3, 'a')`."""
    values = []
    for part in _LITERAL.findall(text[:4000]):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            value = ast.literal_eval(part)
            values.append(repr(value))
    return list(dict.fromkeys(values))


def forms_of(value: object) -> list[str]:
    """A value in forms that a function may expect: other case, as text, in a list, joined."""
    forms = [repr(value)]
    if isinstance(value, str):
        return [*forms, *(repr(each) for each in (value.upper(), value.title(), value[:3].upper()))]
    if isinstance(value, int) and not isinstance(value, bool):
        forms += [repr(str(value)), f"[{value}]"]
    return list(dict.fromkeys(forms))


def variations(call: str) -> list[str]:
    """The call with its arguments in other orders and forms; none for an expression such as `money(3) + 1`."""
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call) or tree.keywords or not 0 < len(tree.args) <= 4:
        return []
    name, texts = ast.unparse(tree.func), [ast.unparse(arg) for arg in tree.args]
    calls = [f"{name}({', '.join(order)})" for order in itertools.permutations(texts)]
    calls += [f"{name}(({', '.join(order)},))" for order in itertools.permutations(texts)]
    for place, text in enumerate(texts):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            for form in forms_of(ast.literal_eval(text)):
                calls.append(f"{name}({', '.join([*texts[:place], form, *texts[place + 1 :]])})")
    return [each for each in dict.fromkeys(calls) if each != call]


def with_other_numbers(call: str) -> list[str]:
    """The call with all its integers, also those in short texts, plus one, times ten, and times a hundred."""
    calls = [_with_numbers(call, change) for change in (lambda n: n + 1, lambda n: n * 10, lambda n: n * 100)]
    return [each for each in dict.fromkeys(calls) if each != call]


def _with_numbers(call: str, change: Callable[[int], int]) -> str:
    tree = ast.parse(call, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            node.value = change(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _MAX_TEXT:
            node.value = _INTEGER.sub(lambda match: str(change(int(match[0]))), node.value)
    return ast.unparse(tree)


def with_other_texts(call: str, texts: Sequence[str]) -> list[str]:
    """The call with its text replaced by each of the texts in the same form: 'ARBON' becomes 'BRASK' for brask."""
    tree = ast.parse(call, mode="eval")
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    forms = {form: place for text in texts for place, form in reversed([*enumerate(forms_of(text))])}
    if len(constants) != 1 or repr(constants[0].value) not in forms:
        return []
    place, calls = forms[repr(constants[0].value)], []
    for text in texts[:_OF_FUNCTION]:
        constants[0].value = ast.literal_eval(forms_of(text)[min(place, len(forms_of(text)) - 1)])
        calls.append(ast.unparse(tree))
    return [each for each in dict.fromkeys(calls) if each != call]
