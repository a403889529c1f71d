"""Spans and metrics of recall, record and learn, for programs with OpenTelemetry (extra `otel`).

Always holds: without an import of OpenTelemetry by the program, nothing is imported or measured; spans and metrics have
counts, times and the namespace, but no text of a task, an attempt or a lesson.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

Note = Callable[..., None]
"""Called with counts by name, such as `lessons=3`."""


@contextmanager
def observed(what: str, namespace: str) -> Iterator[Note]:
    """A span `seasoned.WHAT` around the block, its time as `seasoned.duration`, and its counts as `seasoned.WHAT.NAME`.

    `what` is recall, record or learn.
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    metrics: Any = sys.modules.get("opentelemetry.metrics")
    counts: dict[str, int] = {}
    if trace is None and metrics is None:
        yield lambda **more: None
        return
    where = {"seasoned.operation": what, "seasoned.namespace": namespace}
    begun, failed = time.perf_counter(), "none"
    tracer = trace.get_tracer("seasoned") if trace else None
    try:
        if tracer is None:
            yield counts.update
            return
        with tracer.start_as_current_span(f"seasoned.{what}", attributes=where) as span:
            yield counts.update
            span.set_attributes({f"seasoned.{what}.{name}": count for name, count in counts.items()})
    except BaseException as error:
        failed = type(error).__name__
        raise
    finally:
        if metrics is not None:
            elapsed, get = time.perf_counter() - begun, metrics.get_meter
            _instrument(get, "create_histogram", "seasoned.duration").record(elapsed, {**where, "error.type": failed})
            for name, count in counts.items():
                _instrument(get, "create_counter", f"seasoned.{what}.{name}").add(count, where)


@cache
def _instrument(get_meter: Callable[[str], Any], make: str, name: str) -> Any:
    """One instrument for each name; one made before the program configures metrics uses that configuration later."""
    return getattr(get_meter("seasoned"), make)(name, unit="s" if make == "create_histogram" else "1")
