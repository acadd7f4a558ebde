"""Requests that kube-apiserver refuses, or whose result has a special form."""

from typing import Any

import pytest

from stretto.api.wire.durations import duration_problem

PODS = "/api/v1/namespaces/default/pods"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def a_pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "a"}, "spec": {"containers": containers, **spec}}


def causes(reply: Any) -> list[str]:
    return [each["field"] for each in reply.item["details"]["causes"]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("5s", ""),
        ("-1.5h", ""),
        ("0", ""),
        ("1h30m", ""),
        ("x", 'time: invalid duration "x"'),
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5y", 'time: unknown unit "y" in duration "5y"'),
    ],
)
def test_a_malformed_duration_has_the_error_of_go(text: str, problem: str) -> None:
    assert duration_problem(text) == problem


@pytest.mark.parametrize(("query", "status"), [("timeout=x", 400), ("timeout=0", 200)])
def test_a_malformed_timeout_of_a_request_is_refused(send: Any, query: str, status: int) -> None:
    assert send("GET", f"{MAPS}?{query}").status == status


@pytest.mark.parametrize("query", ["fieldValidation=strict", "fieldManager=" + "x" * 129])
def test_the_options_of_a_review_are_checked(send: Any, query: str) -> None:
    spec = {"nonResourceAttributes": {"path": "/", "verb": "get"}}
    assert send("POST", f"{REVIEWS}?{query}", {"spec": spec}).status == 422


def test_a_media_type_is_refused_before_the_options_of_a_patch(send: Any) -> None:
    assert send("PATCH", f"{MAPS}/a?dryRun=None", {}, "json").status == 415


def test_a_new_keyed_list_of_a_strategic_patch_needs_no_merge_key(send: Any) -> None:
    send("POST", MAPS, {"metadata": {"name": "a"}})
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "z"}]
    patch = {"metadata": {"ownerReferences": owners}}
    reply = send("PATCH", f"{MAPS}/a", patch, "strategic-merge-patch+json")
    assert reply.status == 422
    assert "metadata.ownerReferences.uid" in causes(reply)


@pytest.mark.parametrize(
    ("expressions", "field"),
    [
        ([{"key": "zone"}], "[0].values"),
        ([{"key": "zone", "values": ["a", "a"]}], "[0].values[1]"),
        ([{"key": "a", "values": ["b"]}, {"key": "a", "values": ["b"]}], "[1].key"),
        ([{"key": "-", "values": ["a"]}], "[0].key"),
    ],
)
def test_the_topologies_of_a_storage_class_are_checked(
    send: Any, expressions: list[Any], field: str
) -> None:
    terms = [{"matchLabelExpressions": expressions}]
    item = {"metadata": {"name": "a"}, "provisioner": "p", "allowedTopologies": terms}
    where = "allowedTopologies[0].matchLabelExpressions"
    assert causes(send("POST", CLASSES, item)) == [f"{where}{field}"]


def test_the_template_of_an_ephemeral_volume_is_checked(send: Any) -> None:
    template = {"metadata": {"labels": {"-": ""}, "name": "n"}, "spec": {}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}
    found = causes(send("POST", PODS, a_pod(volumes=[volume])))
    assert [each.partition("Template.")[2] for each in found] == [
        "metadata.labels",
        "metadata.name",
        "spec.accessModes",
        "spec.resources[storage]",
    ]


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({"conditions": [{"status": "True"}]}, "conditions[0].Type"),
        ({"podIP": "x", "podIPs": [{"ip": "x"}]}, "podIPs[0]"),
        ({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}]}, "podIPs"),
        ({"hostIP": "1.1.1.1", "hostIPs": [{"ip": "1.1.1.2"}]}, "hostIPs[0].ip"),
        ({"observedGeneration": -1}, "observedGeneration"),
        ({"qosClass": "Guaranteed"}, "qosClass"),
        ({"nominatedNodeName": "A"}, "nominatedNodeName"),
    ],
)
def test_the_status_of_a_pod_is_checked(send: Any, status: dict[str, Any], field: str) -> None:
    send("POST", PODS, a_pod())
    reply = send("PATCH", f"{PODS}/a/status", {"status": status}, "merge-patch+json")
    assert set(causes(reply)) == {f"status.{field}"}


def test_a_volume_without_a_phase_is_pending(send: Any) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    item = {"metadata": {"name": "a"}, "spec": {**spec, "hostPath": {"path": "/a"}}}
    send("POST", "/api/v1/persistentvolumes", item)
    reply = send("PUT", "/api/v1/persistentvolumes/a/status", item)
    assert reply.item["status"]["phase"] == "Pending"


def test_repeated_items_of_a_keyed_list_have_one_owner_as_a_whole(send: Any) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    pod = {"containers": [{"name": "c", "image": "i", "env": env}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    item = {"metadata": {"name": "a"}, "spec": {"selector": {"a": "b"}, "template": template}}
    fields = send("POST", CONTROLLERS, item).item["metadata"]["managedFields"][0]["fieldsV1"]
    pods = fields["f:spec"]["f:template"]["f:spec"]
    owned = pods["f:containers"]['k:{"name":"c"}']["f:env"]
    assert owned == {".": {}, 'k:{"name":"A"}': {}}


FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.mark.parametrize(
    ("namespaces", "places"), [(["*", "*"], [""]), (["A"], ["[0]"]), (["*"], []), (["a"], [])]
)
def test_the_namespaces_of_a_flow_schema_are_checked(
    send: Any, namespaces: list[str], places: list[str]
) -> None:
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": namespaces}
    subjects = [{"kind": "Group", "group": {"name": "a"}}]
    rules = [{"subjects": subjects, "resourceRules": [resources]}]
    spec = {"priorityLevelConfiguration": {"name": "a"}, "matchingPrecedence": 9, "rules": rules}
    reply = send("POST", FLOWS, {"metadata": {"name": "a"}, "spec": spec})
    found = causes(reply) if reply.status == 422 else []
    assert found == [f"spec.rules[0].resourceRules[0].namespaces{each}" for each in places]


@pytest.mark.parametrize(
    ("hints", "field"),
    [
        ({"forZones": [{"name": "z"}, {"name": "z"}]}, "forZones[1].name"),
        ({"forZones": [{"name": str(each)} for each in range(9)]}, "forZones"),
        ({"forNodes": [{"name": "A"}]}, "forNodes[0].name"),
    ],
)
def test_the_hints_of_an_endpoint_are_checked(send: Any, hints: dict[str, Any], field: str) -> None:
    endpoints = [{"addresses": ["10.0.0.1"], "hints": hints}]
    item = {"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": endpoints}
    assert causes(send("POST", SLICES, item)) == [f"endpoints[0].hints.{field}"]


def test_a_count_or_percentage_has_32_bits(send: Any) -> None:
    strategy = {"rollingUpdate": {"maxUnavailable": 2**31}}
    reply = send("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": {"strategy": strategy}})
    assert reply.status == 400
    assert reply.message.endswith("rollingUpdate.maxUnavailable of type int32")


def test_a_rule_of_a_failure_policy_without_a_condition_is_refused(send: Any) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec = {"template": {"spec": pod}, "podFailurePolicy": {"rules": [{"action": "FailJob"}]}}
    reply = send("POST", JOBS, {"metadata": {"name": "a"}, "spec": spec})
    assert "Invalid value: specifying one of OnExitCodes" in reply.message


def test_a_namespace_without_a_phase_is_active(send: Any) -> None:
    item = {"metadata": {"name": "default"}}
    assert send("PUT", "/api/v1/namespaces/default/status", item).item["status"] == {
        "phase": "Active"
    }


def test_the_options_of_writes_do_not_concern_deletions(send: Any) -> None:
    send("POST", MAPS, {"metadata": {"name": "a"}})
    assert send("DELETE", f"{MAPS}/a?fieldValidation=strict").status == 200


def test_all_problems_of_the_options_of_a_deletion_are_reported(send: Any) -> None:
    send("POST", MAPS, {"metadata": {"name": "a"}})
    options = {"orphanDependents": True, "propagationPolicy": "x"}
    assert causes(send("DELETE", f"{MAPS}/a", options)) == ["propagationPolicy"] * 2


def test_a_second_deletion_with_more_grace_changes_nothing(send: Any) -> None:
    send("POST", PODS, a_pod(nodeName="n"))
    send("DELETE", f"{PODS}/a?gracePeriodSeconds=5")
    second = send("DELETE", f"{PODS}/a?gracePeriodSeconds=60&orphanDependents=true")
    assert "finalizers" not in second.item["metadata"]


@pytest.mark.parametrize(("value", "status"), [("true", 400), ("", 400), ("false", 200)])
def test_an_object_is_not_exported(send: Any, value: str, status: int) -> None:
    send("POST", MAPS, {"metadata": {"name": "a"}})
    assert send("GET", f"{MAPS}/a?export={value}").status == status


@pytest.mark.parametrize(
    ("status", "addresses"),
    [
        ({"podIP": "10.0.0.1"}, ["10.0.0.1"]),
        ({"podIPs": [{"ip": "10.0.0.1"}]}, ["10.0.0.1"]),
        ({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]}, ["10.0.0.2"]),
    ],
)
def test_both_forms_of_the_address_of_a_pod_are_equal(
    send: Any, status: dict[str, Any], addresses: list[str]
) -> None:
    send("POST", PODS, a_pod())
    found = send("PATCH", f"{PODS}/a/status", {"status": status}, "merge-patch+json").item["status"]
    assert [each["ip"] for each in found["podIPs"]] == addresses
    assert found["podIP"] == addresses[0]


UNTYPED = "failed to create typed patch object"
TYPE = "couldn't get version/kind; json parse error: json: cannot unmarshal"


@pytest.mark.parametrize(("stated", "word"), [({"a": 1}, "object"), ([1], "array"), (5, "number")])
def test_a_kind_that_is_no_text_is_refused(send: Any, stated: Any, word: str) -> None:
    refusal = send("POST", MAPS, {"kind": stated, "metadata": {"name": "x"}})
    expected = f"{TYPE} {word} into Go struct field .kind of type string"
    assert (refusal.status, expected in refusal.item["message"]) == (400, True)


@pytest.mark.parametrize(
    ("media", "why"),
    [
        ("merge-patch", f"{TYPE} object into Go struct field .apiVersion of type string"),
        ("strategic-merge-patch", "unrecognized type: string"),
    ],
)
def test_a_patch_cannot_make_a_version_that_is_no_text(send: Any, media: str, why: str) -> None:
    send("POST", MAPS, {"metadata": {"name": "x"}})
    refusal = send("PATCH", f"{MAPS}/x", {"apiVersion": {"a": 1}}, f"{media}+json")
    assert (refusal.status, refusal.item["message"].endswith(why)) == (422, True)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"kind": {"a": 1}, "apiVersion": "v1"}, "invalid object type: /v1, Kind="),
        (
            {"kind": "ConfigMap", "apiVersion": "v1", "metadata": 5},
            f"{UNTYPED} (/; /v1, Kind=ConfigMap): .metadata: expected map, got &{{5}}",
        ),
    ],
)
def test_an_applied_object_without_readable_type_or_metadata_is_refused(
    send: Any, config: dict[str, Any], message: str
) -> None:
    refusal = send("PATCH", f"{MAPS}/x?fieldManager=f", config, "apply-patch+yaml")
    assert refusal.item["message"] == message


def node_port(name: str, port: int) -> dict[str, Any]:
    """A Service with a node port."""
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": port}]
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}}


def test_a_node_port_is_within_its_range(send: Any) -> None:
    found = send("POST", SERVICES, node_port("a", 100))
    assert causes(found) == ["spec.ports[1].nodePort"]
    assert found.message.endswith("The range of valid ports is 30000-32767")


def test_a_node_port_belongs_to_one_service(send: Any) -> None:
    assert send("POST", SERVICES, node_port("a", 30_100)).status == 201
    assert send("POST", SERVICES, node_port("b", 30_100)).message.endswith("already allocated")
    assert send("PUT", f"{SERVICES}/a", node_port("a", 30_100)).status == 200


@pytest.mark.parametrize("stated", [0, 1])
def test_the_protocols_of_a_new_port_have_one_node_port(send: Any, stated: int) -> None:
    ports: list[dict[str, Any]] = [
        {"name": each, "port": 53, "protocol": each.upper()} for each in ("tcp", "udp")
    ]
    ports[stated]["nodePort"] = 30_200
    service = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": ports}}
    made = send("POST", SERVICES, service).item["spec"]["ports"]
    assert [each["nodePort"] for each in made] == [30_200, 30_200]


@pytest.mark.parametrize("option", ["resourceVersion=1", "uid=other"])
def test_the_query_of_a_deletion_states_preconditions(send: Any, option: str) -> None:
    send("POST", MAPS, {"metadata": {"name": "a"}})
    found = send("DELETE", f"{MAPS}/a?{option}")
    assert (found.status, found.item["reason"]) == (409, "Conflict")


def test_values_of_dry_run_are_quoted_as_a_list(send: Any) -> None:
    found = send("POST", f"{MAPS}?dryRun=All&dryRun=None", {"metadata": {"name": "a"}})
    assert 'Unsupported value: ["All","None"]' in found.message


def test_a_limited_priority_level_states_its_response(send: Any) -> None:
    spec = {"type": "Limited", "limited": {"limitResponse": {"queuing": {}}}}
    levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    found = send("POST", levels, {"metadata": {"name": "a"}, "spec": spec})
    assert found.message.endswith("spec.limited.limitResponse.type: Required value")


@pytest.mark.parametrize("member", ["containers", "initContainers"])
@pytest.mark.parametrize(("policy", "status"), [("Sometimes", 422), ("Always", 201)])
def test_the_restart_policy_of_a_container_is_known(
    send: Any, member: str, policy: str, status: int
) -> None:
    container = {"name": "x", "image": "i", "restartPolicy": policy}
    pod = a_pod()
    pod["spec"][member] = [container]
    assert send("POST", PODS, pod).status == status
