def test_a_snapshot_a_difference_and_the_way_back(client, store):
    page = client.post("/snapshots", data={"scope": "memory/default", "name": "before <b>", "why": "to try"}).text
    assert "before &lt;b&gt;" in page
    assert store.snapshots("memory/default")[0].who == "person"
    lesson = store.get_lesson("les-1")
    store.update_lesson(lesson.model_copy(update={"text": "Other words."}), who="model", why="learned")
    store.remove_lesson("les-2", who="rule")
    page = client.get("/diff", params={"scope": "memory/default", "before": "before <b>"}).text
    assert "<b>1</b><span>changed</span>" in page
    assert "<b>1</b><span>removed</span>" in page
    assert "<ins>Other" in page
    form = {"scope": "memory/default", "when": "before <b>"}
    assert client.post("/rollback", data=form).status_code == 400
    assert client.post("/rollback", data={**form, "sure": "on"}).status_code == 200
    assert store.get_lesson("les-1").text == "Look an order up before you refund it."
    assert store.get_lesson("les-2").status == "active"
    assert store.history("les-1")[-1].who == "person"
    assert "No differences" in client.get("/diff", params={"scope": "memory/default", "before": "before <b>"}).text


def test_wrong_names_are_sentences(client):
    assert "No snapshots yet" in client.get("/snapshots").text
    assert client.post("/snapshots", data={"scope": "nope", "name": "x"}).status_code == 400
    for name in ("", "now"):
        assert client.post("/snapshots", data={"scope": "memory/default", "name": name}).status_code == 400
    for _ in range(2):
        answer = client.post("/snapshots", data={"scope": "memory/default", "name": "twice"})
    assert answer.status_code == 400
    assert "use another name" in answer.text
    assert client.get("/diff", params={"scope": "memory/default", "before": "nope"}).status_code == 400
