"""Learning on the page: an estimate, a button that starts it, its result, and waiting attempts with their reasons.

Always holds: without a model, nothing is learned and the page says how to set one; learning runs in its own thread, one
at a time in each namespace; an error is shown as a sentence.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seasoned.errors import ConfigError, SeasonedError
from seasoned.memory import Learned, Learning, Memory
from seasoned.memory.opening import usual_method
from seasoned.store.pages import attempt_lines
from seasoned.web.lessons import Missing
from seasoned.web.show import redirect, show
from seasoned.web.site import form, namespace_of, namespaces

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from seasoned.llm.clients import AnyModel
    from seasoned.protocols import Embedder
    from seasoned.store.sql import Store

_MAX_SHOWN = 50  # learned lessons, and waiting attempts


@dataclass
class Learner:
    """The memories in which the page learns, with `model` (None: it cannot learn) and `method`.

    If `method` is None, each memory uses the one that it learned with last.
    """

    store: Store
    model: AnyModel | None
    method: str | None
    embedder: Embedder | None
    _memories: dict[str, Memory] = field(default_factory=dict)
    _learnings: dict[str, Learning] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def memory(self, namespace: str) -> Memory:
        """The memory of a namespace, opened once."""
        with self._lock:
            if namespace not in self._memories:
                if namespace != "default" and namespace not in namespaces(self.store):
                    raise Missing(f"there is no namespace {namespace[:80]!r} in this store")
                self._memories[namespace] = Memory(
                    self.store,
                    namespace=namespace,
                    method=self.method or usual_method(self.store, namespace),
                    llm=self.model,
                    learn="manual",
                    judge=self.model is not None,
                    embedder=self.embedder or "hashing",
                )
            return self._memories[namespace]

    def learning(self, namespace: str) -> Learning | None:
        """The last learning that the page started in a namespace."""
        return self._learnings.get(namespace)

    def begin(self, namespace: str) -> None:
        """Start learning, unless it runs already.

        Raises:
            ConfigError: the page has no model.
        """
        if self.model is None:
            raise ConfigError("this page has no model to learn with: start it as in `seasoned serve --llm local`")
        memory = self.memory(namespace)
        with self._lock:
            last = self._learnings.get(namespace)
            if last is None or last.done:
                self._learnings[namespace] = memory.learn(background=True)

    def close(self) -> None:
        """Wait for running learnings, and close all memories."""
        for memory in self._memories.values():
            memory.close()


def learn_page(request: Request) -> Response:
    """The estimate, the last result and the waiting attempts of a namespace."""
    learner = _learner(request)
    names = namespaces(learner.store)
    namespace = namespace_of(request, names)
    memory, learning = learner.memory(namespace), learner.learning(namespace)
    running = learning is not None and not learning.done  # read once: it may end meanwhile
    learned, problem = (None, "") if running or learning is None else _result(learning)
    waiting = memory.waiting()
    shown_ids = list(waiting)[:_MAX_SHOWN]
    lines = attempt_lines(learner.store, shown_ids)
    return show(
        request,
        "learn.html.j2",
        namespace=namespace,
        names=names[:200],
        model=learner.model is not None,
        running=running,
        estimate=memory.to_learn(),
        learned=learned,
        lessons=learned.lessons[:_MAX_SHOWN] if learned else (),
        problem=problem,
        waiting=[(lines[name], waiting[name]) for name in shown_ids if name in lines],
        waits=len(waiting),
    )


def learn_now(request: Request) -> Response:
    """Start learning."""
    namespace = form(request).get("namespace", "")
    _learner(request).begin(namespace)
    return redirect("/learn", namespace=namespace)


def _learner(request: Request) -> Learner:
    learner: Learner = request.app.state.learner
    return learner


def _result(learning: Learning) -> tuple[Learned | None, str]:
    """The result of an ended learning, and the error that stopped it."""
    try:
        return learning.wait(), ""
    except SeasonedError as error:
        return None, str(error)
    except Exception as error:  # a bug, here or in a custom model; the log has the traceback
        return None, f"{type(error).__name__}: {error}"
