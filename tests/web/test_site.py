from seasoned.embed import embedder
from seasoned.web.site import Site


def test_the_nearest_of_one_pool_or_of_all(store, runs):
    site = Site(store, runs, embedder("hashing"))
    here = site.nearest("look an order up before you refund it", "memory/default")
    assert here[0].lesson.id == "les-1"
    assert [line.lesson.id for line in site.nearest("look an order up", None)] == [line.lesson.id for line in here]
    assert site.nearest("x", "memory/default", "insight") == []
