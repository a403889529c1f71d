import gc
import sys
from contextlib import contextmanager

from seasoned.embed import embedder
from seasoned.web.site import Site


def test_the_nearest_of_one_pool_or_of_all(store, runs):
    site = Site(store, runs, embedder("hashing"))
    here = site.nearest("look an order up before you refund it", "memory/default")
    assert here[0].lesson.id == "les-1"
    assert [line.lesson.id for line in site.nearest("look an order up", None)] == [line.lesson.id for line in here]
    assert site.nearest("x", "memory/default", "insight") == []


def test_the_first_search_is_made_at_the_start(store, runs):
    site = Site(store, runs, embedder("hashing"))
    site.warming = True
    site.warm()
    assert not site.warming
    assert {"memory/default"} <= set(site._pools)
    Site(store, runs).warm()  # without an embedder it does nothing, and says nothing


def test_it_leaves_the_process_alone_and_is_made_within_what_the_program_gives(store, runs, monkeypatch):
    def settings():
        return gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval()

    seen, before = [], settings()
    nearest = Site.nearest
    monkeypatch.setattr(Site, "nearest", lambda *given: seen.append(settings()) or nearest(*given))

    @contextmanager
    def around():
        seen.append("begun")
        yield
        seen.append("ended")

    Site(store, runs, embedder("hashing")).warm()
    Site(store, runs, embedder("hashing"), around=around).warm()
    assert seen == [before, "begun", before, "ended"]
    assert settings() == before
