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
