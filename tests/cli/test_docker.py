"""The Dockerfile and compose.yaml, without Docker: they parse, name what is there, and their commands start servers."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import seasoned.mcp

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "VOLUME", "ENV", "EXPOSE", "ENTRYPOINT", "CMD"}


@pytest.fixture
def lines():
    """The instructions of the Dockerfile, each with what follows it."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    return [tuple(line.split(" ", 1)) for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture
def started(monkeypatch):
    """Where servers would have listened."""
    pytest.importorskip("uvicorn")
    found = []
    monkeypatch.setattr("seasoned.web.app.serve", lambda app, *, host, port, ready: found.append(("page", host, port)))
    monkeypatch.setattr(
        seasoned.mcp, "serve_http", lambda memory, *, host, port, **more: found.append(("mcp", host, port))
    )
    return found


def test_the_image_is_made_of_what_is_there(lines):
    assert {name for name, _ in lines} == KNOWN
    assert lines[0][0] == "FROM"
    for _, rest in (line for line in lines if line[0] == "COPY"):
        assert all((ROOT / source).exists() for source in shlex.split(rest)[:-1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = re.search(r"/src\[([\w,-]+)\]", dict(lines)["RUN"])[1].split(",")
    assert set(extras) <= set(project["optional-dependencies"])
    copied = " ".join(rest for name, rest in lines if name == "COPY").split()
    assert {project["readme"], *project["license-files"]} <= set(copied)  # else the build fails


def test_the_image_serves_the_page_and_mcp_from_postgres_and_not_as_root(lines):
    given = dict(lines)
    extras = re.search(r"/src\[([\w,-]+)\]", given["RUN"])[1].split(",")
    assert {"web", "mcp", "postgres"} <= set(extras)
    assert int(given["USER"]) > 0  # a number, as a cluster cannot look a name up
    assert f"--uid {given['USER']} seasoned" in given["RUN"]
    assert [name for name, _ in lines].index("USER") > [name for name, _ in lines].index("RUN")
    assert f"chown seasoned {given['VOLUME']}" in given["RUN"]
    assert f"SEASONED_STORE={given['VOLUME']}/" in given["ENV"]


def test_its_commands_start_both_servers(cli, lines, started, monkeypatch):
    given = dict(lines)
    assert json.loads(given["ENTRYPOINT"]) == ["seasoned"]
    done = cli(*json.loads(given["CMD"]), "--embedder", "hashing")
    assert (done.code, started.pop()) == (0, ("page", "0.0.0.0", 8764))
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("page", "mcp"):
        done = cli(*services[name]["command"], "--embedder", "hashing")
        port = services[name]["ports"][0].rpartition(":")[2]
        assert (done.code, started.pop()) == (0, (name, "0.0.0.0", int(port)))
        assert port in given["EXPOSE"].split()
        assert "other machines" in done.err
        assert services[name]["environment"]["SEASONED_STORE"].startswith("postgresql://")
