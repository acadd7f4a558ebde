"""Selectors, templates and counts of workloads are checked as by kube-apiserver."""

from typing import Any

import pytest

from tests.unit.web.api.test_kind_rules import ApiClient

Json = dict[str, Any]

APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
BAD = {"matchLabels": {"a": "foo/bar"}}


def workload(selector: Any, labels: Any, **spec: Any) -> Json:
    inner = {"containers": [{"name": "c", "image": "i"}], **spec.pop("pod", {})}
    template = {"metadata": {"labels": labels}, "spec": inner}
    return {"metadata": {"name": "w"}, "spec": {"selector": selector, "template": template, **spec}}


def job(**spec: Any) -> Json:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    pod |= spec.pop("pod", {})
    return {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}, **spec}}


def causes(target: str, body: Json) -> list[tuple[str, str]]:
    answer = ApiClient().send("POST", target, body)[1]
    return [(each["field"], each["message"]) for each in answer["details"]["causes"]]


def fields(target: str, body: Json) -> list[str]:
    return [field for field, _ in causes(target, body)]


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "statefulsets"])
def test_a_malformed_selector_hides_the_errors_of_the_template(plural: str) -> None:
    body = workload(BAD, {"b": "c"}, pod={"containers": []})
    found = fields(f"{APPS}/{plural}", body)
    assert found == ["spec.selector.matchLabels", "spec.selector"]


def test_an_unknown_restart_policy_is_refused_by_the_pod_and_by_its_controller() -> None:
    body = workload({"matchLabels": {"a": "b"}}, {"a": "b"}, pod={"restartPolicy": "Maybe"})
    assert fields(f"{APPS}/daemonsets", body) == ["spec.template.spec.restartPolicy"] * 2


def test_a_deadline_names_the_kind_of_its_controller() -> None:
    body = workload({"matchLabels": {"a": "b"}}, {"a": "b"}, pod={"activeDeadlineSeconds": 5})
    ((_, message),) = causes(f"{APPS}/daemonsets", body)
    assert "activeDeadlineSeconds in DaemonSet is not Supported" in message


def test_a_value_of_a_selector_expression_is_a_label() -> None:
    rule = {"key": "a", "operator": "In", "values": ["b c"]}
    body = workload({"matchExpressions": [rule]}, {"a": "b c"})
    assert "spec.selector.matchExpressions[0].values[0]" in fields(f"{APPS}/deployments", body)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"maxFailedIndexes": 1, "completionMode": "Indexed", "completions": 2}, "backoffLimitPer"),
        ({"completionMode": "Indexed", "completions": 2, "parallelism": 100_001}, "parallelism"),
        ({"pod": {"restartPolicy": "Always"}}, "template.spec.restartPolicy"),
    ],
)
def test_the_counts_and_policies_of_a_job_are_checked(spec: Json, field: str) -> None:
    (found,) = fields(JOBS, job(**spec))
    assert found.startswith(f"spec.{field}")


def test_the_selector_of_a_job_by_hand_must_match_its_template() -> None:
    body = job(manualSelector=True, selector={"matchLabels": {"a": "b"}})
    assert fields(JOBS, body) == ["spec.template.metadata.labels"]


def test_the_completions_of_an_indexed_job_change_with_its_parallelism() -> None:
    client = ApiClient()
    client.send("POST", JOBS, job(completionMode="Indexed", completions=2, parallelism=2))
    status, answer = client.merge(f"{JOBS}/j", {"spec": {"completions": 3}})
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec.completions")
    both = {"spec": {"completions": 3, "parallelism": 3}}
    assert client.merge(f"{JOBS}/j", both)[0] == 200


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry.example.org:5000/team/app", "Always"),
        ("registry.example.org:5000/team/app:2", "IfNotPresent"),
        ("app@sha256:" + "a" * 64, "IfNotPresent"),
        ("Bad_Name", "IfNotPresent"),
        ("a" * 64, "IfNotPresent"),
    ],
)
def test_the_pull_policy_depends_on_the_tag_of_the_image(image: str, policy: str) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}}
    _, made = ApiClient().send("POST", "/api/v1/namespaces/default/pods", body)
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_an_amount_with_another_suffix_is_refused_for_its_suffix() -> None:
    pod = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "6Gi-"}}}]}
    body = {"metadata": {"name": "p"}, "spec": pod}
    status, answer = ApiClient().send("POST", "/api/v1/namespaces/default/pods", body)
    assert (status, "unable to parse quantity's suffix" in answer["message"]) == (400, True)


def test_a_port_of_zero_is_refused_as_port_and_as_its_target() -> None:
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 0}]}}
    found = fields("/api/v1/namespaces/default/services", body)
    assert found == ["spec.ports[0].port", "spec.ports[0].targetPort"]


def test_an_applied_fraction_is_refused_as_a_failed_conversion() -> None:
    client = ApiClient()
    target, labels = f"{APPS}/deployments", {"a": "b"}
    client.send("POST", target, workload({"matchLabels": labels}, labels))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3.5}}
    body = {**scale, "metadata": {"name": "w", "namespace": "default"}}
    patch = "apply-patch+yaml"
    status, answer = client.send("PATCH", f"{target}/w/scale?fieldManager=m&force=1", body, patch)
    assert status == 500
    assert answer["message"].endswith("Kind=Scale: cannot convert float64 to int32")


def test_an_applied_list_in_the_place_of_a_text_is_shown_as_go_prints_it() -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
    target = "/api/v1/namespaces/default/configmaps/m?fieldManager=m"
    _, answer = ApiClient().send(
        "PATCH", target, {**head, "data": {"k": ["1"]}}, "apply-patch+yaml"
    )
    assert answer["message"].endswith(
        'expected string, got &value.valueUnstructured{Value:[]interface {}{"1"}}'
    )


def test_a_put_of_a_missing_object_with_a_uid_is_not_found() -> None:
    body = {"metadata": {"name": "m", "uid": "11111111-2222-3333-4444-555555555555"}}
    core = "/api/v1/namespaces/default"
    assert ApiClient().send("PUT", f"{core}/configmaps/m", body)[0] == 404
    assert ApiClient().send("PUT", f"{core}/endpoints/m", body)[0] == 409


def test_malformed_owners_of_fields_in_an_update_count_as_absent() -> None:
    client, target = ApiClient(), "/api/v1/namespaces/default/configmaps"
    client.send("POST", target, {"metadata": {"name": "m"}, "data": {"a": "b"}})
    entry = {"manager": "q", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    owned = {**entry, "fieldsV1": {"f:data": {"extra": {}}}}
    body = {"metadata": {"name": "m", "managedFields": [owned]}, "data": {"a": "b"}}
    _, item = client.send("PUT", f"{target}/m", body)
    assert [each["manager"] for each in item["metadata"]["managedFields"]] == ["unknown"]


def test_an_update_of_a_pod_is_checked_like_a_new_pod() -> None:
    client, target = ApiClient(), "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}]}
    client.send("POST", target, {"metadata": {"name": "p"}, "spec": spec})
    toleration = {"key": "a", "operator": "Maybe"}
    status, answer = client.merge(f"{target}/p", {"spec": {"tolerations": [toleration]}})
    found = [each["field"] for each in answer["details"]["causes"]]
    assert (status, "spec.tolerations[0].operator" in found) == (422, True)


def test_a_changed_pod_keeps_the_default_tolerations() -> None:
    client, target = ApiClient(), "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}]}
    client.send("POST", target, {"metadata": {"name": "p"}, "spec": spec})
    status, item = client.merge(f"{target}/p", {"spec": {"tolerations": []}})
    found = [each["key"].partition("/")[2] for each in item["spec"]["tolerations"]]
    assert (status, found) == (200, ["not-ready", "unreachable"])


def test_an_overhead_without_a_class_is_refused_after_the_fields_of_the_pod() -> None:
    target = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}], "overhead": {"cpu": "1"}}
    body = {"metadata": {"name": "p"}, "spec": spec}
    assert ApiClient().send("POST", target, body)[0] == 403
    body["spec"]["restartPolicy"] = "x"
    assert ApiClient().send("POST", target, body)[0] == 422


def test_labels_of_a_job_must_be_those_of_its_selector() -> None:
    template = {**job()["spec"]["template"], "metadata": {"labels": {"job-name": "other"}}}
    assert fields(JOBS, job(template=template)) == ["spec.template.metadata.labels[job-name]"]


def test_a_put_of_a_missing_service_creates_it() -> None:
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    assert ApiClient().send("PUT", "/api/v1/namespaces/default/services/s", body)[0] == 201


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"csi": {"driver": "10%"}}, "csi.driver"),
        ({"iscsi": {"targetPortal": "a", "iqn": "b", "lun": 1}}, "iscsi.iqn"),
        ({"iscsi": {"targetPortal": "a", "iqn": "iqn.2020-01.a:b", "lun": 256}}, "iscsi.lun"),
    ],
)
def test_the_source_of_a_volume_names_its_driver_or_initiator(source: Json, field: str) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", **source}]}
    body = {"metadata": {"name": "p"}, "spec": spec}
    assert fields("/api/v1/namespaces/default/pods", body) == [f"spec.volumes[0].{field}"]


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ("metadata.name=a%3Db", "unescaped character in value: 61"),
        ("metadata.name=a%5C", "invalid escape sequence: \\"),
    ],
)
def test_a_value_of_a_field_selector_is_escaped(selector: str, problem: str) -> None:
    target = f"/api/v1/namespaces/default/configmaps?fieldSelector={selector}"
    _, answer = ApiClient().send("GET", target)
    assert answer["message"] == f"invalid field selector: {problem}"


@pytest.mark.parametrize(
    ("constraint", "field"),
    [({}, ""), ({"matchAttribute": "a"}, ".matchAttribute")],
)
def test_a_constraint_of_a_claim_names_an_attribute(constraint: Json, field: str) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "x"}}
    devices = {"requests": [request], "constraints": [constraint]}
    body = {"metadata": {"name": "c"}, "spec": {"devices": devices}}
    target = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    assert fields(target, body) == [f"spec.devices.constraints[0]{field}"]
