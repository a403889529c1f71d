"""Learning on the page: what it would take, a button that begins it, what came of it, and what waits for what.

Always holds: without a model nothing is learned, and the page says how to give it one; learning goes on in a thread of
its own, once at a time in a namespace; what stops it is a sentence.
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

_SHOWN = 50  # lessons that were learned, attempts that wait


@dataclass
class Learner:
    """The memories that a page learns in.

    `model` is what they learn with (None: nothing), `method` how (None: each as it learned last).
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
        """The last learning that was begun here."""
        return self._learnings.get(namespace)

    def begin(self, namespace: str) -> None:
        """Begin to learn, unless that goes on already.

        Raises:
            ConfigError: there is no model.
        """
        if self.model is None:
            raise ConfigError("this page has no model to learn with: start it as in `seasoned serve --llm local`")
        memory = self.memory(namespace)
        with self._lock:
            last = self._learnings.get(namespace)
            if last is None or last.done:
                self._learnings[namespace] = memory.learn(background=True)

    def close(self) -> None:
        """Wait for what goes on, and close what was opened."""
        for memory in self._memories.values():
            memory.close()


def learn_page(request: Request) -> Response:
    """What learning would take in a namespace, what came of it, and what waits."""
    learner = _learner(request)
    names = namespaces(learner.store)
    namespace = namespace_of(request, names)
    memory, learning = learner.memory(namespace), learner.learning(namespace)
    running = learning is not None and not learning.done  # once: it may end meanwhile
    learned, trouble = (None, "") if running or learning is None else _result(learning)
    waiting = memory.waiting()
    chosen = list(waiting)[:_SHOWN]
    lines = attempt_lines(learner.store, chosen)
    return show(
        request,
        "learn.html.j2",
        namespace=namespace,
        names=names[:200],
        model=learner.model is not None,
        running=running,
        estimate=memory.to_learn(),
        learned=learned,
        lessons=learned.lessons[:_SHOWN] if learned else (),
        trouble=trouble,
        waiting=[(lines[name], waiting[name]) for name in chosen if name in lines],
        waits=len(waiting),
    )


def learn_now(request: Request) -> Response:
    """Begin to learn."""
    namespace = form(request).get("namespace", "")
    _learner(request).begin(namespace)
    return redirect("/learn", namespace=namespace)


def _learner(request: Request) -> Learner:
    learner: Learner = request.app.state.learner
    return learner


def _result(learning: Learning) -> tuple[Learned | None, str]:
    """What came of one that has ended, and what stopped it."""
    try:
        return learning.wait(), ""
    except SeasonedError as error:
        return None, str(error)
    except Exception as error:  # a fault of ours, or of somebody's model; the log has its traceback
        return None, f"{type(error).__name__}: {error}"
