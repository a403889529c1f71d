"""The example for Kubernetes fits the schemas of what it asks for.

Those of Kubernetes come with the package kubernetes-validate, where it is installed. Of KubeRay's RayJob, the fields
that the example uses are here (ray.io/v1, RayJobSpec and RayClusterSpec).
"""

import copy
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.main import get_command

from seasoned.cli.program import app

FILE = Path(__file__).parents[1] / "examples" / "kubernetes" / "seasoned.yaml"
RELEASE = "1.34"


def fields(required, **more):
    named = {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in more.items()}
    return {"type": "object", "properties": named, "required": required, "additionalProperties": False}


TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
GROUP = {"rayStartParams": TEXTS, "template": "object"}
HEAD = fields(["template"], **GROUP)
COUNTS = dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), "integer")
HANDS = fields(["groupName", "template", "maxReplicas", "minReplicas"], groupName="string", **COUNTS, **GROUP)
CLUSTER = fields(
    ["headGroupSpec"], rayVersion="string", headGroupSpec=HEAD, workerGroupSpecs={"type": "array", "items": HANDS}
)
SPEC = fields(["rayClusterSpec"], entrypoint="string", shutdownAfterJobFinishes="boolean", rayClusterSpec=CLUSTER)
RAY_JOB = fields(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=fields(["name"], name="string"),
    spec=SPEC,
)


@pytest.fixture
def things():
    return list(yaml.safe_load_all(FILE.read_text(encoding="utf-8")))


def job(things):
    return next(thing for thing in things if thing["kind"] == "RayJob")


def test_the_job_fits_kuberays_schema(things):
    jsonschema.validate(job(things), RAY_JOB)
    wrong = copy.deepcopy(job(things))
    wrong["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = 0  # KubeRay takes texts alone
    with pytest.raises(jsonschema.ValidationError, match="is not of type 'string'"):
        jsonschema.validate(wrong, RAY_JOB)


def test_all_else_and_the_pods_of_the_job_fit_those_of_kubernetes(things):
    check = pytest.importorskip("kubernetes_validate", exc_type=ImportError)
    cluster = job(things)["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, **group["template"]} for group in groups]
    for thing in [*(thing for thing in things if thing["kind"] != "RayJob"), *pods]:
        check.validate(thing, RELEASE, strict=True)
    pods[0]["spec"]["containers"][0]["image"] = 7
    with pytest.raises(check.ValidationError):
        check.validate(pods[0], RELEASE, strict=True)


def test_names_and_options_of_the_example_are_there(things):
    named = {thing["metadata"]["name"] for thing in things}
    spec = job(things)["spec"]
    words = spec["entrypoint"].split()
    assert words[:2] == ["seasoned", "run"]
    known = {name for parameter in get_command(app).commands["run"].params for name in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known
    assert "@seasoned-postgres/" in spec["entrypoint"]
    claims = {
        volume["persistentVolumeClaim"]["claimName"]
        for volume in spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["volumes"]
    }
    assert claims | {"seasoned-postgres"} <= named
