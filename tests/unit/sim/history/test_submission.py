"""A plan compares objects that exist with what is submitted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.inputs.objects.relations import InputObject
from stretto.sim.submission.applied import ChangeKind, apply_objects
from stretto.sim.submission.differences import field_changes
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import make_node, make_pod

NODES = "\n---\n".join(
    f"""apiVersion: v1
kind: Node
metadata: {{name: n{number}, labels: {{rack: r1}}}}
status: {{allocatable: {{cpu: 8, memory: 32Gi, pods: 110}}}}"""
    for number in range(3)
)

Plan = Callable[[str], dict[str, Any]]


def controller(kind: str = "Deployment", replicas: int = 3, cpu: str = "1", **spec: object) -> str:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
            ],
            **spec,
        },
    }
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template,
            },
        }
    )


def pod(cpu: str = "1", **more: object) -> str:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", **more}, "spec": spec}
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    return tmp_path


def planned(now: str, then: str, *words: str) -> Result:
    """Plan a submission on the end of a scenario with these manifests."""
    Path("nodes.yaml").write_text(NODES)
    Path("now.yaml").write_text(now)
    Path("then.yaml").write_text(then)
    fleet = "fleet: {manifests: [nodes.yaml]}"
    Path("s.yaml").write_text(f"{fleet}\nworkloads: [{{manifests: [now.yaml]}}]\n")
    return CliRunner().invoke(cli, ["plan", "then.yaml", "--on", "s.yaml", *words])


def changes(now: str, then: str) -> list[dict[str, Any]]:
    result = planned(now, then, "--json", "-", "-q")
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)["changes"]
    return found


KINDS = ["Deployment", "StatefulSet", "ReplicaSet"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", KINDS)
def test_more_replicas_are_new_pods(kind: str) -> None:
    (change,) = changes(controller(kind, 3), controller(kind, 5))
    assert (change["object"], change["change"]) == (f"{kind} default/web", "scale")
    assert (change["pods_before"], change["pods_after"]) == (3, 5)
    assert (len(change["created"]), change["deleted"]) == (2, [])
    shown = planned(controller(kind, 3), controller(kind, 5)).stdout
    assert f"~ {kind} default/web: 3 → 5 pods: 2 new pods" in shown
    assert "2 of 2 pods would be placed" in shown


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", KINDS)
def test_fewer_replicas_delete_pods(kind: str) -> None:
    (change,) = changes(controller(kind, 3), controller(kind, 1))
    assert (change["change"], len(change["created"]), len(change["deleted"])) == ("scale", 0, 2)
    result = planned(controller(kind, 3), controller(kind, 1))
    assert "2 pods would be deleted" in result.stdout
    assert "evicted" not in result.stdout


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_template_replaces_all_pods(kind: str) -> None:
    (change,) = changes(controller(kind, 3), controller(kind, 4, cpu="2"))
    assert (change["change"], len(change["created"]), len(change["deleted"])) == ("replace", 4, 3)
    (field,) = change["fields"]
    assert field["path"] == "spec.containers[0].resources.requests.cpu"
    assert (field["before"], field["after"]) == ("1", "2")
    shown = planned(controller(kind, 3), controller(kind, 3, cpu="2")).stdout
    assert "template changed: 3 old pods would be replaced by 3 new" in shown
    assert "requests.cpu: 1 → 2" in shown


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_objects_change_nothing(kind: str) -> None:
    (change,) = changes(controller(kind, 3), controller(kind, 3, cpu="1000m"))
    assert (change["change"], change["created"], change["deleted"]) == ("unchanged", [], [])
    shown = planned(controller(kind, 3), controller(kind, 3)).stdout
    assert f"= {kind} default/web: unchanged" in shown
    assert "no pod would be created" in shown


@pytest.mark.usefixtures("folder")
def test_replaced_pods_give_their_capacity_back() -> None:
    result = planned(controller(replicas=3, cpu="7"), controller(replicas=3, cpu="8"))
    assert (result.exit_code, "3 of 3 pods would be placed" in result.stdout) == (0, True)
    result = planned(controller(replicas=3, cpu="7"), controller(replicas=4, cpu="7"))
    assert (result.exit_code, "1 would stay pending" in result.stdout) == (3, True)


@pytest.mark.usefixtures("folder")
def test_a_pod_is_replaced_if_it_changes_and_kept_otherwise() -> None:
    (change,) = changes(pod("1"), pod("2"))
    assert (change["object"], change["change"]) == ("Pod default/one", "replace")
    assert change["deleted"] == change["created"] == ["default/one"]
    (change,) = changes(pod("1"), pod("1"))
    assert change["change"] == "unchanged"
    (change,) = changes(pod("1"), pod("1", labels={"tier": "front"}))
    assert change["fields"] == [{"path": "metadata.labels.tier", "before": "", "after": "front"}]


@pytest.mark.usefixtures("folder")
def test_a_node_that_exists_is_updated_with_its_capacity() -> None:
    first, *_ = NODES.split("\n---\n")
    larger = first.replace("cpu: 8", "cpu: 64").replace("rack: r1", "rack: r2")
    result = planned(pod("20"), larger, "--json", "-", "-q")
    report = json.loads(result.stdout)
    (change,) = report["changes"]
    assert (change["object"], change["change"]) == ("Node n0", "update")
    paths = [each["path"] for each in change["fields"]]
    assert paths == ["metadata.labels.rack", "status.allocatable.cpu"]
    assert [each["pod"] for each in report["also_placed"]] == ["default/one"]


@pytest.mark.usefixtures("folder")
def test_new_objects_are_listed_with_v_only() -> None:
    now, then = controller(), pod()
    assert "+ Pod default/one: new, 1 pod" in planned(now, then, "-v").stdout
    assert "+ Pod" not in planned(now, then).stdout


# ---------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, []),
        ({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1}}, []),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, ["spec.a"]),
        ({"spec": {}}, {"spec": {"a": {"b": 3}}}, ["spec.a.b"]),
        ({"spec": {"nodeSelector": {"x": "y"}}}, {"spec": {}}, ["spec.nodeSelector"]),
        (
            {"spec": {"nodeSelector": {"x": "y", "z": "w"}}},
            {"spec": {"nodeSelector": {"x": "y"}}},
            ["spec.nodeSelector.z"],
        ),
        ({"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}},
         {"spec": {"tolerations": [{"key": "a"}]}}, []),
        ({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
         {"spec": {"containers": [{"name": "a"}]}}, ["spec.containers[1]"]),
        ({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}},
         {"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}},
         ["spec.containers[0].resources.limits.cpu"]),
        ({"spec": {"containers": [{"resources": {"requests": {"memory": "1Gi"}}}]}},
         {"spec": {"containers": [{"resources": {"requests": {"memory": "1024Mi"}}}]}}, []),
        ({"metadata": {"labels": {"a": "1"}, "uid": "u"}}, {"metadata": {"name": "n"}}, []),
        ({"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"a": "2"}}},
         ["metadata.labels.a"]),
        ({"status": {"phase": "Running"}}, {"status": {"phase": "Pending"}}, []),
        ({"spec": {"schedulerName": "default-scheduler"}}, {"spec": {"schedulerName": "s"}}, []),
        ({"spec": {"x": 0}}, {"spec": {"x": None}}, []),
    ],
)  # fmt: skip
def test_the_fields_that_differ_are_named(
    before: dict[str, Any], after: dict[str, Any], paths: list[str]
) -> None:
    found = field_changes(before, after)
    assert sorted(f.path.removeprefix("metadata.metadata") for f in found) == sorted(paths)


OWNER = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "name": "agent",
    "uid": "u",
    "controller": True,
}


def daemon(name: str, target: str, **more: Any) -> bytes:
    """A pod of a DaemonSet for one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [target]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return make_pod(name, owner=OWNER, spec={"affinity": affinity}, **more)


def test_a_daemon_set_is_compared_node_by_node() -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    store.create(POD, [daemon("old-b", "b", node="b"), daemon("old-d", "d", node="d")])
    wanted = [InputObject(POD, "default", n, daemon(n, n), "test") for n in "abc"]
    (change,) = apply_objects(store, wanted).changes
    assert (change.change, change.fields) == (ChangeKind.SCALE, ())
    assert (change.created, change.deleted) == (("default/a", "default/c"), ("default/old-d",))


def test_a_daemon_set_keeps_its_pod_on_a_node_that_takes_no_new_ones() -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    for name, effect in (("b", "NoSchedule"), ("c", "NoExecute")):
        store.create(NODE, [make_node(name, taints=[{"key": "repair", "effect": effect}])])
        store.create(POD, [daemon(f"old-{name}", name, node=name)])
    wanted = [InputObject(POD, "default", "a", daemon("a", "a"), "test")]
    (change,) = apply_objects(store, wanted).changes
    assert (change.created, change.deleted) == (("default/a",), ("default/old-c",))
    assert (change.pods_before, change.pods_after) == (2, 2)


def test_a_daemon_set_with_a_changed_template_replaces_its_pods() -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    store.create(POD, [daemon("old-a", "a", node="a")])
    wanted = [InputObject(POD, "default", "a", daemon("a", "a", cpu="2"), "test")]
    (change,) = apply_objects(store, wanted).changes
    assert change.change is ChangeKind.REPLACE
    assert [each.path for each in change.fields] == ["spec.containers[0].resources.requests.cpu"]
