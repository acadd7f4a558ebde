"""Absurd and contradictory values are refused with path, value and advice."""

from typing import Any

import msgspec
import pytest

from stretto.api import codec
from stretto.api.admission.field_rules import check_new
from stretto.api.checks.kinds.resources import is_extended
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
    if kind is kinds.POD:
        check_new(kind, body)
    else:
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
        ({"requests": {"cpu": "-1"}}, "0; remove the minus sign"),
        ({"limits": {"memory": -1}}, 'limits[memory]: Invalid value: "-1"'),
        ({"requests": {"nvidia.com/gpu": "500m"}}, 'value: "500m": must be an integer'),
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "or equal to cpu limit of 1"),
        ({"requests": {"a.b/c": 1}, "limits": {"a.b/c": 2}}, "must be equal to a.b/c limit of 2"),
        ({"requests": {"a.b/c": 1}}, "overcommitable resources; set the limit to the request"),
        ({"requests": {"no good": 1}}, 'requests[no good]: Invalid value: "no good"'),
    ],
)
def test_absurd_amounts_are_refused(resources: dict[str, Any], complaint: str) -> None:
    message = pod_refusal(**spec_with(**resources))
    assert "spec.containers[0].resources." in message
    assert complaint in message


def test_a_negative_amount_of_a_stored_pod_is_refused() -> None:
    spec = spec_with(requests={"cpu": "-1"})
    stored = codec.decode(kinds.POD, msgspec.json.encode({"metadata": META, "spec": spec}))
    with pytest.raises(InputError, match=r"requests\.cpu: got '-1'"):
        validate(stored)


def test_a_sum_beyond_all_bounds_is_refused() -> None:
    box = {"resources": {"requests": {"memory": "7Ei"}}}
    boxes = [{"name": "a", **box}, {"name": "b", **box}]
    assert "memory of all containers" in pod_refusal(containers=boxes)
    assert "64 bits" in pod_refusal(**spec_with(requests={"memory": "10E"}))


def test_pod_level_requests_below_the_containers_are_refused() -> None:
    spec = {**spec_with(requests={"cpu": "2"}), "resources": {"requests": {"cpu": "1"}}}
    assert "spec.resources.requests.cpu: got '1', expected at least 2" in pod_refusal(**spec)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        ({"containers": [{}]}, "spec.containers[0].name: Required value"),
        ({"containers": [BOX, BOX]}, 'containers[1].name: Duplicate value: "c"; rename'),
        ({"initContainers": [BOX]}, 'spec.initContainers[0].name: Duplicate value: "c"'),
        ({"overhead": {"cpu": "-1m"}}, "spec.overhead.limits[cpu]"),
        ({"priority": 3 * 10**9}, "spec.priority: got 3000000000"),
        ({"preemptionPolicy": "never"}, 'preemptionPolicy: Unsupported value: "never"'),
        ({"priorityClassName": "A"}, "spec.priorityClassName"),
        ({"nodeName": "a/b"}, "spec.nodeName"),
        ({"nodeName": "n", "schedulingGates": [{"name": "g"}]}, "remove spec.nodeName or"),
        ({"schedulingGates": [{"name": "g"}] * 2}, 'spec.schedulingGates[1]: Duplicate value: "g"'),
        ({"nodeSelector": {"a": "b c"}}, 'spec.nodeSelector: Invalid value: "b c"'),
        ({"tolerations": [{}]}, "write operator: Exists"),
        ({"tolerations": [{"key": "a", "operator": "In"}]}, "spec.tolerations[0].operator"),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "use Equal, or remove the value",
        ),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "spec.tolerations[0].effect"),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": 5}]},
            "only the effect NoExecute",
        ),
        ({"volumes": [{"name": "v"}] * 2}, 'spec.volumes[1].name: Duplicate value: "v"'),
        ({"volumes": [{"name": "V"}]}, "spec.volumes[0].name"),
    ],
)
def test_a_pod_that_contradicts_itself_is_refused(spec: dict[str, Any], complaint: str) -> None:
    assert complaint in pod_refusal(**spec)


@pytest.mark.parametrize(
    ("port", "complaint"),
    [
        ({"containerPort": 0}, "ports[0].containerPort: Required value"),
        ({"containerPort": 65536}, "Invalid value: 65536: must be between 1"),
        ({"containerPort": 80, "hostPort": -1}, "hostPort: Invalid value: -1"),
        ({"containerPort": 80, "protocol": "tcp"}, 'protocol: Unsupported value: "tcp"'),
    ],
)
def test_ports_out_of_range_are_refused(port: dict[str, Any], complaint: str) -> None:
    assert complaint in pod_refusal(containers=[{**BOX, "ports": [port]}])


def test_on_the_host_network_a_port_is_one_port() -> None:
    box = {**BOX, "ports": [{"containerPort": 80, "hostPort": 81}]}
    message = pod_refusal(containers=[box], hostNetwork=True)
    assert "with hostNetwork the two ports are equal" in message


def test_two_containers_cannot_take_one_port_of_the_node() -> None:
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    boxes = [{"name": "a", **ports}, {"name": "b", **ports}]
    assert "containers[1].ports[0].hostPort: Duplicate value" in pod_refusal(containers=boxes)


@pytest.mark.parametrize(
    ("affinity", "complaint"),
    [
        ({"podAffinity": term(topologyKey="")}, "[0].topologyKey: Required value"),
        ({"podAffinity": term(namespaces=["A"])}, '[0].namespace: Invalid value: "A"'),
        ({"podAntiAffinity": term(labelSelector={"matchLabels": {"a": "?"}})}, 'value: "?"'),
        ({"podAffinity": term(matchLabelKeys=["a"], mismatchLabelKeys=["a"])}, "mismatchLabelKeys"),
        ({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}]}}, "weight: Invalid value: 0"),
        ({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101}]}},
         "weight: Invalid value: 101: must be in the range 1-100"),
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
        ({"maxSkew": 0}, "maxSkew: Invalid value: 0: must be greater than zero"),
        ({"topologyKey": ""}, "topologyKey"),
        ({"whenUnsatisfiable": "Never"}, 'supported values: "DoNotSchedule", "ScheduleAnyway"'),
        ({"minDomains": 0}, "minDomains: Invalid value: 0"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "remove minDomains"),
        ({"nodeTaintsPolicy": "x"}, 'supported values: "Honor", "Ignore"'),
        (
            {"matchLabelKeys": ["a"]},
            "matchLabelKeys: Forbidden: must not be specified when labelSelector",
        ),
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
    with pytest.raises(InputError, match="an extended resource has a domain"):
        check(kinds.POD, metadata={"name": "p"}, spec={"containers": containers})


def test_the_names_of_system_classes_are_reserved() -> None:
    with pytest.raises(InputError, match="a name without the prefix system-"):
        check(kinds.PRIORITY_CLASS, metadata={"name": "system-mine"}, value=5)
    with pytest.raises(InputError, match="value: got 5"):
        check(kinds.PRIORITY_CLASS, metadata={"name": "system-node-critical"}, value=5)


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("a.b/gpu", True),
        ("requests.a/gpu", False),
        (f"{'a.' * 121}ab/gpu", True),
        (f"{'a.' * 122}a/gpu", False),
        ("kubernetes.io/gpu", False),
        ("A_b/gpu", False),
        ("gpu", False),
    ],
)
def test_an_extended_resource_has_a_domain_that_its_quota_can_name(
    name: str, extended: bool
) -> None:
    assert is_extended(name) is extended
