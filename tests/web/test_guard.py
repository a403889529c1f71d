import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page import HOST, TOKEN, visit
from starlette.testclient import TestClient

from seasoned.store.tokens import add_token, remove_token
from seasoned.web.app import make_app
from seasoned.web.guard import MAX_BODY, _host_fits


@pytest.fixture
def stranger(store, runs):
    """A browser that has not been let in."""
    return TestClient(make_app(store, token=TOKEN, runs_folder=runs), base_url=HOST)


def test_without_the_token_nothing_is_shown(stranger):
    for path in (
        "/",
        "/lessons",
        "/lesson?id=les-1",
        "/lessons?token=wrong",
        "/lessons?token=%00%ff",
        "/run/report?id=x",
    ):
        answer = stranger.get(path, follow_redirects=False)
        assert answer.status_code == 403
        assert "order" not in answer.text
    stranger.cookies.set("seasoned-00000000", TOKEN)
    assert stranger.get("/lessons").status_code == 403
    assert stranger.post("/lesson/add", headers={"origin": HOST}).status_code == 403


def test_the_address_lets_in_and_the_token_leaves_it(stranger):
    answer = stranger.get(f"/?token={TOKEN}")
    assert "url=/" in answer.text
    assert TOKEN not in answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert stranger.get("/lessons").status_code == 200


def test_another_programs_cookie_locks_nobody_out(stranger):
    own = stranger.get(f"/?token={TOKEN}").headers["set-cookie"].split(";")[0]
    stranger.cookies.clear()
    for odd in ('prefs={"theme":"dark"}', "a=b c", "flag", "k[a]=1", "theme=dark", "="):
        for header in (f"{odd}; {own}", f"{own}; {odd}", f'{odd};{own.replace("=", "=" + chr(34))}"'):
            assert stranger.get("/no/such", headers={"cookie": header}).status_code == 404


def test_another_host_is_refused_everywhere(client):
    for host in ("evil.example", "evil.example:8764", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1"):
        assert client.get("/lessons", headers={"host": host}).status_code == 421
        assert client.get("/static/style.css", headers={"host": host}).status_code == 421
    for host in ("localhost:1", "127.0.0.1", "[::1]:8764", "LOCALHOST"):
        assert client.get("/lessons", headers={"host": host}).status_code == 200


def test_offered_elsewhere_any_address_but_no_foreign_name(store, runs):
    app = make_app(store, token=TOKEN, runs_folder=runs, host="0.0.0.0")
    client = visit(app)
    assert client.get("/lessons", headers={"host": "192.168.0.9:8764"}).status_code == 200
    assert client.get("/lessons", headers={"host": "evil.example"}).status_code == 421


def test_a_write_needs_its_own_origin(client, store):
    form = {"id": "les-1", "version": "1", "action": "delete"}
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8764", ""):
        assert client.post("/lesson/do", data=form, headers={"origin": origin}).status_code == 403
    assert client.request("DELETE", "/lesson/do").status_code == 405
    assert client.post("/lesson/do", json=form).status_code == 415
    assert store.get_lesson("les-1").status == "active"


def test_reading_never_writes(client, store):
    before = store.changes("memory/default")
    client.get("/lesson/do?id=les-1&version=1&action=delete")
    client.get("/rollback?scope=memory/default&when=x&sure=on")
    assert store.changes("memory/default") == before


def test_forms_have_a_limit(client):
    body = b"text=" + b"x" * MAX_BODY
    answer = client.post("/lesson/add", content=body, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 413
    many = "&".join(f"a{i}=1" for i in range(600))
    answer = client.post("/lesson/add", content=many, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 400


def test_every_answer_carries_the_headers(client, stranger):
    for answer in (
        client.get("/lessons"),
        client.get("/nope"),
        client.get("/static/keys.js"),
        stranger.get("/lessons"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


def test_no_page_has_a_script_or_a_style_of_its_own(client):
    for path in ("/lessons", "/lesson?id=les-1", "/lesson/edit?id=les-1", "/attempts", "/attempt?id=tra-1", "/runs"):
        page = client.get(path).text
        assert "<style" not in page
        assert " style=" not in page
        assert page.count("<script") == page.count('<script src="/static/')
        assert "onclick" not in page


def test_files_outside_the_static_folder_are_not_served(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fguard.py"):
        assert client.get(path).status_code == 404


@settings(max_examples=50)
@given(st.text(max_size=80))
def test_no_host_raises(text):
    _host_fits(text, "")
    _host_fits(text, "box")


def test_an_address_with_too_many_parts_is_refused_in_a_sentence(client, stranger):
    for browser in (client, stranger):
        answer = browser.get("/lessons?" + "a=1&" * 150)
        assert answer.status_code == 400
        assert "too many" in answer.text


def test_named_tokens_have_roles_and_sign_what_they_change(store, runs):
    app = make_app(store, token=TOKEN, runs_folder=runs)
    people = {}
    for name, role in (("ann", "editor"), ("bob", "reader")):
        people[name] = visit(app, add_token(store, name, role))
        page = people[name].get("/lessons").text
        assert f"You are <bdi>{name}</bdi>, {role}." in page
        assert ('<body class="reader">' in page) == (role == "reader")
    form = {"id": "les-1", "version": "1", "action": "disable"}
    answer = people["bob"].post("/lesson/do", data=form)
    assert (answer.status_code, "may only read" in answer.text) == (403, True)
    assert people["ann"].post("/lesson/do", data=form).status_code == 200
    assert store.history("les-1")[-1].who == "person ann"
    assert "by person ann" in people["ann"].get("/lesson?id=les-1").text
    remove_token(store, "ann")
    assert people["ann"].get("/lessons").status_code == 403
