"""Defaulting and admission of objects, compared with what the API server stores."""

from typing import Any

import pytest

from stretto.api.admission.admit import admit
from stretto.api.admission.field_rules import RefusedFieldsError
from stretto.api.admission.quota import usage
from stretto.api.admission.request import AdmissionRequest, ForbiddenError, ObjectSet
from stretto.api.admission.schema import UnknownField, check_fields
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError


def pod(name: str = "web", *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [{"name": "c", "image": "x"}])
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def with_resources(**resources: dict[str, str]) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "image": "x", "resources": resources}])


def named(kind: Kind, name: str, **body: Any) -> tuple[Kind, dict[str, Any]]:
    space = {"namespace": "default"} if kind.namespaced else {}
    return kind, {"metadata": {"name": name, **space}, **body}


def spec_of(body: dict[str, Any], *others: tuple[Kind, dict[str, Any]]) -> dict[str, Any]:
    found = admit(AdmissionRequest(kinds.POD, body), ObjectSet(others)).body["spec"]
    assert isinstance(found, dict)
    return found


def refusal(body: dict[str, Any], *others: tuple[Kind, dict[str, Any]]) -> str:
    with pytest.raises(ForbiddenError) as caught:
        spec_of(body, *others)
    return caught.value.reason


def test_requests_default_to_limits_in_every_container() -> None:
    limits = {"limits": {"nvidia.com/gpu": "1", "ephemeral-storage": "1Gi"}}
    body = with_resources(**limits, requests={"cpu": "1"})
    body["spec"]["initContainers"] = [{"name": "i", "image": "x", "resources": limits}]
    spec = spec_of(body)
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", **limits["limits"]}
    assert spec["initContainers"][0]["resources"]["requests"] == limits["limits"]
    assert "requests" not in body["spec"]["initContainers"][0]["resources"]


def test_pod_level_requests_are_the_sum_of_the_containers_or_the_limit() -> None:
    body = with_resources(requests={"cpu": "500m"})
    body["spec"]["resources"] = {"limits": {"cpu": "2", "memory": "1Gi"}}
    assert spec_of(body)["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)],
)
def test_the_system_classes_are_built_in(name: str, value: int) -> None:
    assert spec_of(pod(priorityClassName=name))["priority"] == value


def test_the_global_default_and_its_policy_are_copied() -> None:
    default = named(
        kinds.PRIORITY_CLASS, "dflt", value=10, globalDefault=True, preemptionPolicy="Never"
    )
    spec = spec_of(pod(), default)
    assert (spec["priorityClassName"], spec["priority"]) == ("dflt", 10)
    assert spec["preemptionPolicy"] == "Never"
    assert spec_of(pod())["priority"] == 0


def test_an_unknown_class_and_another_value_are_refused() -> None:
    assert refusal(pod(priorityClassName="nosuch")) == (
        "no PriorityClass with name nosuch was found"
    )
    assert "the integer value of priority (7) must not be provided" in refusal(
        pod(priorityClassName="high", priority=7), named(kinds.PRIORITY_CLASS, "high", value=9)
    )


def test_label_keys_join_the_selectors_once() -> None:
    term = {
        "topologyKey": "z",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["rev", "absent"],
        "mismatchLabelKeys": ["tenant"],
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spread = {
        "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {}, "matchLabelKeys": ["rev"],
    }  # fmt: skip
    body = pod(
        labels={"rev": "2", "tenant": "a"},
        affinity={"podAntiAffinity": required},
        topologySpreadConstraints=[spread],
    )
    once = admit(AdmissionRequest(kinds.POD, body), ObjectSet()).body
    twice = admit(AdmissionRequest(kinds.POD, once), ObjectSet()).body
    assert once == twice
    anti = once["spec"]["affinity"]["podAntiAffinity"]
    found = anti["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    assert found["matchExpressions"] == [
        {"key": "rev", "operator": "In", "values": ["2"]},
        {"key": "tenant", "operator": "NotIn", "values": ["a"]},
    ]
    (constraint,) = once["spec"]["topologySpreadConstraints"]
    assert constraint["labelSelector"]["matchExpressions"] == [
        {"key": "rev", "operator": "In", "values": ["2"]}
    ]


def test_a_pod_tolerates_lost_nodes_for_five_minutes_unless_it_states_it() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 5}
    found = spec_of(pod(tolerations=[{**own, "effect": "NoExecute"}]))["tolerations"]
    assert [(each["key"], each["tolerationSeconds"]) for each in found] == [
        ("node.kubernetes.io/not-ready", 5),
        ("node.kubernetes.io/unreachable", 300),
    ]


def test_a_runtime_class_adds_overhead_and_nodes() -> None:
    kata = named(
        kinds.RUNTIME_CLASS,
        "kata",
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={"nodeSelector": {"kata": "yes"}},
    )
    spec = spec_of(pod(runtimeClassName="kata"), kata)
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "250m"}, {"kata": "yes"})
    assert refusal(pod(runtimeClassName="x")) == 'pod rejected: RuntimeClass "x" not found'
    assert "conflict: runtimeClass.scheduling.nodeSelector[kata] = yes" in refusal(
        pod(runtimeClassName="kata", nodeSelector={"kata": "no"}), kata
    )


def test_a_limit_range_gives_defaults_and_bounds() -> None:
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}
    _, body = named(kinds.LIMIT_RANGE, "bounds", spec={"limits": [item]})
    held = admit(AdmissionRequest(kinds.LIMIT_RANGE, body), ObjectSet()).body
    bounds = (kinds.LIMIT_RANGE, held)
    (container,) = spec_of(pod(), bounds)["containers"]
    assert container["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
    assert refusal(with_resources(limits={"cpu": "3"}), bounds) == (
        "maximum cpu usage per Container is 2, but limit is 3"
    )
    assert refusal(with_resources(limits={"cpu": "50m"}), bounds) == (
        "minimum cpu usage per Container is 100m, but request is 50m"
    )


def test_a_quota_refuses_in_the_words_of_the_api_server() -> None:
    hard = {"cpu": "1", "pods": "5"}
    quota = named(kinds.RESOURCE_QUOTA, "q", spec={"hard": hard})
    body = with_resources(requests={"cpu": "600m"})
    first = admit(AdmissionRequest(kinds.POD, body), ObjectSet([quota]))
    (charged,) = first.quotas
    assert charged["status"]["used"] == {"cpu": "600m", "pods": "1"}
    assert refusal(body, (kinds.RESOURCE_QUOTA, charged)) == (
        "exceeded quota: q, requested: cpu=600m, used: cpu=600m, limited: cpu=1"
    )
    assert refusal(pod(), quota) == "failed quota: q: must specify cpu for: c"


def test_a_scoped_quota_counts_the_pods_of_its_scope_only() -> None:
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    spec = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}}
    quota = named(kinds.RESOURCE_QUOTA, "q", spec=spec)
    high = named(kinds.PRIORITY_CLASS, "high", value=9)
    assert spec_of(pod(), quota, high)["priority"] == 0
    assert refusal(pod(priorityClassName="high"), quota, high) == (
        "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"
    )
    assert usage(kinds.POD, pod())["count/pods"] == 1000


@pytest.mark.parametrize(("given", "expected"), [(None, "fast"), ("", ""), ("slow", "slow")])
def test_a_missing_storage_class_is_the_default_one(given: str | None, expected: str) -> None:
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    _, fast = named(kinds.STORAGE_CLASS, "fast", provisioner="p")
    fast["metadata"]["annotations"] = mark
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec |= {} if given is None else {"storageClassName": given}
    _, claim = named(kinds.PERSISTENT_VOLUME_CLAIM, "data", spec=spec)
    view = ObjectSet([(kinds.STORAGE_CLASS, fast)])
    found = admit(AdmissionRequest(kinds.PERSISTENT_VOLUME_CLAIM, claim), view).body
    assert found["spec"]["storageClassName"] == expected


def test_a_selector_must_match_the_template() -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "b"}}, "template": template}
    _, body = named(kinds.DEPLOYMENT, "web", spec=spec)
    with pytest.raises(InputError, match="`selector` does not match template `labels`"):
        admit(AdmissionRequest(kinds.DEPLOYMENT, body), ObjectSet())


def test_nodes_and_namespaces_get_their_defaults() -> None:
    _, node = named(kinds.NODE, "n", status={"capacity": {"cpu": "4"}})
    held = admit(AdmissionRequest(kinds.NODE, node), ObjectSet()).body
    assert held["status"]["allocatable"] == {"cpu": "4"}
    _, space = named(kinds.NAMESPACE, "ml")
    held = admit(AdmissionRequest(kinds.NAMESPACE, space), ObjectSet()).body
    assert held["metadata"]["labels"] == {"kubernetes.io/metadata.name": "ml"}


def test_an_object_of_a_dump_passes_unchanged() -> None:
    body = pod(priorityClassName="unknown-here", priority=7)
    body["metadata"] |= {"namespace": "default", "resourceVersion": "12"}
    assert admit(AdmissionRequest(kinds.POD, body), ObjectSet()).body == body


def test_unknown_fields_are_refused_or_reported_at_every_level() -> None:
    body = with_resources()
    body["spec"]["containers"][0]["livenessProbe"] = {"httpGet": {"prot": 80}}
    found: list[UnknownField] = []
    check_fields(kinds.POD, body, "x", found.append)
    path = "spec.containers[0].livenessProbe.httpGet.prot"
    assert [(each.path, each.nearest) for each in found] == [(path, "port")]
    with pytest.raises(InputError, match=r"unknown field 'prot'; did you mean 'port'\?"):
        check_fields(kinds.POD, body, "x", None)
    with pytest.raises(InputError, match="expected an integer"):
        check_fields(kinds.POD, pod(priority="7"), "x", None)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"containers": [{"name": "c", "image": "x", "env": [{"value": "1"}]}]},
            "spec.containers[0].env[0].name: Required value",
        ),
        ({"dnsPolicy": "Some"}, 'spec.dnsPolicy: Unsupported value: "Some"'),
        ({"volumes": [{"name": "v", "hostPath": {"path": "a/../b"}}]}, "must not contain '..'"),
    ],
)
def test_fields_that_the_api_server_refuses_are_refused(spec: dict[str, Any], said: str) -> None:
    body = pod(**spec)
    with pytest.raises(RefusedFieldsError) as error:
        admit(AdmissionRequest(kinds.POD, body), ObjectSet())
    assert str(error.value).startswith('Pod "web" is invalid: ')
    assert said in str(error.value)


def test_a_missing_image_is_no_fault() -> None:
    assert spec_of(pod(containers=[{"name": "c"}]))["containers"][0]["name"] == "c"


def test_a_privileged_container_is_allowed_as_in_most_clusters() -> None:
    containers = [{"name": "c", "image": "x", "securityContext": {"privileged": True}}]
    assert spec_of(pod(containers=containers))["containers"] != []


def test_the_template_of_a_job_is_checked() -> None:
    spec = {**pod()["spec"], "restartPolicy": "Always"}
    _, job = named(kinds.JOB, "j", spec={"template": {"spec": spec}})
    with pytest.raises(InputError, match="restartPolicy"):
        admit(AdmissionRequest(kinds.JOB, job), ObjectSet())
