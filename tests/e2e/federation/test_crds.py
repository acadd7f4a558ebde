"""The CRDs of a host on a real API server: established, examples accepted, mistakes refused."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.api.kinds.table import entry_of, federation_kinds
from stretto.api.wire.kinds import Kind
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.tools import path_of
from tests.e2e.daemon import kubectl
from tests.e2e.federation.site import DEPLOY, WITHIN

pytestmark = pytest.mark.kube

EXAMPLES = Path(__file__).with_name("examples.yaml")
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(EXAMPLES.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A server with the CRDs and the examples."""
    with ControlPlane() as plane:
        kubectl(plane, "apply", "-f", str(DEPLOY / "crds"))
        words = ("--for=condition=Established", "crd", "--all", f"--timeout={WITHIN:.0f}s")
        kubectl(plane, "wait", *words)
        kubectl(plane, "apply", "-f", str(EXAMPLES))
        yield plane


def refusal(plane: ControlPlane, body: dict[str, Any]) -> str:
    """Return the response of the server to an object that it must refuse."""
    command = [str(path_of("kubectl")), "--kubeconfig", str(plane.kubeconfig)]
    command += ["create", "--dry-run=server", "-f", "-"]
    done = subprocess.run(command, input=yaml.safe_dump(body), capture_output=True, text=True)
    assert done.returncode != 0, done.stdout
    return done.stderr


def changed(kind: str, path: str, value: Any) -> dict[str, Any]:
    """The example of a kind with another value at a path."""
    body = yaml.safe_load(yaml.safe_dump(next(each for each in OBJECTS if each["kind"] == kind)))
    place: Any = body
    *parents, last = (int(each) if each.isdigit() else each for each in path.split("."))
    for each in parents:
        place = place[each]
    place[last] = value
    body["metadata"]["name"] = body["metadata"]["name"] if last == "name" else "changed"
    return body  # type: ignore[no-any-return]


def test_there_is_an_example_of_every_kind(plane: ControlPlane) -> None:
    assert {each["kind"] for each in OBJECTS} == {each.kind for each in federation_kinds()}


@pytest.mark.parametrize("kind", federation_kinds(), ids=lambda kind: kind.kind)
def test_kubectl_shows_the_columns_of_a_kind(plane: ControlPlane, kind: Kind) -> None:
    heads = kubectl(plane, "get", f"{kind.plural}.{kind.group}", "-A", "-o", "wide").splitlines()[0]
    own = [each.name.upper() for each in entry_of(kind).columns]
    assert [each for each in own if each not in heads] == []


def test_short_names_are_those_of_kubeadmiral(plane: ControlPlane) -> None:
    for short in ("fcluster", "pp", "cpp", "op", "cop", "sp", "ftc", "fo", "cfo"):
        assert "NAME" in kubectl(plane, "get", short, "-A")


def test_columns_show_values(plane: ControlPlane) -> None:
    head, row, *_ = kubectl(plane, "get", "propagationpolicies").splitlines()
    assert head.split()[:2] == ["NAME", "MODE"]
    assert row.split()[:2] == ["divided", "Divide"]


@pytest.mark.parametrize(
    ("kind", "path", "value", "said"),
    [
        ("PropagationPolicy", "spec.schedulingMode", "Sometimes", "Unsupported value"),
        ("PropagationPolicy", "spec.placement.0.preferences.minReplicas", 20, "exceeds maxRep"),
        ("PropagationPolicy", "spec.placement.0.preferences.weight", -1, "greater than or equal"),
        ("PropagationPolicy", "spec.placement.1.cluster", "east", "Duplicate value"),
        ("PropagationPolicy", "spec.autoMigration.when.podUnschedulableFor", "soon", "match"),
        ("PropagationPolicy", "metadata.name", "p" * 64, "shorten its name"),
        ("OverridePolicy", "spec.overrideRules.0.overriders.jsonpatch.0.path", "/kind",
         "identifies the object"),
        ("FederatedTypeConfig", "spec.sourceType.scope", "Everywhere", "Unsupported value"),
        ("SchedulerPluginWebhookConfiguration", "spec.payloadVersions", [], "at least 1"),
        ("FederatedCluster", "spec.useServiceAccount", "maybe", "must be of type boolean"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_its_reason(
    plane: ControlPlane, kind: str, path: str, value: Any, said: str
) -> None:
    assert said in refusal(plane, changed(kind, path, value))
