"""Exploring a library: calls of each public function with real values, before there is a task.

Rules try values first: they vary the order and the form of arguments, and take up values that an error names. For what
gave nothing so far the model proposes calls; these run, and it sees what they raised before it proposes others. Always
holds: nothing runs outside the sandbox, it ends after its seconds and calls, and what differs between two runs is no
fact.
"""

from __future__ import annotations

import ast
import itertools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from seasoned.errors import ConfigError, ContextLengthError
from seasoned.methods.facts.fact import Fact, called, is_call, make_fact, of_value, run_fact
from seasoned.methods.facts.usage import (
    arguments_made,
    in_units,
    is_number,
    is_whole,
    results_taken,
    texts_made,
    with_many,
)
from seasoned.protocols import LLM
from seasoned.sandbox import Public, Sandbox
from seasoned.text import LIMIT, prompt_line, render_prompt

_GROUP = 6  # functions that the model is asked about at once
_ENOUGH = 4  # calls of a function that gave something
_TRIES = 300  # calls of a function
_OF_FUNCTION, _OF_FAILURE = 12, 2  # that are kept: calls that gave something, and calls of one failure
_BATCH = 20
_BRIEF = 40
_WORD = 12  # characters of a word that stands for yes or no
_ROUNDS = 2  # of asking the model
_VALUES: tuple[object, ...] = (3, 12, 300, "3", [3], [2, 3], (0, 3), (2, 3), "a", 0.5, None)
_LITERAL = re.compile(r"\([^()]{1,60}\)|\[[^\[\]]{1,60}\]|'[^'\n]{1,60}'|\"[^\"\n]{1,60}\"|-?\b\d+(?:\.\d+)?\b")


@dataclass
class Exploration:
    """What was tried of a library and what came of it.

    Args:
        sandbox: where the library is.
        llm: proposes calls of functions that gave nothing so far; None leaves all to the rules.
        seconds: after so many it ends.
        calls: after so many it ends.
        hints: texts whose literals are values worth trying, such as tasks.
        seeds: calls to begin with, such as those of attempts.
    """

    sandbox: Sandbox
    llm: LLM | None = None
    seconds: float = 90.0
    calls: int = 5000
    hints: Sequence[str] = ()
    seeds: Sequence[str] = ()
    tried: dict[tuple[str, ...], Fact | None] = field(default_factory=dict)

    def run(self) -> list[Fact]:
        """Explore; the facts that two runs agree on, in the order of the library's functions."""
        began = time.monotonic()
        public = [each for each in self.sandbox.public if not each.is_class and "." not in each.name]
        for each in public:
            if time.monotonic() - began < self.seconds:
                self._vary(each)
        for _ in range(_ROUNDS):
            left = [each for each in public if not self._gave(each.name)]
            if left and self.llm is not None and time.monotonic() - began < self.seconds:
                self._ask(left, self.llm)
        for owner in (each for each in self.sandbox.public if each.is_class):
            if time.monotonic() - began < self.seconds:
                self._try_sequences(owner)
        return [fact for fact in self._telling() if run_fact(self.sandbox, fact.same) == fact]

    def _telling(self) -> Iterator[Fact]:
        """Of each function the first calls that gave something, and fewer that failed, each failure once."""
        counts: dict[tuple[str, str], int] = {}
        for fact in sorted((f for f in self.tried.values() if f is not None), key=lambda fact: bool(fact.error)):
            kind, most = (fact.error or "gave"), (_OF_FAILURE if fact.error else _OF_FUNCTION)
            counts[fact.function, kind] = counts.get((fact.function, kind), 0) + 1
            if counts[fact.function, kind] <= most:
                yield fact

    def _gave(self, name: str) -> list[Fact]:
        return [fact for fact in self.tried.values() if fact is not None and fact.function == name and not fact.error]

    def _ask(self, functions: Sequence[Public], llm: LLM) -> None:
        """Let the model propose calls of these functions, some at a time; it sees what was raised so far."""
        for start in range(0, len(functions), _GROUP):
            group = functions[start : start + _GROUP]
            prompt = render_prompt(
                "seasoned.methods",
                "facts_explore.j2",
                library=self.sandbox.library.name,
                functions=[(f"{each.name}{each.signature}", prompt_line(each.says, 120)) for each in group],
                errors=[fact.text for each in group for fact in self._failed(each.name)[:3]],
            )
            with suppress(ContextLengthError, ConfigError):  # a memory may have no model
                reply = llm.chat([{"role": "user", "content": prompt}], max_tokens=48 * len(group))
                names = {each.name for each in group}
                self._try(read_calls(reply.text, names))

    def _failed(self, name: str) -> list[Fact]:
        return [fact for fact in self.tried.values() if fact is not None and fact.function == name and fact.error]

    def _try(self, calls: Iterable[Sequence[str]]) -> None:
        """Run what was not tried yet."""
        new = [tuple(lines) for lines in calls if tuple(lines) not in self.tried]
        new = list(dict.fromkeys(new))[: max(self.calls - len(self.tried), 0)]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            ran = self.sandbox.run("", calls=[list(lines) for lines in batch], apart=True)
            if len(ran.values) == len(batch):
                facts = [of_value(self.sandbox, lines, value) for lines, value in zip(batch, ran.values, strict=True)]
            else:  # one of them ended the run, so each runs alone
                facts = [run_fact(self.sandbox, lines) for lines in batch]
            self.tried |= dict(zip(batch, facts, strict=True))

    def _vary(self, function: Public) -> None:
        """Try other values, orders and forms until enough calls gave something."""
        name, usual = function.name, self._usual(function)
        self._try([call] for call in self.seeds if called(call) == name)
        for _ in range(_TRIES // _BATCH):
            if len(self._gave(name)) >= _ENOUGH:
                break
            errors = self._failed(name)
            told = [f"{name}({text})" for fact in errors for text in literals(fact.error.partition(":")[2])]
            told += [other for fact in errors[:6] for other in variations(fact.call)]
            new = [call for call in dict.fromkeys(told) if (call,) not in self.tried][: _BATCH // 2]
            # What an error names goes before everything else, so little is tried before there is one.
            self._try([call] for call in [*new, *itertools.islice(usual, _BATCH - len(new) if new else 2)])
        for fact in self._gave(name)[:3]:
            self._try([call] for call in (*with_other_numbers(fact.call), *with_other_texts(fact.call, self._texts)))

    @cached_property
    def _texts(self) -> list[str]:
        return texts_in(self.hints)

    def _usual(self, function: Public) -> Iterator[str]:
        """Calls with all values, for as many parameters as the function says it has."""
        name, parameters = function.name, parameters_of(function.signature)
        words = [repr(text) for text in self._texts] or ["'a'"]
        forms = [*map(repr, _VALUES[:3]), *words, *(form for value in _VALUES for form in forms_of(value))]
        forms += [form for text in self._texts[:8] for form in forms_of(text)]
        if len(parameters) <= 1:
            pre = f"{parameters[0].lstrip('*')}=" if parameters and parameters[0].startswith("*") else ""
            singles = (f"{name}({pre}{form})" for form in dict.fromkeys(forms))
            pairs = (f"{name}{form}" for word in words for form in (f"(({word}, 3))", f"((3, {word}))"))
            yield from (call for some in itertools.zip_longest(singles, pairs) for call in some if call)
        else:
            for word in words:
                yield from (f"{name}({word}, 3)", f"{name}(3, {word})")
            yield from (f"{name}({', '.join(each)})" for each in itertools.product(forms[:8], repeat=len(parameters)))

    def _try_sequences(self, owner: Public) -> None:
        """An object, and up to three calls of its methods after one another."""
        methods = [each for each in self.sandbox.public if each.name.startswith(f"{owner.name}.")]
        steps: list[str] = []
        for method in methods:
            names = [name for name in parameters_of(method.signature) if name != "self"]
            called = f"x.{method.name.partition('.')[2]}"
            steps += [f"{called}({', '.join([form] * len(names))})" for form in (("3", "(2, 3)") if names else ("",))]
        first = f"x = {owner.name}({', '.join(['3'] * len(parameters_of(owner.signature)))})"
        for length in (1, 2, 3):
            self._try([first, *each] for each in itertools.permutations(steps, length))


def find_usages(sandbox: Sandbox, facts: Sequence[Fact], texts: Sequence[str]) -> list[Fact]:
    """Facts that show how the functions are used: of each call, how its argument is made and its result taken out."""
    made, found = texts_made(texts), list[Fact]()
    words = {fact.value: fact for fact in facts if fact.value[:1] in "'\"" and len(fact.value) <= _WORD}
    # A function that gives numbers as text gives no other texts; '3' of one that does is a text like these.
    numbers = all(is_number(fact.value) for fact in facts if fact.value[:1] in "'\"")
    if len(words) == 2 and len(facts) > 2:
        found += [fact for each in words.values() if (fact := _compared(sandbox, each))]
        facts = ()
    for fact in facts:
        if fact.error or fact.setup or not is_call(fact.call):
            continue
        calls = [fact.call]
        for other in arguments_made(fact.call, made):
            many = with_many(other)
            if _given(sandbox, other) == fact.value and (not many or _given(sandbox, many)):
                calls = [other]
                break
        whole = [call for call in in_units(fact.call) if is_whole(call, _given(sandbox, call))]
        for call in whole[:1] or calls:
            taken = results_taken(call, fact.value) if not whole and (numbers or not is_number(fact.value)) else []
            expression = (taken or [call])[0]
            row = {"call": expression, "function": fact.function, "value": _given(sandbox, expression), "usage": True}
            row |= {"library": sandbox.library.name, "library_version": sandbox.version}
            usage = make_fact(row) if expression != fact.call else None
            if usage is not None:
                found.append(usage)
    return found


def _compared(sandbox: Sandbox, fact: Fact) -> Fact | None:
    """The fact that a call gives one of two words."""
    call = f"{fact.call} == {fact.value}"
    row = {"call": call, "function": fact.function, "usage": True, "value": "True"}
    row |= {"library": sandbox.library.name, "library_version": sandbox.version}
    return make_fact(row) if _given(sandbox, call) == "True" else None


def _given(sandbox: Sandbox, expression: str) -> str:
    """What an expression gives; "" where it raises, or gives no text that can be compared."""
    ran = sandbox.run("", calls=[expression], seconds=2.0)
    return ran.values[0].text if ran.values and ran.values[0].exact else ""


def read_calls(text: str, names: Iterable[str]) -> list[list[str]]:
    """The calls of these functions in a reply, one a line, with literal arguments alone."""
    known, calls = set(names), []
    for line in text[:LIMIT].splitlines():
        said = line.strip().removeprefix(">>>").strip("`*- \t")
        begin = re.match(r"(?:\d{1,3}[.)]\s*)?`?(?:\w{1,60}\.){0,3}(\w{1,60})\(", said)
        if begin is None or begin[1] not in known:
            continue
        call = said[begin.start(1) :].partition(" #")[0].strip().rstrip(";,")
        if is_call(call) and _is_literal(call):
            calls.append([call])
    return calls


def _is_literal(call: str) -> bool:
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    try:
        for node in (*tree.args, *(word.value for word in tree.keywords)):
            ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(tree.func, ast.Name)


def texts_in(hints: Iterable[str]) -> list[str]:
    """The texts among the values that stand in hints, the first forty."""
    values = (ast.literal_eval(text) for hint in hints for text in literals(hint))
    flat = (part for value in values for part in (value if isinstance(value, list | tuple) else [value]))
    return list(dict.fromkeys(part for part in flat if isinstance(part, str)))[:40]


def parameters_of(signature: str) -> list[str]:
    """The names of a signature's parameters without defaults; one that must be named begins with a star."""
    names, named = [], False
    for part in signature.partition("(")[2].rpartition(")")[0].split(","):
        word = part.strip()
        if word in ("/", "") or "=" in word:
            continue
        if word == "*":
            named = True
        elif not word.startswith("*"):
            names.append(f"*{word.partition(':')[0]}" if named else word.partition(":")[0].strip())
    return names


def literals(text: str) -> list[str]:
    """The Python values that stand in a text, such as in `expected something like (3, 'a')`."""
    found = []
    for part in _LITERAL.findall(text[:4000]):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            value = ast.literal_eval(part)
            found.append(repr(value))
    return list(dict.fromkeys(found))


def forms_of(value: object) -> list[str]:
    """A value in the forms that a function may want: other case, as text, in a list, joined."""
    forms = [repr(value)]
    if isinstance(value, str):
        forms += [repr(each) for each in (value.upper(), value.title(), value[:3].upper())]
        return forms
    elif isinstance(value, int) and not isinstance(value, bool):
        forms += [repr(str(value)), f"[{value}]"]
    return list(dict.fromkeys(forms))


def variations(call: str) -> list[str]:
    """The call with its arguments in other orders and forms."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    name, texts = ast.unparse(tree.func), [ast.unparse(arg) for arg in tree.args]
    if tree.keywords or not texts or len(texts) > 4:
        return []
    made = [f"{name}({', '.join(order)})" for order in itertools.permutations(texts)]
    made += [f"{name}(({', '.join(order)},))" for order in itertools.permutations(texts)]
    for place, text in enumerate(texts):
        with suppress(ValueError, SyntaxError):
            for form in forms_of(ast.literal_eval(text)):
                made.append(f"{name}({', '.join([*texts[:place], form, *texts[place + 1 :]])})")
    return [each for each in dict.fromkeys(made) if each != call]


class _Numbers(ast.NodeTransformer):
    def __init__(self, change: int) -> None:
        self.change = change

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) is int:
            return ast.Constant(self.changed(node.value))
        if isinstance(node.value, str) and len(node.value) <= _BRIEF:
            number = re.compile(r"(?<!\d)\d{1,6}(?!\d)")
            return ast.Constant(number.sub(lambda found: str(self.changed(int(found[0]))), node.value))
        return node

    def changed(self, number: int) -> int:
        return number * self.change if self.change > 1 else number + 1


def with_other_numbers(call: str) -> list[str]:
    """The call with each whole number one more, ten times and a hundred times as large."""
    made = [ast.unparse(_Numbers(change).visit(ast.parse(call, mode="eval"))) for change in (1, 10, 100)]
    return [each for each in dict.fromkeys(made) if each != call]


def with_other_texts(call: str, texts: Sequence[str]) -> list[str]:
    """The call with its text in the place of another one, in the same form: 'ARBON' gives 'BRASK' for brask."""
    tree = ast.parse(call, mode="eval")
    there = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    forms = {form: place for text in texts for place, form in reversed([*enumerate(forms_of(text))])}
    if len(there) != 1 or repr(there[0].value) not in forms:
        return []
    place, made = forms[repr(there[0].value)], []
    for text in texts[:_OF_FUNCTION]:
        there[0].value = ast.literal_eval(forms_of(text)[min(place, len(forms_of(text)) - 1)])
        made.append(ast.unparse(tree))
    return [each for each in dict.fromkeys(made) if each != call]
