import subprocess
import sys

import pytest

metrics = pytest.importorskip("opentelemetry.sdk.metrics", reason="needs the extra otel")
from opentelemetry import metrics as metrics_api  # noqa: E402
from opentelemetry import trace as trace_api  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

from seasoned.errors import StoreError  # noqa: E402
from seasoned.memory import Memory  # noqa: E402
from seasoned.telemetry import observed  # noqa: E402


@pytest.fixture
def seen(monkeypatch):
    """What OpenTelemetry was given: spans, and a reader of metrics."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracing, metering = TracerProvider(), metrics.MeterProvider(metric_readers=[reader])
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace_api, "get_tracer", tracing.get_tracer)
    monkeypatch.setattr(metrics_api, "get_meter", metering.get_meter)
    yield spans, reader
    metering.shutdown()
    tracing.shutdown()


def points(reader):
    found = reader.get_metrics_data()
    parts = [one for resource in found.resource_metrics for scope in resource.scope_metrics for one in scope.metrics]
    return {one.name: list(one.data.data_points) for one in parts}


def test_recall_record_and_learn_are_seen_without_a_word_of_theirs(tmp_path, seen):
    spans, reader = seen
    with Memory(tmp_path / "m.db", method="nearest", embedder="hashing", namespace="shop") as memory:
        memory.add("Look the secret order up.")
        with memory.attempt("Refund the secret order") as attempt:
            attempt.step("look", "it was shipped")
            attempt.finish(success=True)
        memory.learn()
    ended = spans.get_finished_spans()
    assert [one.name for one in ended] == ["seasoned.recall", "seasoned.record", "seasoned.learn"]
    recall, record, learn = (dict(one.attributes) for one in ended)
    assert recall == {"seasoned.operation": "recall", "seasoned.namespace": "shop", "seasoned.recall.lessons": 1}
    assert (record["seasoned.record.steps"], record["seasoned.record.successes"]) == (1, 1)
    assert learn["seasoned.learn.attempts"] == 1
    assert "secret" not in str([one.to_json() for one in ended])
    found = points(reader)
    assert found["seasoned.recall.lessons"][0].value == 1
    assert found["seasoned.record.attempts"][0].value == 1
    times = {one.attributes["seasoned.operation"]: one for one in found["seasoned.duration"]}
    assert sorted(times) == ["learn", "recall", "record"]
    assert all(one.count == 1 and one.sum > 0 for one in times.values())


def test_an_error_is_named(seen):
    spans, reader = seen

    def fail():
        with observed("recall", "shop"):
            raise StoreError("no")

    with pytest.raises(StoreError):
        fail()
    assert spans.get_finished_spans()[0].status.is_ok is False
    assert points(reader)["seasoned.duration"][0].attributes["error.type"] == "StoreError"


def test_a_program_without_it_imports_nothing_for_it():
    program = (
        "import sys; from seasoned.telemetry import observed\n"
        "with observed('recall', 'x') as note: note(lessons=1)\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
