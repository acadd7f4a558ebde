"""MutatingAdmissionPolicies over the API: what they change, in which order, and what fails."""

from typing import Any

import pytest

from tests.unit.web.api.conftest import Reply, Send

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
POD = {"containers": [{"name": "main", "image": "i"}]}


def applies(expression: str) -> Any:
    return {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    }


def patches(expression: str) -> Any:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def mutate(
    send: Send, *mutations: Any, name: str = "p", on: str = "configmaps", **spec: Any
) -> Reply:
    """Create a policy and a binding of the same name; returns the answer about the policy."""
    rules = {"resourceRules": [{**RULE, "resources": [on]}]}
    whole = {"matchConstraints": rules, "mutations": list(mutations), "reinvocationPolicy": "Never"}
    body = {"metadata": {"name": name}, "spec": {**whole, **spec}}
    answer = send("POST", f"{ADMISSION}/mutatingadmissionpolicies", body)
    binding = {"metadata": {"name": name}, "spec": {"policyName": name}}
    send("POST", f"{ADMISSION}/mutatingadmissionpolicybindings", binding)
    return answer


def store(send: Send, name: str = "m", **data: str) -> Reply:
    return send("POST", MAPS, {"metadata": {"name": name}, "data": data})


def test_an_applied_configuration_is_merged_into_the_object(send: Send) -> None:
    mutate(send, applies('Object{metadata: Object.metadata{labels: {"team": object.data.x}}}'))
    item = store(send, x="blue").item
    assert (item["metadata"]["labels"], item["data"]) == ({"team": "blue"}, {"x": "blue"})


def test_a_json_patch_changes_the_object(send: Send) -> None:
    key = '"/data/" + jsonpatch.escapeKey("a/b~c")'
    mutate(send, patches(f'[JSONPatch{{op: "move", from: "/data/x", path: {key}}}]'))
    assert store(send, x="1").status == 422
    assert "a/b~c" in store(send, x="1").message


def test_mutations_see_the_results_of_earlier_ones(send: Send) -> None:
    second = patches('[JSONPatch{op: "add", path: "/data/l", value: object.data.k + "!"}]')
    mutate(send, applies('Object{data: {"k": "v"}}'), second)
    assert store(send, x="1").item["data"] == {"x": "1", "k": "v", "l": "v!"}


def test_a_failed_test_leaves_the_object_as_it_is(send: Send) -> None:
    test = 'JSONPatch{op: "test", path: "/data/x", value: "2"}'
    mutate(send, patches(f'[{test}, JSONPatch{{op: "remove", path: "/data/x"}}]'))
    assert store(send, x="1").item["data"] == {"x": "1"}


def test_an_added_container_is_merged_by_its_name_and_gets_defaults(send: Send) -> None:
    main = 'Object.spec.containers{name: "main", imagePullPolicy: "Never"}'
    side = 'Object.spec.containers{name: "side", image: "s"}'
    text = f"Object{{spec: Object.spec{{containers: [{main}, {side}]}}}}"
    mutate(send, applies(text), on="pods")
    pod = send("POST", PODS, {"metadata": {"name": "p"}, "spec": POD}).item
    found = [(each["name"], each["imagePullPolicy"]) for each in pod["spec"]["containers"]]
    assert found == [("main", "Never"), ("side", "Always")]


def test_the_result_is_checked_as_if_the_client_had_sent_it(send: Send) -> None:
    mutate(send, applies('Object{spec: Object.spec{restartPolicy: "Sometimes"}}'), on="pods")
    answer = send("POST", PODS, {"metadata": {"name": "p"}, "spec": POD})
    assert answer.status == 422
    assert "spec.restartPolicy: Unsupported value" in answer.message


def test_validating_policies_see_what_mutating_ones_have_changed(send: Send) -> None:
    mutate(send, applies('Object{data: {"k": "v"}}'))
    rules = {"resourceRules": [{**RULE, "resources": ["configmaps"]}]}
    spec = {"matchConstraints": rules, "validations": [{"expression": "!has(object.data.k)"}]}
    send(
        "POST",
        f"{ADMISSION}/validatingadmissionpolicies",
        {"metadata": {"name": "v"}, "spec": spec},
    )
    binding = {"policyName": "v", "validationActions": ["Deny"]}
    path = f"{ADMISSION}/validatingadmissionpolicybindings"
    send("POST", path, {"metadata": {"name": "v"}, "spec": binding})
    assert "failed expression: !has(object.data.k)" in store(send, x="1").message


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (applies('Object{data: {"k": object.data.none}}'), "resulted in error: no such key: none"),
        (applies('Object{nope: "v"}'), ".nope: field not declared in schema"),
        (applies('Object{data: {"k": 1}}'), ".data.k: expected string, got"),
        (applies("Object{data: null}"), ".data: expected map, got &{NULL_VALUE}"),
        (applies("Object{metadata: Object.foo{}}"), 'unexpected type name "Object.foo"'),
        (patches('[JSONPatch{op: "frob"}]'), "JSON Patch: Unexpected kind: frob"),
        (
            patches('[JSONPatch{op: "remove", path: "/data/none"}]'),
            "error in remove for path: '/data/none': Unable to remove nonexistent key: none",
        ),
    ],
)
def test_a_mutation_that_cannot_be_made_counts_by_the_failure_policy(
    send: Send, mutation: Any, text: str
) -> None:
    mutate(send, mutation, name="ignored", failurePolicy="Ignore")
    assert store(send, "one", x="1").status == 201
    mutate(send, mutation, name="kept")
    answer = store(send, "two", x="1")
    assert (answer.status, answer.item["reason"]) == (403, "Invalid")
    assert answer.message.startswith("policy 'kept' with binding 'kept' denied request: ")
    assert text in answer.message


def test_a_list_with_one_owner_is_not_merged(send: Send) -> None:
    text = "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{}]}}"
    mutate(send, applies(text), on="pods")
    answer = send("POST", PODS, {"metadata": {"name": "p"}, "spec": POD})
    problem = "may not mutate atomic arrays, maps or structs: .spec.tolerations"
    assert answer.message.endswith(problem)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("5", "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ("{}", "json: cannot unmarshal object into Go struct field ConfigMap.data of type string"),
    ],
)
def test_a_patch_whose_result_is_no_object_fails_internally(
    send: Send, value: str, text: str
) -> None:
    patch = f'[JSONPatch{{op: "add", path: "/data/k", value: {value}}}]'
    mutate(send, patches(patch), failurePolicy="Ignore")
    answer = store(send, x="1")
    assert (answer.status, answer.message) == (500, f"Internal error occurred: {text}")


def test_variables_parameters_and_conditions_are_those_of_validating_policies(send: Send) -> None:
    store(send, "limits", team="blue")
    mutate(
        send,
        applies('Object{data: {"team": variables.team}}'),
        variables=[{"name": "team", "expression": "params.data.team"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[{"name": "c", "expression": "object.metadata.name != 'free'"}],
    )
    ref = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    path = f"{ADMISSION}/mutatingadmissionpolicybindings/p"
    send("PATCH", path, {"spec": {"paramRef": ref}}, "merge-patch+json")
    assert store(send, "free", x="1").item["data"] == {"x": "1"}
    assert store(send, "bound", x="1").item["data"] == {"x": "1", "team": "blue"}


@pytest.mark.parametrize(("policy", "size"), [("IfNeeded", "3"), ("Never", "1")])
def test_a_policy_runs_again_after_a_later_change_if_it_may_be_reinvoked(
    send: Send, policy: str, size: str
) -> None:
    count = applies('Object{data: {"size": string(size(object.data))}}')
    mutate(send, count, name="a", reinvocationPolicy=policy)
    mutate(send, applies('Object{data: {"y": "1"}}'), name="b")
    assert store(send, x="1").item["data"] == {"x": "1", "size": size, "y": "1"}


def test_a_dry_run_shows_the_change(send: Send) -> None:
    mutate(send, applies('Object{data: {"k": "v"}}'))
    body = {"metadata": {"name": "m"}, "data": {"x": "1"}}
    assert send("POST", f"{MAPS}?dryRun=All", body).item["data"] == {"x": "1", "k": "v"}
    assert send("GET", f"{MAPS}/m").status == 404


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (applies("'text'"), "must evaluate to Object but got string"),
        (applies('{"data": {"a": "b"}}'), "but got map(string, map(string, string))"),
        (patches('[{"op": "add"}]'), "must evaluate to list(JSONPatch) but got list(map("),
        (applies('Object{data: {"k": foo}}'), "<input>:1:20: undeclared reference to 'foo'"),
        (patches("[JSONPatch{op: 1}]"), "expected type of field 'op' is 'string' but provided"),
        (patches("[JSONPatch{foo: 'x'}]"), "<input>:1:15: expected type of field 'foo' is ''"),
        ({"patchType": "JSONPatch"}, "spec.mutations[0].jsonPatch.expression: Required value"),
        (
            {**patches("[JSONPatch{}]"), "applyConfiguration": {"expression": "Object{}"}},
            "must not be specified when patchType is JSONPatch",
        ),
    ],
)
def test_a_mutation_that_yields_no_change_is_refused(send: Send, mutation: Any, text: str) -> None:
    answer = mutate(send, mutation)
    assert answer.status == 422
    assert text in answer.message


def test_a_policy_states_when_it_runs_again_and_changes_no_deletions(send: Send) -> None:
    rule = {**RULE, "operations": ["DELETE"], "resources": ["configmaps"]}
    constraints = {"resourceRules": [rule]}
    answer = mutate(send, applies("Object{}"), reinvocationPolicy="", matchConstraints=constraints)
    assert "spec.reinvocationPolicy: Required value" in answer.message
    assert 'operations: Unsupported value: "DELETE"' in answer.message
