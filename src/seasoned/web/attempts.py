"""Attempts on the page: the list, one attempt in full with its outcome, and learning from new ones.

Always holds: a cut conversation says so; a verdict is signed by "person"; without a model, nothing is learned and the
page says how to set one; learning runs in its own thread, one at a time in each namespace; an error is a sentence.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from seasoned.errors import ConfigError, SeasonedError
from seasoned.llm.clients import AnyModel
from seasoned.memory import Learned, Learning, Memory
from seasoned.memory.opening import usual_method
from seasoned.protocols import Embedder
from seasoned.store import pages
from seasoned.store.pages import attempt_lines
from seasoned.store.sql import Store
from seasoned.traces.conversation import conversation
from seasoned.web.lessons import Missing, chosen
from seasoned.web.site import (
    PAGE,
    asked,
    form,
    namespace_of,
    namespaces,
    partial,
    place,
    redirect,
    show,
    site_of,
    with_name,
)

ENDED = ("yes", "no", "unknown")
_MAX_MESSAGES = 80  # of a conversation, unless the visitor asks for all
_MAX_SHOWN = 50  # learned lessons, and waiting attempts


def attempt_list(request: Request) -> Response:
    """The attempts, newest first."""
    store = site_of(request).store
    filters = {name: asked(request, name) for name in ("q", "scope", "run")}
    filters["ended"] = chosen(request, "ended", ENDED)
    page = pages.attempt_page(
        store,
        scope=filters["scope"] or None,
        run_id=filters["run"] or None,
        success=filters["ended"],
        query=filters["q"],
        before=place(request),
        limit=PAGE + 1,
    )
    values = {"lines": page[:PAGE], "more": len(page) > PAGE, "asked": filters}
    if partial(request):
        return show(request, "attempt_rows.html.j2", **values)
    return show(request, "attempts.html.j2", **values, scopes=store.scopes(), ended=ENDED)


def attempt_page(request: Request) -> Response:
    """One attempt: its task, conversation and outcome, and the lessons that it was shown or taught."""
    store = site_of(request).store
    attempt_id = asked(request, "id")
    attempt = store.get_trajectory(attempt_id)
    if attempt is None:
        raise Missing(f"there is no attempt {attempt_id[:80]!r} in this store; it may be in another, or deleted")
    show_all, messages = asked(request, "all") == "1", conversation(attempt)
    shown_messages = messages if show_all else messages[:_MAX_MESSAGES]
    return show(
        request,
        "attempt.html.j2",
        attempt=attempt,
        line=attempt_lines(store, [attempt.id])[attempt.id],
        show_all=show_all,
        messages=shown_messages,
        left_out=len(messages) - len(shown_messages),
        verdicts=[one for one in attempt.meta.get("verdicts", ()) if isinstance(one, dict)],
        flags=[str(flag) for flag in attempt.meta.get("flags", ())],
        shown=store.get_lessons(attempt.lesson_ids[:50]),
        made=pages.lessons_of(store, attempt.id),
    )


def outcome(request: Request) -> Response:
    """Set the outcome of a memory's attempt."""
    store, fields = site_of(request).store, form(request)
    attempt_id, ended = fields.get("id", ""), fields.get("ended", "")
    line = attempt_lines(store, [attempt_id]).get(attempt_id)
    if line is None:
        raise Missing(f"there is no attempt {attempt_id[:80]!r} in this store; it may have been deleted")
    side, _, namespace = line.scope.partition("/")
    if ended not in ("yes", "no") or side not in ("memory", "flagged"):
        raise ConfigError("the outcome of a memory's attempt is yes or no: use the buttons on its page")
    with Memory(store, namespace=namespace, method="nearest", embedder=None) as memory:
        memory.outcome(attempt_id, ended == "yes", why=with_name(request, fields.get("why", "")))
    return redirect("/attempt", id=attempt_id, done="outcome")


@dataclass
class Learner:
    """The memories in which the page learns, with `model` (None: it cannot learn) and `method`.

    If `method` is None, each memory uses the one that it learned with last. `learnings` has the last one by namespace.
    """

    store: Store
    model: AnyModel | None
    method: str | None
    embedder: Embedder | None
    learnings: dict[str, Learning] = field(default_factory=dict)
    _memories: dict[str, Memory] = field(default_factory=dict)
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

    def begin(self, namespace: str) -> None:
        """Start learning, unless it runs already; ConfigError if the page has no model."""
        if self.model is None:
            raise ConfigError("this page has no model to learn with: start it as in `seasoned serve --llm local`")
        memory = self.memory(namespace)
        with self._lock:
            last = self.learnings.get(namespace)
            if last is None or last.done:
                self.learnings[namespace] = memory.learn(background=True)

    def close(self) -> None:
        """Wait for running learnings, and close all memories."""
        for memory in self._memories.values():
            memory.close()


def learn_page(request: Request) -> Response:
    """The estimate, the last result and the waiting attempts of a namespace."""
    learner: Learner = request.app.state.learner
    names = namespaces(learner.store)
    namespace = namespace_of(request, names)
    memory, learning = learner.memory(namespace), learner.learnings.get(namespace)
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
    namespace, learner = form(request).get("namespace", ""), request.app.state.learner
    learner.begin(namespace)
    return redirect("/learn", namespace=namespace)


def _result(learning: Learning) -> tuple[Learned | None, str]:
    """The result of an ended learning, and the error that stopped it."""
    try:
        return learning.wait(), ""
    except SeasonedError as error:
        return None, str(error)
    except Exception as error:  # a bug, here or in a custom model; the log has the traceback
        return None, f"{type(error).__name__}: {error}"
