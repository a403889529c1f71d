"""mini-swe-agent with the bundled model on three tiny repairs, before and after Seasoned has read its sessions.

Run it: python experiments/mini_swe.py --mini /path/to/mini --folder FOLDER [--steps 10] [--seconds 150] [--plain]
`mini` is mini-swe-agent's program, in an environment that also has pytest. Each repair is a folder with one fault and a
test that shows it; the source is in `src`, so tests run only with PYTHONPATH=src. The agent can write in that folder
alone (bubblewrap). First each repair is tried without lessons, and its session is imported; then each is tried again
with the output of `seasoned hook recall` below the request. The result is whether the tests pass at the end.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from seasoned.llm.local import LocalModel

REPAIRS = {
    "price": (
        "total() in src/shop/price.py gives a wrong sum",
        "def total(prices):\n    return sum(prices[1:])\n",
        "from shop.price import total\n\n\ndef test_total():\n    assert total([1, 2, 3]) == 6\n",
    ),
    "slug": (
        "slug() in src/shop/slug.py keeps capital letters",
        'def slug(title):\n    return title.strip().replace(" ", "-")\n',
        'from shop.slug import slug\n\n\ndef test_slug():\n    assert slug(" Red Lamp") == "red-lamp"\n',
    ),
    "days": (
        "is_leap() in src/shop/days.py says that 1900 was a leap year",
        "def is_leap(year):\n    return year % 4 == 0\n",
        "from shop.days import is_leap\n\n\ndef test_leap():\n    assert is_leap(2000)\n    assert not is_leap(1900)\n",
    ),
}


SYSTEM = """You repair Python programs with shell commands. Answer with one short sentence, then exactly one command:

```bash
COMMAND
```

You see what the command printed, and give the next one. Edit with sed, such as: sed -i 's/old text/new text/' FILE
When the tests pass, end with: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"""
"""Much shorter than mini-swe-agent's default, which is too long for a model of 1.5 billion parameters."""


def main():
    """Try all repairs twice, and print each result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mini", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--plain", action="store_true", help="with mini-swe-agent's own prompts")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    store = args.folder / "notes.db"
    with LocalModel(slots=1, context=8192) as model:
        for known in (False, True):
            for name, (fault, _, _) in REPAIRS.items():
                task = f"{fault}. Repair it, and run the tests until they pass."
                advice = seasoned("hook", "recall", "--store", store, given={"prompt": task}) if known else ""
                print(json.dumps({"known": known, **tried(args, model, name, f"{task}\n\n{advice}".strip(), known)}))
            if not known:
                for session in sorted(args.folder.glob("*-first.traj.json")):
                    print(seasoned("import", session, "--store", store))
                print(seasoned("lessons", "list", "--store", store))
    print(seasoned("attempts", "--store", store))
    seasoned("export", "--store", store, "--format", "agents-md", "--output", args.folder / "AGENTS.md")


def tried(args, model, name, task, known):
    """Run one session of the agent in a fresh folder."""
    _, source, test = REPAIRS[name]
    folder = args.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in (("src/shop/__init__.py", ""), (f"src/shop/{name}.py", source), (f"tests/test_{name}.py", test)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    session = folder / "session.traj.json"
    settings = {
        "agent.step_limit": args.steps,
        "agent.wall_time_limit_seconds": args.seconds,
        "model.model_kwargs.api_base": model.base_url,
        "model.model_kwargs.api_key": model.api_key,
        "model.model_kwargs.temperature": 0,
        "model.model_kwargs.max_tokens": 250,
        **({} if args.plain else {"agent.system_template": SYSTEM, "agent.instance_template": "{{task}}"}),
        **({} if args.plain else {"model.action_regex": r"```(?:bash|sh)\s*\n(.*?)\n```"}),
    }
    words = [args.mini, "-m", "openai/local", "--model-class", "litellm_textbased", "--agent-class", "default"]
    words += ["-c", "default.yaml", *(word for key, value in settings.items() for word in ("-c", f"{key}={value}"))]
    done = walled(args, folder, *words, "-t", task, "-o", session)
    kept = args.folder / f"{name}-{'second' if known else 'first'}"
    kept.with_suffix(".log").write_text(done.stdout + done.stderr, encoding="utf-8")
    body = {"messages": [], "info": {}}
    if session.is_file():
        body = json.loads(session.read_text(encoding="utf-8"))
        shutil.copy(session, kept.with_suffix(".traj.json"))
    passes = walled(args, folder, "env", "PYTHONPATH=src", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    steps = sum(message["role"] == "assistant" for message in body["messages"])
    ended = body["info"].get("exit_status")
    return {"repair": name, "tests_pass": passes.returncode == 0, "steps": steps, "exit": ended}


def walled(args, folder, *words):
    """Run a program that can write in one folder alone."""
    walls = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"]
    walls += ["--bind", folder, folder, "--chdir", folder]
    extra = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_GLOBAL_CONFIG_DIR": str(folder)}
    extra["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # without this, it uses the network first
    env = {"HOME": str(folder), "PATH": f"{args.mini.parent}:/usr/bin:/bin", "LANG": "C.UTF-8", **extra}
    return subprocess.run(
        [*map(str, [*walls, *words])],
        env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def seasoned(*words, given=None):
    """Run a command of Seasoned, and return its output."""
    command = [sys.executable, "-m", "seasoned", *map(str, words)]
    done = subprocess.run(
        command, input=json.dumps(given or {}), env=os.environ, capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).strip()


if __name__ == "__main__":
    main()
