"""Installing as users do: the page's commands, the shipped rights, kinds that refuse."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.api.codec import decode
from stretto.api.validation import validate
from stretto.api.wire.kinds import POD_GROUP, QUEUE, Kind
from stretto.base.errors import InputError
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.tools import missing
from tests.e2e.daemon import ready_nodes, rights_settle, until
from tests.e2e.deployed import ACCOUNT, ROOT, Block, Deployed, blocks, shell

pytestmark = pytest.mark.kube

PAGE = ROOT / "docs" / "guides" / "operator" / "cluster-install.md"
CHART = "deploy/helm/stretto"
PARTS = ("kube-controller-manager", "kube-scheduler", "kwok")
NO_HELM = "helm" in missing(["helm"])

UNUSED = {
    "create pods/eviction": "the page has no preemption within a budget",
    "delete pods": "the page has no preemption",
    "patch events": "an event is repeated after a minute",
    "patch persistentvolumeclaims": "kube-parity only",
    "patch persistentvolumes": "kube-parity only",
    "create reservations": "the page has no reservations",
    "delete reservations": "the page has no reservations",
    "patch reservations/status": "the page has no reservations",
    "create movements": "the page moves no pod",
    "get movements": "the page moves no pod",
    "patch movements/status": "the page moves no pod",
    "patch podgroups": "the page has no PodGroups of Volcano",
}
"""Rights that the page does not use."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster as users have one: controllers, kube-scheduler, and nodes (simulated)."""
    with ControlPlane(ControlPlaneConfig(parts=PARTS, audited=True)) as plane:
        ready_nodes(plane, "n0", "n1", "n2", cpu="8")
        yield plane


class Guide:
    """Goes through the page, and plays the kubelet where a container would run."""

    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.running = ExitStack()
        self.replicas: list[Deployed] = []

    def follow(self, block: Block) -> str:
        """Run one block; what it printed."""
        if block.mark.startswith("not tried") or (block.mark == "helm" and NO_HELM):
            return ""
        if block.mark.startswith("ends"):
            self.running.close()
        if block.mark.startswith("begins"):
            self.start()
        done = shell(self.cluster, block.text, self.folder)
        if block.mark.startswith("fails: "):
            assert done.returncode != 0
            assert block.mark.removeprefix("fails: ") in done.stderr
        else:
            assert done.returncode == 0, (
                f"{block.text}\n{done.stdout}\n{done.stderr}\n{self.said()}"
            )
        if block.mark.startswith("then metrics"):
            return done.stdout + self.metrics()
        return done.stdout

    def metrics(self) -> str:
        """The metrics that both replicas serve to the monitoring account only."""
        rights_settle(self.cluster)
        requested = "kubectl -n kube-system create token monitor"
        token = shell(self.cluster, requested, self.folder).stdout.strip()
        pages = [each.page("/metrics", token) for each in self.replicas]
        assert [code for code, _ in pages] == [200, 200]
        assert [each.page("/metrics")[0] for each in self.replicas] == [401, 401]
        return "".join(text for _, text in pages)

    def start(self) -> None:
        """Start both replicas under the account's own token."""
        rights_settle(self.cluster)
        for name in ("one", "two"):
            self.replicas.append(Deployed(self.cluster, self.folder / name))
            self.running.enter_context(self.replicas[-1]).ready()

    def said(self) -> str:
        return "\n".join(each.part.log_tail() for each in self.replicas)


@pytest.fixture(scope="module")
def reported(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the output of the commands of the page, block by block."""
    guide = Guide(cluster, tmp_path_factory.mktemp("guide"))
    with guide.running:
        return [guide.follow(block) for block in blocks(PAGE)]


def test_every_command_of_the_page_has_the_shown_effect(reported: list[str]) -> None:
    whole = "\n".join(reported)
    assert 'deployment "stretto-scheduler" successfully rolled out' in whole
    assert "podgroup.scheduling.godel.kubewharf.io/ring condition met" in whole
    assert "pod/wide-0 condition met" in whole


def test_queues_show_guarantee_used_and_pending(reported: list[str]) -> None:
    lines = [line for text in reported for line in text.splitlines()]
    head = next(line.split() for line in lines if "GUARANTEE" in line)
    assert {"GUARANTEE", "USED", "PENDING", "RUNNING"} <= set(head)
    assert any('{"cpu":"4","memory":"8Gi"}' in line for line in lines)


def test_the_account_may_do_all_that_it_tries(cluster: ControlPlane, reported: list[str]) -> None:
    calls = cluster.audit(ACCOUNT)
    assert {"list pods", "watch queues", "create pods/binding"} <= {each.what for each in calls}
    assert {each.what for each in calls if each.response_status.code == 403} == set()


def test_the_account_has_no_unused_permission(cluster: ControlPlane, reported: list[str]) -> None:
    used = {call.what for call in cluster.audit(ACCOUNT)}
    assert granted() - used - set(UNUSED) == set()


def test_metrics_are_served_to_accounts_that_rbac_permits(reported: list[str]) -> None:
    assert any("scheduler_schedule_attempts_total" in text for text in reported)


def test_a_gang_costs_one_write_a_pod(cluster: ControlPlane, reported: list[str]) -> None:
    names = {f"ring-{number}" for number in range(4)}
    writes = Counter(
        call.what
        for call in cluster.audit(ACCOUNT)
        if call.object_ref.name in names and call.verb != "get" and call.response_status.code < 400
    )
    assert writes["create pods/binding"] == 4


def placed(affinity: dict[str, object]) -> dict[str, object]:
    """A group of two that goes somewhere."""
    return {"minMember": 2, "affinity": {"podGroupAffinity": affinity}}


BY_NAME = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
BY_DISK = {"resource": "Disk", "dimension": "Capacity", "order": "Ascending"}
BAD = [
    (QUEUE, {"weight": 0}, "a queue without weight starves"),
    (QUEUE, {"parent": "bad"}, "a queue cannot be its own parent"),
    (QUEUE, {"guarantee": {"cpu": "-1"}}, "0 or more: remove the minus sign"),
    (QUEUE, {"guarantee": {"cpu": "lots"}}, "a quantity such as 500m"),
    (QUEUE, {"guarantee": {"cpu": "8"}, "limit": {"cpu": 4}}, "raise the limit"),
    (QUEUE, {"guarantee": {"cpu": "900m"}, "limit": {"cpu": "0.5"}}, "raise the limit"),
    (QUEUE, {"maxRunningUnits": -1}, "0 closes the queue"),
    (QUEUE, {"resourceWeights": {"cpu": 0}}, "greater than or equal to 1"),
    (POD_GROUP, {}, "Required value"),
    (POD_GROUP, {"minMember": 0}, "a gang has at least one pod"),
    (POD_GROUP, {"minMember": 2, "scheduleTimeoutSeconds": 0}, "omit it for 300"),
    (POD_GROUP, placed({"required": [{"topologyKey": "rack"}] * 2}), "remove one of the two"),
    (POD_GROUP, placed({"nodeSelector": {"nodeSelectorTerms": [BY_NAME]}}), "labels only"),
    (POD_GROUP, placed({"sortRules": [BY_DISK]}), "supported values"),
]
"""Refused input, and a part of the reason."""


@pytest.fixture(scope="module")
def kinds(
    cluster: ControlPlane, reported: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The kinds once more, after the page has removed them."""
    folder = tmp_path_factory.mktemp("kinds")
    text = "kubectl apply -f deploy/crds && kubectl wait --for=condition=Established -f deploy/crds"
    done = shell(cluster, f"{text} --timeout=60s", folder)
    assert done.returncode == 0, done.stderr
    served = "kubectl get queues.scheduling.stretto.dev"
    served += " && kubectl get podgroups.scheduling.godel.kubewharf.io"
    until(lambda: shell(cluster, served, folder).returncode == 0, lambda: served)
    return folder


@pytest.mark.parametrize(("kind", "spec", "reason"), BAD)
def test_each_refusal_of_stretto_is_one_of_the_kind_with_the_reason(
    cluster: ControlPlane, kinds: Path, kind: Kind, spec: dict[str, object], reason: str
) -> None:
    body = _object(kind, spec)
    with pytest.raises(InputError):
        validate(decode(kind, body))
    (kinds / "bad.json").write_bytes(body)
    done = shell(cluster, f"kubectl create -f {kinds / 'bad.json'}", kinds)
    assert done.returncode != 0
    assert reason in done.stderr


def test_an_unknown_field_is_refused_by_its_name(cluster: ControlPlane, kinds: Path) -> None:
    (kinds / "typo.json").write_bytes(_object(QUEUE, {"wieght": 3}))
    done = shell(cluster, f"kubectl create -f {kinds / 'typo.json'}", kinds)
    assert 'unknown field "spec.wieght"' in done.stderr


def test_a_queue_gets_its_defaults(cluster: ControlPlane, kinds: Path) -> None:
    (kinds / "plain.json").write_bytes(_object(QUEUE, {}))
    done = shell(cluster, f"kubectl create -f {kinds / 'plain.json'} -o json", kinds)
    spec = json.loads(done.stdout)["spec"]
    assert spec == {"policy": "FIFO", "weight": 1, "resource": "cpu"}


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_the_chart_with_everything_on_is_accepted_by_the_server(
    cluster: ControlPlane, kinds: Path
) -> None:
    more = "--set tls.secretName=ours"
    some = "--set replicas=3,shards=4,dashboard.enabled=true,'schedulerNames={batch,nightly}'"
    more += ",scaler.enabled=true"
    text = f"helm template stretto {CHART} -n kube-system {more} {some} > {kinds / 'all.yaml'}"
    done = shell(
        cluster, f"{text} && kubectl apply --dry-run=server -f {kinds / 'all.yaml'}", kinds
    )
    assert done.returncode == 0, done.stderr
    assert "configmap/stretto-board created (server dry run)" in done.stdout
    assert "deployment.apps/stretto-scaler created (server dry run)" in done.stdout


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_the_chart_makes_a_deployment_for_each_role_and_shard(
    cluster: ControlPlane, kinds: Path
) -> None:
    some = "--set tls.secretName=ours,roles.enabled=true,shards=2"
    text = f"helm template stretto {CHART} -n kube-system {some} > {kinds / 'roles.yaml'}"
    apply = f"kubectl apply --dry-run=server -f {kinds / 'roles.yaml'}"
    done = shell(cluster, f"{text} && {apply}", kinds)
    assert done.returncode == 0, done.stderr
    for role in ("dispatcher", "binder", "controller", "shard-0", "shard-1"):
        assert f"deployment.apps/stretto-{role} created (server dry run)" in done.stdout


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_the_chart_makes_the_pods_of_the_manifest(cluster: ControlPlane, tmp_path: Path) -> None:
    words = "-n kube-system --set nameOverride=scheduler"
    rendered = shell(cluster, f"helm template stretto {CHART} {words}", tmp_path).stdout
    shipped = (ROOT / "deploy" / "scheduler.yaml").read_text(encoding="utf-8")
    theirs, ours = pod_of(rendered), pod_of(shipped)
    assert set(theirs["containers"][0].pop("args")) - set(ours["containers"][0].pop("args")) == {
        "--shards=1"
    }
    for each in (*theirs["initContainers"], *theirs["containers"]):
        assert each.pop("imagePullPolicy") == "IfNotPresent"
    assert theirs.pop("affinity").keys() == ours.pop("affinity").keys()
    assert theirs == ours


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_the_chart_makes_the_master_of_the_manifest(cluster: ControlPlane, tmp_path: Path) -> None:
    some = "nameOverride=master,master.enabled=true,tls.secretName=stretto-master-tls"
    text = f"helm template stretto {CHART} -n mesos --set {some}"
    rendered = shell(cluster, text, tmp_path).stdout
    shipped = (ROOT / "deploy" / "master.yaml").read_text(encoding="utf-8")
    theirs, ours = pod_of(rendered, "StatefulSet"), pod_of(shipped, "StatefulSet")
    assert theirs["containers"][0]["args"] == ours["containers"][0]["args"]
    assert theirs["volumes"].pop(0).keys() == ours["volumes"].pop(0).keys()
    for each in (*theirs["initContainers"], *theirs["containers"]):
        assert each.pop("imagePullPolicy") == "IfNotPresent"
    assert theirs.pop("affinity").keys() == ours.pop("affinity").keys()
    assert theirs == ours


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_the_chart_makes_the_scaler_of_the_manifest(cluster: ControlPlane, tmp_path: Path) -> None:
    text = f"helm template stretto {CHART} -n kube-system --set scaler.enabled=true"
    made = [*yaml.safe_load_all(shell(cluster, text, tmp_path).stdout)]
    chosen = {"app.kubernetes.io/name": "stretto-scaler"}
    ours = [each for each in made if chosen.items() <= each["metadata"]["labels"].items()]
    shipped = (ROOT / "deploy" / "scaler.yaml").read_text(encoding="utf-8")
    theirs, pod = pod_of(yaml.safe_dump_all(ours)), pod_of(shipped)
    for each in (*theirs["initContainers"], *theirs["containers"]):
        assert each.pop("imagePullPolicy") == "IfNotPresent"
    assert theirs.pop("affinity").keys() == pod.pop("affinity").keys()
    assert theirs == pod
    assert rules_of(ours) == rules_of(yaml.safe_load_all(granted_to_scaler()))


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_no_service_or_budget_of_the_scheduler_selects_the_scaler(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    text = f"helm template stretto {CHART} -n kube-system --set scaler.enabled=true"
    made = [*yaml.safe_load_all(shell(cluster, text, tmp_path).stdout)]
    named = {each["metadata"]["name"]: each for each in made if each["kind"] == "Deployment"}
    labels = named["stretto-scaler"]["spec"]["template"]["metadata"]["labels"].items()
    selected = set()
    for each in made:
        if each["kind"] in ("Service", "PodDisruptionBudget", "Deployment"):
            selector = each["spec"]["selector"]
            if selector.get("matchLabels", selector).items() <= labels:
                selected.add(each["metadata"]["name"])
    assert selected == {"stretto-scaler"}


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
def test_the_master_of_the_chart_and_of_the_manifest_are_accepted_by_the_server(
    cluster: ControlPlane, kinds: Path
) -> None:
    some = "master.enabled=true,tls.secretName=ours,master.taskPorts=20000-20009"
    text = f"helm template stretto {CHART} -n kube-system --set {some} > {kinds / 'm.yaml'}"
    files = f"-f {kinds / 'm.yaml'}"
    done = shell(cluster, f"{text} && kubectl apply --dry-run=server {files}", kinds)
    assert done.returncode == 0, done.stderr
    assert "statefulset.apps/stretto created (server dry run)" in done.stdout
    assert "deployment.apps" not in done.stdout
    shipped = "kubectl apply -f deploy/rbac-master.yaml && kubectl apply -f deploy/master.yaml"
    done = shell(cluster, shipped, kinds)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(NO_HELM, reason="helm is not built: make kube-tools PROGRAMS=helm")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--set shards=0", "/shards"),
        ("--set replcas=3", "replcas"),
        ("--set image.repository=registry.example:5000/stretto:latest", "/image/repository"),
        ("--set image.tag=latest", "image.tag: got latest, expected a version"),
        (
            r"--set 'podLabels.app\.kubernetes\.io/name=a'",
            "podLabels: got app.kubernetes.io/name=a",
        ),
        (
            r"--set 'podLabels.app\.kubernetes\.io/component=a'",
            "by which the Deployments find their pods",
        ),
        ("--set tls.secret=ours", "/tls"),
        ("--set master.enabled=true", "tls.secretName: got nothing, expected a Secret"),
        (
            "--set master.enabled=true,tls.secretName=a,roles.enabled=true",
            "roles.enabled: got true",
        ),
        ("--set master.taskPorts=all", "/master/taskPorts"),
        ("--set roles.enabled=true,serviceAccount.create=false", "/serviceAccount/name"),
        (
            "--set scaler.enabled=true,serviceAccount.create=false",
            "serviceAccount.name: got nothing, expected a name with scaler.enabled",
        ),
        ("--set scaler.replicas=0", "/scaler/replicas"),
    ],
)
def test_values_that_make_no_sense_are_refused(
    cluster: ControlPlane, tmp_path: Path, words: str, reason: str
) -> None:
    done = shell(cluster, f"helm template stretto {CHART} {words}", tmp_path)
    assert done.returncode != 0
    assert reason in done.stderr


def granted() -> set[str]:
    """Rights of the shipped roles, such as ``create pods/binding``, but for what is followed."""
    text = (ROOT / "deploy" / "rbac-scheduler.yaml").read_text(encoding="utf-8")
    return {
        f"{verb} {resource}"
        for role in yaml.safe_load_all(text)
        for rule in role.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if "watch" not in rule["verbs"]
    }


def granted_to_scaler() -> str:
    """The shipped permissions of the scaler."""
    return (ROOT / "deploy" / "rbac-scaler.yaml").read_text(encoding="utf-8")


def rules_of(objects: Iterable[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    """The rules of each role, by kind and name."""
    return {
        (each["kind"], each["metadata"]["name"]): each["rules"]
        for each in objects
        if each["kind"] in ("ClusterRole", "Role")
    }


def pod_of(text: str, kind: str = "Deployment") -> dict[str, Any]:
    """The pod that the Deployment (or another kind) among some objects makes."""
    found = next(each for each in yaml.safe_load_all(text) if each["kind"] == kind)
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec


def _object(kind: Kind, spec: dict[str, object]) -> bytes:
    name = {"name": "bad"} | ({"namespace": "default"} if kind.namespaced else {})
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": name, "spec": spec}
    return json.dumps(whole).encode()
