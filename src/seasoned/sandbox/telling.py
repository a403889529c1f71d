# mypy: ignore-errors
"""A sandbox worker's report on a program: values as text, errors, and the calls of library functions.

Python gets this module as text before `inside`; it imports only the standard library. Always holds: a value's own
`__repr__` cannot break the report, and the text of a value is short.
"""

import contextlib
import functools
import importlib
import inspect
import linecache
import math
import re
import sys
import types

MAX_VALUE = 2000  # characters of a value
MAX_CALLS = 300  # traced calls
MAX_SETUP = 5  # earlier calls on an object before a traced one
PROGRAM = "<program>"
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")


def shown(value, room=MAX_VALUE):
    """The repr of a value, cut to `room` characters, and whether that text evaluates to the same value.

    An error in its `__repr__` is part of the text.
    """
    text, exact = _shown(value, room, [])
    return (text[:room] + "\u2026", False) if len(text) > room else (text, exact)


def _shown(value, room, above):
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict):
        if id(value) in above or len(above) > 20:
            return "...", False
        return _container(value, kind, room, [*above, id(value)])
    if kind in (str, bytes, bytearray) and len(value) > room:
        return repr(value[: room + 1]), False
    if kind is int and value.bit_length() > MAX_VALUE:
        return "<an int of %d bits>" % value.bit_length(), False
    try:
        text = repr(value)[: room + 1]
    except BaseException as error:
        return "<%s without a repr: %s>" % (kind.__name__, type(error).__name__), False
    exact = value is None or kind in (bool, int, str, bytes, complex) or (kind is float and math.isfinite(value))
    plain = ADDRESS.sub("0x..", text)
    return plain, exact and plain == text


def _container(value, kind, room, above):
    parts, used, exact = [], 0, True
    for item in value.items() if kind is dict else zip(value):
        texts, are_exact = zip(*(_shown(each, room, above) for each in item))
        parts.append(": ".join(texts))
        used, exact = used + len(parts[-1]), exact and all(are_exact)
        if used > room:
            parts.append("\u2026")
            break
    if kind in (set, frozenset):
        parts.sort()
        inner = "{%s}" % ", ".join(parts) if parts else ""
        text = (inner or "set()") if kind is set else "frozenset(%s)" % inner
    elif kind is tuple:
        text = "(%s,)" % parts[0] if len(parts) == 1 else "(%s)" % ", ".join(parts)
    else:
        text = ("[%s]" if kind is list else "{%s}") % ", ".join(parts)
    return text, exact


def value_row(value):
    """A value as a row of the answer."""
    text, exact = shown(value)
    return {"text": text, "exact": exact, "type": type(value).__name__}


def described(error):
    """An exception as a row of the answer: its message, and the line of the program that raised it."""
    try:
        words = str(error)[:500]
    except BaseException:
        words = "(no words)"
    kind = type(error).__name__
    line, trace = 0, error.__traceback__
    if isinstance(error, SyntaxError) and error.filename == PROGRAM:
        line, words = error.lineno or 0, str(error.msg)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM:
            line = trace.tb_lineno
        trace = trace.tb_next
    return {"type": kind, "text": ADDRESS.sub("0x..", "%s: %s" % (kind, words) if words else kind), "line": line}


class Trace:
    """Records a program's calls of library functions, but not the library's own calls of them."""

    def __init__(self, package):
        self.package, self.calls, self.busy, self.objects = package, [], False, {}

    def install(self, modules):
        for module in modules:
            prefix = "" if module.__name__ == self.package else module.__name__[len(self.package) + 1 :] + "."
            for name, value in list(vars(module).items()):
                if name.startswith("_") or not ours(value, self.package):
                    continue
                if isinstance(value, types.FunctionType):
                    setattr(module, name, self.traced(value, prefix + name, self.call))
                elif isinstance(value, type):
                    self.watch(value, prefix + name)

    def watch(self, kind, name):
        methods = {method: function for method, function in vars(kind).items() if not method.startswith("_")}
        if "__init__" in vars(kind) or not issubclass(kind, BaseException):
            methods["__init__"] = kind.__init__
        for method, function in methods.items():
            with contextlib.suppress(AttributeError, TypeError):
                if method == "__init__":
                    kind.__init__ = self.traced(function, name, self.make)
                elif isinstance(function, types.FunctionType):
                    setattr(kind, method, self.traced(function, name + "." + method, self.call_method))

    def traced(self, function, name, act):
        """A function whose calls are made by `act`, except those within another traced call."""

        @functools.wraps(function)
        def traced(*args, **kwargs):
            if self.busy:
                return function(*args, **kwargs)
            self.busy = True
            try:
                return act(function, name, args, kwargs)
            finally:
                self.busy = False

        return traced

    def call(self, function, name, args, kwargs):
        line, exact = self.line(name, args, kwargs)
        return self.record(function, name, [], line, exact, args, kwargs)

    def make(self, function, name, args, kwargs):
        line, exact = self.line(name, args[1:], kwargs)
        self.objects[id(args[0])] = args[0], ["x = " + line] if exact else None
        return self.record(function, name, [], line, exact, args, kwargs, silent=True)

    def call_method(self, function, name, args, kwargs):
        _, lines = self.objects.get(id(args[0]), (None, None))
        line, exact = self.line("x." + name.rpartition(".")[2], args[1:], kwargs)
        known = lines is not None and len(lines) <= MAX_SETUP
        try:
            return self.record(function, name, lines if known else [], line, exact and known, args, kwargs)
        finally:
            if lines is not None:
                self.objects[id(args[0])] = args[0], ([*lines, line] if exact else None)

    def line(self, name, args, kwargs):
        parts = [("", *shown(value, 300)) for value in args]
        parts += [(key + "=", *shown(value, 300)) for key, value in kwargs.items()]
        inner = ", ".join(key + text for key, text, _ in parts)
        return "%s(%s)" % (name, inner), all(exact for _, _, exact in parts)

    def record(self, function, name, setup, line, exact, args, kwargs, silent=False):
        row = {"function": name, "setup": list(setup), "call": line}
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            row["error"] = described(error)["text"]
            self.keep(row, exact)
            raise
        if not silent:
            row["value"], is_whole = shown(value)
            self.keep(row, exact and is_whole)
        return value

    def keep(self, row, exact):
        if exact and len(self.calls) < MAX_CALLS:
            self.calls.append(row)


def ours(value, package):
    """Whether a value is a function or class of a package."""
    module = getattr(value, "__module__", None) or ""
    return callable(value) and (module == package or module.startswith(package + "."))


class Library:
    """The library that programs use: from source text, or imported by its name."""

    def __init__(self, config):
        self.name, self.modules, self.version = config.get("name", ""), [], ""
        for path in config.get("paths", ()):
            sys.path.insert(0, path)
        if "source" in config:
            module = types.ModuleType(self.name)
            module.__file__ = "<%s>" % self.name
            sys.modules[self.name] = module
            exec(compile(config["source"], module.__file__, "exec"), vars(module))
        elif self.name:
            importlib.import_module(self.name)
        if self.name:
            prefix = self.name + "."
            self.modules = [m for n, m in list(sys.modules.items()) if m and (n == self.name or n.startswith(prefix))]
            self.version = str(getattr(sys.modules[self.name], "__version__", "") or self.distributed())

    def distributed(self):
        from importlib import metadata

        with contextlib.suppress(Exception):
            return metadata.version(self.name.partition(".")[0])
        return ""

    def namespace(self):
        names = {"__name__": "__main__"}
        if self.name:
            top = sys.modules[self.name]
            public = getattr(top, "__all__", None) or [name for name in vars(top) if not name.startswith("_")]
            names |= {name: getattr(top, name) for name in public if hasattr(top, name)}
            package = self.name.partition(".")[0]
            names[package] = sys.modules[package]
        return names

    def public(self):
        """Rows of its public functions, classes and methods: name, signature or "", first docstring line."""
        rows = []
        for name, value in vars(sys.modules[self.name]).items() if self.name else ():
            if name.startswith("_") or not callable(value) or not ours(value, self.name):
                continue
            if isinstance(value, type) and issubclass(value, BaseException):
                continue
            rows.append(self.entry(name, value))
            if isinstance(value, type):
                methods = [(m, f) for m, f in vars(value).items() if not m.startswith("_") and callable(f)]
                rows += [self.entry(name + "." + m, f) for m, f in methods]
        return rows

    def entry(self, name, value):
        signature = ""
        with contextlib.suppress(Exception):
            signature = str(inspect.signature(value))[:200]
        summary = (getattr(value, "__doc__", None) or "").strip().partition("\n")[0][:200]
        return {"name": name, "signature": signature, "says": summary, "is_class": isinstance(value, type)}


def evaluated(lines, names):
    """Run the lines; return the value of the last one."""
    for line in lines[:-1]:
        exec(compile(line, "<call>", "exec"), names)
    return eval(compile(lines[-1].strip(), "<call>", "eval"), names)


def run_program(request, library):
    """Run a program, then its calls; return the answer."""
    trace = Trace(library.name) if request.get("trace") and library.name else None
    if trace:
        trace.install(library.modules)
    names, answer = library.namespace(), {"values": [], "fault": None}
    code = request.get("code", "")
    linecache.cache[PROGRAM] = len(code), None, code.splitlines(True), PROGRAM
    try:
        exec(compile(code, PROGRAM, "exec"), names)
    except BaseException as error:
        answer["fault"] = described(error)
    for lines in request.get("calls", ()) if answer["fault"] is None else ():
        try:
            namespace = dict(names) if request.get("apart") else names
            answer["values"].append(value_row(evaluated(lines, namespace)))
        except BaseException as error:
            answer["values"].append({"fault": described(error)})
    answer["calls"] = trace.calls if trace else []
    return answer
