"""A model in this process: llama.cpp's server on loopback, used like any other OpenAI-compatible server.

Always holds: the server listens only on 127.0.0.1, on a port that the system picks, with a random key and no access for
pages of other origins; nothing is printed; `close` ends the server even while it answers, and frees its memory.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import socket
import stat
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from seasoned.errors import ConfigError, InfrastructureError, LLMError, MissingExtraError, ModelFileError, RequestError
from seasoned.llm import modelfile
from seasoned.llm.calls import Tool
from seasoned.llm.llamacpp import LEADING_SLOT, SharedPrefixes, call_schema, is_choice
from seasoned.llm.openai import OpenAIChat
from seasoned.llm.tools import in_words, with_calls
from seasoned.types import Message, Reply, Usage

_REPLY_SECONDS = 600.0
_BATCH = 512
_PROMPT_CACHE_MIB = 1024
log = logging.getLogger(__name__)

_SLEEPING_THREADS = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "2000"}


class LocalModel:
    """A GGUF model, served in this process while this object is open. Safe to share between threads.

    Args:
        path: a known model's short name (None: the default; `modelfile.pull` downloads it) or the path of a GGUF file.
        slots: the number of replies generated at once; each slot has its own prefix cache.
        context: the most tokens of prompt and reply together, per slot.
        threads: threads of the computation; None: one for each core that this process may use.
        seed: sent with every request.

    `base_url` is the server's address, such as "http://127.0.0.1:40123/v1", and `api_key` its key.

    Raises:
        ConfigError: a number is out of range.
        MissingExtraError: the library xllamacpp is not installed.
        ModelFileError: the file is missing or damaged, the library cannot be loaded, or the model does not start.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        slots: int = 2,
        context: int = 4096,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        for what, number, least in (("slots", slots, 1), ("context", context, 256), ("threads", threads, 1)):
            if number is not None and number < least:
                raise ConfigError(f"{what} of a local model must be at least {least}, not {number}")
        self.path = modelfile.resolve(path)
        self.name = self.path.stem.lower()
        self.slots, self.window, self.api_key = slots, context, secrets.token_urlsafe(24)
        self._folder = Path(mkdtemp(prefix="seasoned-slots-"))
        try:
            server = _start(self.path, self.api_key, slots, context, threads or usable_cores(), self._folder)
        except BaseException:
            self._folder.rmdir()
            raise
        self._address: str = server.listening_address
        self.base_url = f"{self._address}/v1"
        self._stop = weakref.finalize(self, _stop, [server], int(self._address.rsplit(":", 1)[1]), self._folder)
        del server
        options: dict[str, Any] = {"base_url": self.base_url, "api_key": self.api_key, "seed": seed, "max_retries": 0}
        self._chat = OpenAIChat(self.name, timeout=_REPLY_SECONDS, **options)
        self._leading = OpenAIChat(self.name, timeout=_REPLY_SECONDS, extra_body={"id_slot": LEADING_SLOT}, **options)
        self._without_grammar: set[str] = set()  # schemas that the library cannot turn into a grammar
        self._changed = threading.Condition()
        self._calls = 0
        self._closed = False
        self._prefixes = SharedPrefixes(self._address, self.api_key, slots, self._folder)

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r}, {'closed' if self._closed else self._address})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        tools: Sequence[Tool] | None = None,
        tool_choice: str = "auto",
    ) -> Reply:
        """Get one reply, at a cost of 0; see `OpenAIChat.chat`.

        With tools, a grammar limits the reply to one valid call with a thought before it (or a text, if `tool_choice`
        is auto). Without the grammar, small models write about tools instead of calling them.

        Raises:
            InfrastructureError: the model is closed, or was closed while it answered.
            LLMError: as in `OpenAIChat.chat`.
        """
        with self._changed:
            if self._closed:
                raise InfrastructureError(f"the local model {self.name} is closed: open it again to ask it")
            self._calls += 1
        limits: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature}
        prompt = in_words(messages, tools, tool_choice) if tools else messages

        def ask(leads: bool) -> Reply:
            chat = self._leading if leads else self._chat
            if tools and tool_choice != "none":
                reply = self._call(chat, prompt, tools, tool_choice, limits)
            elif schema is not None and is_choice(schema):
                reply = chat.choose(prompt, schema["enum"], **limits)
            else:
                reply = chat.chat(prompt, schema=schema, stop=stop, **limits)
            return reply.model_copy(update={"usage": reply.usage.model_copy(update={"cost": 0.0})})

        try:
            return self._prefixes.ask(prompt, ask)
        except LLMError as error:
            if self._closed:
                raise InfrastructureError(f"the local model {self.name} was closed while it answered") from error
            raise
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()

    def _call(
        self, chat: OpenAIChat, prompt: Sequence[Message], tools: Sequence[Tool], choice: str, limits: dict[str, Any]
    ) -> Reply:
        """Get one call, or a text if allowed; tools whose schema no grammar supports are explained in words."""
        spent = Usage()
        for plain in (False, True):
            schema = call_schema(tools, choice, limits["max_tokens"], plain)
            key = json.dumps(schema, sort_keys=True, default=str)
            if key in self._without_grammar:
                continue
            try:
                reply = chat.held(prompt, _library().json_schema_to_grammar(schema), **limits)
            except (RequestError, RuntimeError, ValueError) as error:
                log.info("no grammar for the tools: %s", error)
                reply = None
            spent += reply.usage if reply else Usage()
            # llama.cpp silently ignores what it does not support; a reply limited by the grammar begins as an object.
            if reply and reply.text.startswith("{"):
                return with_calls(reply.model_copy(update={"usage": spent}), tools)
            self._without_grammar.add(key)
        reply = chat.chat(prompt, **limits)
        return with_calls(reply.model_copy(update={"usage": spent + reply.usage}), tools)

    def close(self) -> None:
        """End the server and free the model; pending replies fail. Closing twice does nothing."""
        with self._changed:
            self._closed = True
            end = time.monotonic() + _REPLY_SECONDS
            # The library holds the GIL while its server ends, so no thread may still wait for a reply.
            while self._calls and self._stop.alive and time.monotonic() < end:
                _hang_up(int(self._address.rsplit(":", 1)[1]))
                self._changed.wait(0.05)
        self._chat.close()
        self._leading.close()
        self._stop()


def usable_cores() -> int:
    """The number of cores that this process may use; with more threads, llama.cpp is many times slower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):
        return cores


def _library() -> Any:
    # Threads that spin while they wait block each other when another process needs a core (measured: 20 times slower),
    # so they must sleep. GNU's spin 2,000 turns first: a quarter faster alone, and a tenth slower beside other work,
    # where 5,000 turns halved the speed. The OpenMP library reads these variables once, when it is loaded.
    sets_variables = "xllamacpp" not in sys.modules and not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sets_variables:
        os.environ.update(_SLEEPING_THREADS)
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise MissingExtraError("local", "xllamacpp") from error
    except ImportError as error:
        raise ModelFileError(
            f"the library xllamacpp is installed but cannot be loaded ({error}): it needs glibc 2.35 or newer and"
            " libgomp (Debian and Ubuntu: apt-get install libgomp1)"
        ) from error
    finally:
        if sets_variables:
            for name in _SLEEPING_THREADS:
                del os.environ[name]
    return xllamacpp


def _start(path: Path, api_key: str, slots: int, context: int, threads: int, folder: Path) -> Any:
    library = _library()
    params = library.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem.lower()}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [api_key]
    # The server allows one origin to read replies; this one does not exist.
    params.cors_origins, params.cors_credentials = "https://nobody.invalid", False
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.endpoint_metrics = True
    params.slot_save_path = f"{folder}/"
    params.offline = True
    params.verbosity = -1
    params.n_parallel, params.n_ctx, params.kv_unified = slots, slots * context, False
    params.n_batch = params.n_ubatch = _BATCH
    params.cache_prompt, params.cache_ram_mib = True, _PROMPT_CACHE_MIB
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    try:
        server = library.Server(params)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise ModelFileError(
            f"llama.cpp could not start the model {path} ({path.stat().st_size / 1e9:.1f} GB) with {slots} slots of"
            f" {context:,} tokens: the file may be damaged (`seasoned model check`) or of a kind that this version of"
            " xllamacpp does not know; or memory is short: try fewer slots, a smaller context or a smaller model"
        ) from error
    # The constructor returns before the server's loop begins, and a stop request at that moment is lost, so `close`
    # would wait forever. The loop answers this request, so it runs afterwards.
    server.handle_metrics()
    return server


def _stop(held: list[Any], port: int, folder: Path) -> None:
    _hang_up(port)
    held.clear()
    shutil.rmtree(folder, ignore_errors=True)


def _hang_up(port: int) -> None:
    """Cut every connection of this process from or to the local port, if the system has /dev/fd."""
    try:
        descriptors = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208 - the names are numbers, not paths
    except OSError:
        return
    for descriptor in descriptors:
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                ends = (connection.getsockname(), connection.getpeername())
                if any(isinstance(end, tuple) and end[1] == port for end in ends):
                    connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue  # not connected, or closed meanwhile
