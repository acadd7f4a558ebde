"""What is absurd or contradicts itself is refused, with path, value and what to do."""

from typing import Any

import msgspec
import pytest

from stretto.api import codec
from stretto.api.validation import validate
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError

META = {"name": "web", "namespace": "default"}
CLUSTER_META = {"name": "web"}
BOX = {"name": "c"}
BUDGET = kinds.POD_DISRUPTION_BUDGET


def check(kind: Kind, **parts: Any) -> None:
    meta = META if kind.namespaced else CLUSTER_META
    body = msgspec.json.encode({"metadata": meta, **parts})
    validate(codec.decode(kind, body))


def refusal(kind: Kind, **parts: Any) -> str:
    with pytest.raises(InputError) as refused:
        check(kind, **parts)
    return str(refused.value)


def spec_with(**resources: Any) -> dict[str, Any]:
    return {"containers": [{**BOX, "resources": resources}]}


def pod_refusal(**spec: Any) -> str:
    return refusal(kinds.POD, spec={"containers": [BOX], **spec})


def term(**parts: Any) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **parts}]}


GOOD_POD = {
    "containers": [
        {
            **BOX,
            "resources": {
                "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": 1},
                "limits": {"cpu": "2", "nvidia.com/gpu": "1"},
            },
            "ports": [{"containerPort": 80, "hostPort": 8080}],
        }
    ],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
    ],
    "affinity": {"podAntiAffinity": term(labelSelector={"matchLabels": {"app": "web"}})},
    "priority": 1000,
    "volumes": [{"name": "v"}],
}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (kinds.POD, {"spec": GOOD_POD}),
        (kinds.POD, {"spec": {"containers": [BOX], "schedulingGates": [{"name": "a/b"}]}}),
        (kinds.NODE, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}),
        (kinds.NODE, {"status": {"allocatable": {"cpu": "0", "pods": "110"}}}),
        (kinds.POD_GROUP, {"spec": {"minMember": 1, "scheduleTimeoutSeconds": 5}}),
        (kinds.QUEUE, {"spec": {"parent": "root", "guarantee": {"cpu": 1}, "limit": {"cpu": 1}}}),
        (BUDGET, {"spec": {"minAvailable": "50%", "selector": {}}}),
        (BUDGET, {"spec": {"maxUnavailable": 0}}),
        (kinds.PRIORITY_CLASS, {"value": -5}),
        (kinds.SERVICE, {"spec": {"ports": [{"port": 80}]}}),
    ],
)
def test_what_can_be_meant_passes(kind: Kind, parts: dict[str, Any]) -> None:
    check(kind, **parts)


@pytest.mark.parametrize(
    ("meta", "complaint"),
    [
        ({}, "pod: metadata.name: got nothing, expected a DNS-1123 name"),
        ({"name": "Web"}, "pod Web: metadata.name: got 'Web', expected a DNS-1123 name"),
        ({"name": "-a"}, "metadata.name"),
        ({"name": "a" * 254}, "metadata.name"),
        ({"generateName": "A-"}, "metadata.generateName"),
        ({"name": "a", "namespace": "a.b"}, "pod a.b/a: metadata.namespace"),
        ({"name": "a", "labels": {"-": "b"}}, "metadata.labels: got '-', expected a label key"),
        ({"name": "a", "labels": {"a": "b c"}}, "metadata.labels.a: got 'b c'"),
        ({"name": "a", "annotations": {"a b": ""}}, "metadata.annotations: got 'a b'"),
        ({"name": "a", "annotations": {"a": "x" * (257 << 10)}}, "at most 262144 in total"),
        ({"name": "a", "ownerReferences": [{"controller": True}] * 2}, "at most one owner manages"),
    ],
)
def test_bad_metadata_is_refused(meta: dict[str, Any], complaint: str) -> None:
    assert complaint in refusal(kinds.POD, metadata=meta, spec=GOOD_POD)


def test_a_name_may_still_be_made() -> None:
    check(kinds.POD, metadata={"generateName": "web-"}, spec=GOOD_POD)


def test_an_object_without_namespace_has_none() -> None:
    complaint = refusal(kinds.NODE, metadata={"name": "n", "namespace": "a"})
    assert "the kind is cluster-scoped" in complaint


@pytest.mark.parametrize(
    ("resources", "complaint"),
    [
        ({"requests": {"cpu": "-1"}}, "requests.cpu: got '-1', expected an amount of 0 or more"),
        ({"limits": {"memory": -1}}, "limits.memory: got -1, expected an amount of 0 or more"),
        ({"requests": {"nvidia.com/gpu": "500m"}}, "a whole number: nvidia.com/gpu is not"),
        ({"requests": {"memory": "10E"}}, "the largest amount in 64 bits"),
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "expected at most the limit, 1"),
        ({"requests": {"a.b/c": 1}, "limits": {"a.b/c": 2}}, "a.b/c cannot be overcommitted"),
        ({"requests": {"a.b/c": 1}}, "a.b/c cannot be overcommitted"),
        ({"requests": {"no good": 1}}, "requests: got 'no good', expected a label key"),
    ],
)
def test_absurd_amounts_are_refused(resources: dict[str, Any], complaint: str) -> None:
    message = pod_refusal(**spec_with(**resources))
    assert message.startswith("pod default/web: spec.containers[0].resources.")
    assert complaint in message


def test_a_sum_beyond_all_bounds_is_refused() -> None:
    box = {"resources": {"requests": {"memory": "7Ei"}}}
    boxes = [{"name": "a", **box}, {"name": "b", **box}]
    assert "memory of all containers" in pod_refusal(containers=boxes)


def test_pod_level_requests_below_the_containers_are_refused() -> None:
    spec = {**spec_with(requests={"cpu": "2"}), "resources": {"requests": {"cpu": "1"}}}
    assert "spec.resources.requests.cpu: got '1', expected at least 2" in pod_refusal(**spec)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"containers": []}, "spec.containers: got nothing, expected at least one container"),
        ({"containers": [{}]}, "spec.containers[0].name: got nothing, expected a DNS label"),
        ({"containers": [BOX, BOX]}, "spec.containers: got 'c', expected each only once"),
        ({"initContainers": [BOX]}, "rename one of the two"),
        ({"overhead": {"cpu": "-1m"}}, "spec.overhead.cpu"),
        ({"priority": 3 * 10**9}, "spec.priority: got 3000000000"),
        ({"preemptionPolicy": "never"}, "one of nothing, Never, PreemptLowerPriority"),
        ({"priorityClassName": "A"}, "spec.priorityClassName"),
        ({"nodeName": "a/b"}, "spec.nodeName"),
        ({"nodeName": "n", "schedulingGates": [{"name": "g"}]}, "no node while the pod is gated"),
        ({"schedulingGates": [{"name": "g"}] * 2}, "spec.schedulingGates: got 'g'"),
        ({"nodeSelector": {"a": "b c"}}, "spec.nodeSelector.a"),
        ({"tolerations": [{}]}, "write operator: Exists"),
        ({"tolerations": [{"key": "a", "operator": "In"}]}, "spec.tolerations[0].operator"),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "Exists has no value",
        ),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "spec.tolerations[0].effect"),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": 5}]},
            "only the effect NoExecute",
        ),
        ({"volumes": [{"name": "v"}] * 2}, "spec.volumes: got 'v'"),
        ({"volumes": [{"name": "V"}]}, "spec.volumes[0].name"),
    ],
)
def test_a_pod_that_contradicts_itself_is_refused(spec: dict[str, Any], complaint: str) -> None:
    assert complaint in pod_refusal(**spec)


@pytest.mark.parametrize(
    ("port", "complaint"),
    [
        ({"containerPort": 0}, "ports[0].containerPort: got 0, expected 1 to 65535"),
        ({"containerPort": 65536}, "containerPort: got 65536"),
        ({"containerPort": 80, "hostPort": -1}, "hostPort: got -1, expected 0 to 65535"),
        ({"containerPort": 80, "protocol": "tcp"}, "one of TCP, UDP, SCTP; the value is case"),
    ],
)
def test_ports_out_of_range_are_refused(port: dict[str, Any], complaint: str) -> None:
    assert complaint in pod_refusal(containers=[{**BOX, "ports": [port]}])


def test_on_the_host_network_a_port_is_one_port() -> None:
    box = {**BOX, "ports": [{"containerPort": 80, "hostPort": 81}]}
    assert "expected 80, the containerPort" in pod_refusal(containers=[box], hostNetwork=True)


def test_two_containers_cannot_take_one_port_of_the_node() -> None:
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    boxes = [{"name": "a", **ports}, {"name": "b", **ports}]
    assert "two containers cannot share a host port" in pod_refusal(containers=boxes)


@pytest.mark.parametrize(
    ("affinity", "complaint"),
    [
        ({"podAffinity": term(topologyKey="")}, "[0].topologyKey: got nothing"),
        ({"podAffinity": term(namespaces=["A"])}, "[0].namespaces[0]"),
        ({"podAntiAffinity": term(labelSelector={"matchLabels": {"a": "?"}})}, "matchLabels.a"),
        ({"podAffinity": term(matchLabelKeys=["a"], mismatchLabelKeys=["a"])}, "mismatchLabelKeys"),
        ({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}]}}, "weight: got 0, expected 1"),
        ({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101}]}},
         "weight: got 101, expected 1 to 100"),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}, "at least one"),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}]}}},
         "nodeSelectorTerms[0].matchExpressions[0].values: got ['x'], expected exactly one"),
    ],
)  # fmt: skip
def test_affinities_that_cannot_hold_are_refused(affinity: dict[str, Any], complaint: str) -> None:
    assert complaint in pod_refusal(affinity=affinity)


@pytest.mark.parametrize(
    ("constraint", "complaint"),
    [
        ({"maxSkew": 0}, "maxSkew: got 0, expected at least 1"),
        ({"topologyKey": ""}, "topologyKey"),
        ({"whenUnsatisfiable": "Never"}, "one of DoNotSchedule, ScheduleAnyway"),
        ({"minDomains": 0}, "minDomains: got 0"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "remove minDomains"),
        ({"nodeTaintsPolicy": "x"}, "one of nothing, Honor, Ignore"),
        ({"matchLabelKeys": ["a"]}, "labelSelector: got nothing, expected a selector"),
    ],
)
def test_spreading_that_cannot_be_meant_is_refused(
    constraint: dict[str, Any], complaint: str
) -> None:
    good = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    assert complaint in pod_refusal(topologySpreadConstraints=[{**good, **constraint}])


@pytest.mark.parametrize(
    ("kind", "parts", "complaint"),
    [
        (kinds.NODE, {"spec": {"taints": [{"key": "a", "effect": "x"}]}}, "taints[0].effect"),
        (kinds.NODE, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}] * 2}}, "one taint"),
        (kinds.NODE, {"status": {"allocatable": {"cpu": "-1"}}}, "status.allocatable.cpu"),
        (kinds.NODE, {"status": {"capacity": {"pods": "1.5"}}}, "pods is not divisible"),
        (kinds.POD_GROUP, {"spec": {"minMember": 0}}, "spec.minMember: got 0, expected at least 1"),
        (kinds.POD_GROUP, {"spec": {"minMember": -3}}, "a gang has at least one pod"),
        (kinds.POD_GROUP, {"spec": {"minMember": 1, "scheduleTimeoutSeconds": 0}}, "300 seconds"),
        (kinds.POD_GROUP, {"spec": {"minMember": 1, "affinity": {"podGroupAffinity": {
            "sortRules": [{"resource": "RAM", "dimension": "Capacity", "order": "Ascending"}]}}}},
         "sortRules[0].resource: got 'RAM', expected one of GPU, CPU, Memory"),
        (kinds.POD_GROUP, {"spec": {"minMember": 1, "affinity": {"podGroupAffinity": {
            "required": [{"topologyKey": "a"}] * 2}}}}, "required: got 'a'"),
        (kinds.POD_GROUP, {"spec": {"minMember": 1, "affinity": {"podGroupAffinity": {
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}}}}, "labels only"),
        (kinds.QUEUE, {"spec": {"parent": "web"}}, "spec.parent: got 'web', expected another"),
        (kinds.QUEUE, {"spec": {"weight": 0}}, "spec.weight: got 0, expected at least 1"),
        (kinds.QUEUE, {"spec": {"maxRunningUnits": -1}}, "0 closes the queue"),
        (kinds.QUEUE, {"spec": {"guarantee": {"cpu": 2}, "limit": {"cpu": 1}}}, "the limit, 1"),
        (kinds.QUEUE, {"spec": {"limit": {"cpu": -1}}}, "spec.limit.cpu: got -1"),
        (BUDGET, {"spec": {"minAvailable": 1, "maxUnavailable": 1}}, "keep one"),
        (BUDGET, {"spec": {"minAvailable": -1}}, "minAvailable: got -1"),
        (BUDGET, {"spec": {"maxUnavailable": "101%"}}, "or 0% to 100%"),
        (BUDGET, {"spec": {"maxUnavailable": "5"}}, "or 0% to 100%"),
        (BUDGET, {"spec": {"selector": {"matchLabels": {"?": ""}}}}, "'?'"),
        (kinds.PRIORITY_CLASS, {"value": 10**9 + 1}, "reserved for classes of Kubernetes"),
        (kinds.PRIORITY_CLASS, {"value": 1, "preemptionPolicy": "x"}, "preemptionPolicy"),
    ],
)  # fmt: skip
def test_other_kinds_are_refused_too(kind: Kind, parts: dict[str, Any], complaint: str) -> None:
    message = refusal(kind, **parts)
    assert message.startswith(kind.kind.lower())
    assert complaint in message


def test_kubernetes_own_priority_classes_may_be_higher() -> None:
    check(kinds.PRIORITY_CLASS, metadata={"name": "system-node-critical"}, value=2_000_001_000)


def test_a_resource_without_a_domain_is_one_of_kubernetes() -> None:
    containers = [{"name": "c", "resources": {"limits": {"gpus": "1"}}}]
    with pytest.raises(InputError, match=r"resources\.limits: got 'gpus', expected cpu, memory"):
        check(kinds.POD, metadata={"name": "p"}, spec={"containers": containers})


def test_the_names_of_system_classes_are_reserved() -> None:
    with pytest.raises(InputError, match="a name without the prefix system-"):
        check(kinds.PRIORITY_CLASS, metadata={"name": "system-mine"}, value=5)
    with pytest.raises(InputError, match="value: got 5"):
        check(kinds.PRIORITY_CLASS, metadata={"name": "system-node-critical"}, value=5)
