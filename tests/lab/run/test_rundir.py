"""A run's directory: whole files, one process, and sentences where it cannot be written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seasoned
from seasoned.errors import ConfigError, StoreError
from seasoned.lab.run.rundir import (
    _prompts,
    check_data,
    check_resumable,
    hold,
    make_run_dir,
    manifest,
    recipe_of,
    write_json,
    write_jsonl,
    write_text,
)
from seasoned.types import Task

HOLD = """
import sys
from pathlib import Path
from seasoned.lab.run.rundir import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_new_directory_has_its_recipe(tmp_path, recipe):
    wanted = recipe(name="a/b ü: <x>", run_limits={"cost": 0.5})
    one, two = make_run_dir(tmp_path / "runs", wanted), make_run_dir(tmp_path / "runs", wanted)
    assert one != two
    assert one.parent == tmp_path / "runs"
    assert recipe_of(one) == wanted


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path, recipe):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"expected to make the run's folder.*--runs"):
        make_run_dir(tmp_path / "file", recipe())
    with pytest.raises(StoreError, match="expected to write"):
        write_text(tmp_path / "none" / "a.json", "x")
    with pytest.raises(StoreError, match="expected to write into the run's folder"), hold(tmp_path / "none"):
        pass


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path):
    file = tmp_path / "a.txt"
    write_text(file, "old")
    with pytest.raises(StoreError, match="surrogates"):
        write_text(file, "new \ud800")
    assert file.read_text() == "old"
    write_text(file, "new")
    assert file.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_rows_carry_their_version_and_any_text(tmp_path):
    file = tmp_path / "rows.jsonl"
    write_jsonl(file, [Task(id="1", text="a\nb\u2028c 🙂 مرحبا"), Task(id="2", text="")])
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    assert [(row["schema_version"], row["text"]) for row in rows] == [(1, "a\nb\u2028c 🙂 مرحبا"), (1, "")]
    write_json(tmp_path / "a.json", {"ü": 1})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"ü": 1}


def test_two_processes_never_work_on_one_run(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ConfigError, match="another process is working on"), hold(tmp_path):
            pass
        other.kill()
    with hold(tmp_path):
        pass


def test_only_what_does_not_decide_the_results_may_change(tmp_path, recipe):
    path = make_run_dir(tmp_path, recipe())
    check_resumable(path, recipe(workers=9, run_limits={"calls": 1}))
    with pytest.raises(ConfigError, match="keeps its settings"):
        check_resumable(path, recipe(train=7))


def test_the_manifest_says_where_results_came_from(recipe):
    def made(*tasks):
        return manifest(recipe(), run_id="r", model="m", source="s", tasks=tasks)

    one = made("a", "b")
    assert one["recipe"] == recipe().digest
    assert one["data"]["sha256"] == made("a", "b")["data"]["sha256"] != made("ab")["data"]["sha256"]
    assert {"seasoned", "openai", "numpy"} <= set(one["libraries"]) | {"seasoned"}
    assert len(one["prompts"]["sha256"]) == 64
    assert json.loads(json.dumps(one)) == one


def test_the_manifest_knows_every_prompt_of_a_run():
    elsewhere = ("memory", "proof")  # whose prompts are in no run
    files = Path(seasoned.__file__).parent.glob("**/prompts/*")
    there = {file.read_text(encoding="utf-8") for file in files if file.parts[-3] not in elsewhere}
    assert there == set(_prompts())


@pytest.mark.parametrize("said", [None, "{", "[]", "{}", '{"data": 3}', '{"data": {"sha256": ""}}'])
def test_a_manifest_that_does_not_say_which_tasks_refuses_none(tmp_path, said):
    if said is not None:
        (tmp_path / "manifest.json").write_text(said)
    check_data(tmp_path, "here", ["a"])


def test_other_tasks_than_the_manifests_are_refused_with_both_sources(tmp_path, recipe):
    made = manifest(recipe(), run_id="r", model="m", source="there", tasks=["a"])
    write_json(tmp_path / "manifest.json", made)
    check_data(tmp_path, "elsewhere", ["a"])
    with pytest.raises(ConfigError, match="from there then, from here now; bring back the data"):
        check_data(tmp_path, "here", ["b"])
