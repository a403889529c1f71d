import json
import shutil

import pytest

FIRST, SECOND, THIRD = "20310405T101112-emoji-aaaaaa", "20310406T101112-emoji-bbbbbb", "20310407T101112-emoji-cccccc"


def test_the_list_has_folders_and_what_the_store_alone_knows(client, store):
    store.add_run("r-in-store", "demo", "/etc", {})
    page = client.get("/runs").text
    for name in (FIRST, SECOND, THIRD, "r-in-store"):
        assert name in page
    assert "not complete" in page


@pytest.mark.parametrize("run", ["x", ["x"], None])
def test_an_odd_summary_in_the_store_hides_no_run(client, store, run):
    store.add_run("r-odd", "demo", "/etc", {})
    store.finish_run("r-odd", "complete", {"headline": "hi", "run": run})
    assert FIRST in client.get("/runs").text
    assert client.get("/run?id=r-odd").status_code == 200


def test_one_run(client):
    page = client.get(f"/run?id={SECOND}").text
    assert "Test episodes" in page
    assert "6/8" in page
    assert "/run/figures" in page
    assert client.get(f"/run?id={THIRD}").status_code == 200
    assert client.get("/run?id=nope").status_code == 404


def test_figures_are_drawn_and_allowed_no_script(client):
    answer = client.get(f"/run/figures?id={FIRST}")
    assert "<svg" in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "style-src 'self'; style-src-attr 'unsafe-inline'" in answer.headers["content-security-policy"]
    assert "before the run is complete" in client.get(f"/run/figures?id={THIRD}").text


def test_the_report_may_run_nothing(client):
    answer = client.get(f"/run/report?id={FIRST}")
    assert "the report" in answer.text
    assert "sandbox" in answer.headers["content-security-policy"]
    assert client.get(f"/run/report?id={THIRD}").status_code == 404


def test_nothing_outside_the_folder_is_read(client, runs, tmp_path):
    secret = tmp_path / "elsewhere"
    shutil.copytree(runs / FIRST, secret)
    (runs / "linked").symlink_to(secret)
    (runs / THIRD / "report.html").symlink_to(secret / "report.html")
    for name in ("linked", "../elsewhere", str(secret), "..", ".", "/etc", "%2e%2e/elsewhere"):
        for path in ("/run", "/run/report", "/run/figures", "/compare"):
            answer = client.get(path, params={"id": name, "run": name})
            assert answer.status_code == 404
            assert "the report" not in answer.text
    assert client.get(f"/run/report?id={THIRD}").status_code == 404


def test_comparing(client):
    assert "Choose two runs" in client.get("/compare").text
    page = client.get("/compare", params={"run": [FIRST, SECOND]}).text
    assert "points" in page
    assert "Pairs are the same condition" in page
    assert client.get("/compare", params={"run": [FIRST, THIRD]}).status_code == 400


@pytest.mark.parametrize("content", ["no lessons", '{"headline": 3, "run": null}', "["])
def test_a_summary_of_another_form_is_said_and_hides_no_run(client, runs, content):
    file = runs / FIRST / "summary.json"
    if content == "no lessons":
        summary = json.loads(file.read_text())
        del summary["lessons"]
        content = json.dumps(summary)
    file.write_text(content)
    page = client.get(f"/run?id={FIRST}")
    assert page.status_code == 200
    assert "cannot be read" in page.text
    assert SECOND in client.get("/runs").text
    assert client.get("/compare", params={"run": [FIRST, SECOND]}).status_code == 400


def test_a_summary_in_the_store_is_shown(client, runs, store):
    store.add_run("r-in-store", "demo", "/etc", {})
    store.finish_run("r-in-store", "complete", json.loads((runs / SECOND / "summary.json").read_text()))
    assert "6/8" in client.get("/run?id=r-in-store").text
