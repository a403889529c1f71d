# mypy: ignore-errors
"""The worker inside a sandbox: it imports a library once and forks for each program.

Python gets this module as text; it imports only the standard library. Always holds: each program runs in its own fork,
with limits; when it ends, all processes that it started are killed and all files that it wrote are deleted; hidden
tests are read by a process that no program can inspect; a value is sent as text, which a program's own `__repr__`
cannot break.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time

from seasoned_telling import PROGRAM, Library, Trace, described, run_program, shown

MAX_RESULT = 4_000_000  # bytes of the answer to a request
MAX_OUTPUT = 1_000_000  # bytes of output, after which a program is ended
SHOWN_OUTPUT = 4000  # characters of output in an answer
MEMORY_FACTOR = 2  # all processes of a program together may use this many times the memory limit of one
KILL_SECONDS = 2.0  # until all processes of a program must have ended


def pack(value, depth=0):
    """A value as JSON for the other process; one that cannot be sent is described by its class."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if depth > 50:
        return {"x": "a value that is nested too deep"}
    for base, key in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "f")):
        if isinstance(value, base):
            return {key: [pack(item, depth + 1) for item in value]}
    if isinstance(value, dict):
        return {"d": [[pack(k, depth + 1), pack(v, depth + 1)] for k, v in value.items()]}
    if isinstance(value, (bytes, bytearray)):
        return {"b": bytes(value).hex()}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, (int, float, str)):
        return kind.__mro__[-2](value)
    if hasattr(value, "__next__"):
        return {"i": [pack(item, depth + 1) for _, item in zip(range(10_000), value)]}
    return {"x": "a " + kind.__name__}


def unpack(packed):
    """The value of a packed one; raises TypeError if it could not be sent."""
    if not isinstance(packed, dict):
        return packed
    ((key, inner),) = packed.items()
    if key in "ltsfi":
        kind = {"l": list, "t": tuple, "s": set, "f": frozenset, "i": iter}[key]
        return kind([unpack(item) for item in inner])
    if key == "d":
        return {unpack(k): unpack(v) for k, v in inner}
    if key == "b":
        return bytes.fromhex(inner)
    if key == "c":
        return complex(*inner)
    raise TypeError("the program gave %s, which cannot be compared" % inner)


def serve_calls(request, library, requests, answers):
    """In the program's own process: run the program, then make the calls of the tests."""
    names, name, broken = library.namespace(), request["entry"], None
    try:
        exec(compile(request.get("code", ""), PROGRAM, "exec"), names)
        if not callable(names.get(name)):
            raise NameError("the program defines no function %s" % name)
    except BaseException as error:
        broken = described(error)
    answers.write(json.dumps({"broken": broken}) + "\n")
    answers.flush()
    for line in requests:
        call = json.loads(line)
        try:
            answer = {"value": pack(names[name](*unpack(call["args"]), **unpack(call["kwargs"])))}
        except BaseException as error:
            answer = {"error": described(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)


class Proxy:
    """Stands for the program's function in the tests; a call asks the program's process."""

    def __init__(self, ask, answers):
        self.ask, self.answers, self.last = ask, answers, ""

    def __call__(self, *args, **kwargs):
        line = Trace("").line("f", args, kwargs)[0]
        self.ask.write(json.dumps({"args": pack(args), "kwargs": pack(kwargs)}) + "\n")
        self.ask.flush()
        answer = self.answers.readline()
        if not answer:
            self.last = line + " ended the program"
            raise RuntimeError("the program ended before it answered")
        answer = json.loads(answer)
        if "error" in answer:
            self.last = "%s raised %s" % (line, answer["error"]["text"])
            kind = getattr(__import__("builtins"), answer["error"]["type"], RuntimeError)
            safe = isinstance(kind, type) and issubclass(kind, Exception)
            raise (kind if safe and kind is not UnicodeDecodeError else RuntimeError)(answer["error"]["text"])
        value = unpack(answer["value"])
        self.last = "%s gave %s" % (line, shown(value, 200)[0]) if not hasattr(value, "__next__") else line
        return value


def run_tests(request, library, hidden_from):
    """Run a program in its own process, and tests here that see only its function's results."""
    ask_read, ask_write = os.pipe()
    answer_read, answer_write = os.pipe()
    if os.fork() == 0:
        keep_only({0, 1, 2, ask_read, answer_write})
        isolate()
        serve_calls(request, library, os.fdopen(ask_read), os.fdopen(answer_write, "w"))
    os.close(ask_read), os.close(answer_write)
    left, parts = request["follows"], []
    while left and (part := os.read(hidden_from, min(left, 65536))):
        parts.append(part)
        left -= len(part)
    hidden = json.loads(b"".join(parts))
    answers = os.fdopen(answer_read)
    first = answers.readline()
    broken = json.loads(first)["broken"] if first else {"type": "SystemExit", "text": "the program ended", "line": 0}
    if broken:
        return {"fault": broken}
    proxy, names = Proxy(os.fdopen(ask_write, "w"), answers), {"__name__": "tests"}
    passed = []
    with contextlib.suppress(Exception):
        exec(compile(hidden.get("setup", ""), "<setup>", "exec"), names)
    names[request["entry"]] = proxy
    for test in hidden["tests"]:
        proxy.last = ""
        try:
            exec(compile(test, "<test>", "exec"), names)
            passed.append({"passed": True})
        except BaseException as error:
            passed.append({"passed": False, "why": described(error)["text"][:300], "last": proxy.last[:500]})
    return {"tests": passed}


def keep_only(numbers):
    """Close all open files except these file descriptors."""
    for number in range(3, 256):
        if number not in numbers:
            with contextlib.suppress(OSError):
                os.close(number)


def set_limits(config, seconds):
    """Limit this process and those that it starts."""
    limits, cpu_seconds = config["limits"], int(seconds) + 1
    kinds = [
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file"]),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ]
    if config.get("alone"):  # else all processes of the user count; sandlock has its own limit
        kinds.append((resource.RLIMIT_NPROC, limits["processes"]))
    for kind, most in kinds:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def in_child(request, library, config, result, output, hidden_from):
    """In the fork: give up privileges and open files, run the request, and write the answer."""
    with contextlib.suppress(OSError):
        os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1), os.dup2(output, 2)
    keep_only({0, 1, 2, result, hidden_from if request["kind"] == "test" else -1})
    home = request["home"]
    os.chdir(home)
    if config.get("user"):
        os.chown(home, config["user"], config["user"])
        os.setgroups([]), os.setgid(config["user"]), os.setuid(config["user"])
        undumpable()
    set_limits(config, request["seconds"])
    if request["kind"] == "test":
        answer = run_tests(request, library, hidden_from)
    elif request["kind"] == "public":
        answer = {"public": library.public(), "version": library.version}
    else:
        isolate()
        answer = run_program(request, library)
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    encoded = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    view = memoryview(encoded if len(encoded) <= MAX_RESULT else b'{"ended": "output"}')
    while view:
        view = view[os.write(result, view) :]


def isolate():
    """Stop this process from inspecting or signalling others, if the kernel has Landlock.

    The processes of a program and of its tests have one user, and the program must not see the tests.
    """
    libc = ctypes.CDLL(None)
    for size in (24, 8):  # older kernels do not know the last two fields
        # Forbids making block devices; signals and abstract sockets reach only the process's own domain.
        rules = (ctypes.c_uint64 * 3)(1 << 11, 0, 3)
        number = libc.syscall(444, ctypes.byref(rules), ctypes.c_size_t(size), 0)
        if number >= 0:
            libc.prctl(38, 1, 0, 0, 0)
            libc.syscall(446, number, 0)
            os.close(number)
            return


def undumpable():
    """Stop other processes from inspecting this one."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def run(request, library, config, hidden_from):
    """Fork for a request, watch the child, and return its answer."""
    result_read, result_write = os.pipe()
    output_read, output_write = os.pipe()
    request["home"] = tempfile.mkdtemp(dir=config["tmp"])
    child = os.fork()
    if child == 0:
        try:
            in_child(request, library, config, result_write, output_write, hidden_from)
        except BaseException:
            pass
        finally:
            os._exit(0)
    os.close(result_write), os.close(output_write)
    received, ended = watch(child, result_read, output_read, request["seconds"], config)
    kill_all(child, config)
    os.close(result_read), os.close(output_read)
    empty(config["tmp"], mounts())
    try:
        answer = json.loads(received[result_read]) if ended == "done" else {}
    except ValueError:
        answer = {}
    if not isinstance(answer, dict) or not answer:
        answer = {"ended": "early" if ended == "done" else ended}
    text = received[output_read].decode("utf-8", "replace")[:SHOWN_OUTPUT]
    return {"ended": "done", **answer, "output": text}


def watch(child, result, output, seconds, config):
    """Read from a child until it ends; return the bytes of each file, and how the child ended."""
    received, most = {result: bytearray(), output: bytearray()}, {result: MAX_RESULT + 1, output: MAX_OUTPUT}
    deadline, open_files, gone = time.monotonic() + seconds, {result, output}, False
    while open_files:
        left = deadline - time.monotonic()
        if left <= 0:
            return received, "time"
        if config.get("alone") and resident() > MEMORY_FACTOR * config["limits"]["memory"]:
            return received, "early"
        ready, _, _ = select.select(list(open_files), [], [], 0 if gone else min(left, 0.02))
        for file in ready:
            part = os.read(file, 65536)
            received[file] += part
            if not part:
                open_files.discard(file)
            elif len(received[file]) > most[file]:
                return received, "output"
        if gone and not ready:
            break
        if not gone:
            gone = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return received, "done"


def kill_all(child, config):
    """Kill a child and all processes that it started."""
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    # In its own process namespace, the worker is one of the first three processes, and no others can be hit.
    if config.get("alone") and os.getpid() <= 3:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
    # A process that left the group became this worker's child when its parent ended.
    deadline = time.monotonic() + KILL_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            for other in children():
                with contextlib.suppress(OSError):
                    os.kill(other, signal.SIGKILL)
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.001)
        os._exit(1)  # a process still runs: the next program gets a new worker


def children():
    """The child processes of this one; none if the kernel does not list them."""
    with contextlib.suppress(OSError), open("/proc/self/task/%d/children" % os.getpid()) as file:
        return [int(number) for number in file.read().split()]
    return []


def resident():
    """Bytes of memory that all visible processes use together."""
    pages = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open("/proc/%s/statm" % name) as file:
                pages += int(file.read().split()[1])
    return pages * resource.getpagesize()


def mounts():
    """The places of all mounts, such as a library below the sandbox's folder for files; none if they are not listed."""
    with contextlib.suppress(OSError), open("/proc/self/mounts") as file:
        return [line.split(" ")[1].replace("\\040", " ") for line in file]
    return []


def empty(folder, mounted=()):
    """Empty a folder except what is mounted in it, so that no program sees the files of another one."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            if not any((place + "/").startswith(path + "/") for place in mounted):
                shutil.rmtree(path, ignore_errors=True)
            elif path not in mounted:
                empty(path, mounted)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)


def main():
    """Serve requests, a JSON line each, until there are no more."""
    requests, answers = os.dup(0), os.fdopen(os.dup(1), "w")
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(devnull, number)
    config = json.loads(line_of(requests))
    config["tmp"] = tempfile.mkdtemp() if config.get("tmp") is None else config["tmp"]
    try:
        library = Library(config)
        started = {"ended": "done", "version": library.version}
    except BaseException as error:
        library, started = None, {"ended": "done", "fault": described(error)}
    undumpable()
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphaned descendants become its children
    answers.write(json.dumps(started) + "\n")
    answers.flush()
    while library is not None and (line := line_of(requests)):
        answer = run(json.loads(line), library, config, requests)
        del line
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def line_of(number):
    """The next line of a file, and no byte more: the rest may be for a child."""
    parts = []
    while True:
        header = os.read(number, 9)  # the length in eight digits, and a line break
        while header and len(header) < 9:
            header += os.read(number, 9 - len(header))
        if not header:
            return b""
        left = int(header)
        while left and (part := os.read(number, min(left, 65536))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


if __name__ == "__main__":
    main()
