"""ValidatingAdmissionPolicies over the API: what they match, refuse and warn of."""

from typing import Any

import pytest

from tests.unit.web.api.conftest import Send

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def policy(send: Send, *validations: Any, **spec: Any) -> Any:
    rules = {"resourceRules": [RULE]}
    whole = {"matchConstraints": rules, "validations": list(validations), **spec}
    body = {"metadata": {"name": "p"}, "spec": whole}
    return send("POST", f"{ADMISSION}/validatingadmissionpolicies", body)


def bind(send: Send, *actions: str, **spec: Any) -> None:
    whole = {"policyName": "p", "validationActions": list(actions or ("Deny",)), **spec}
    body = {"metadata": {"name": "b"}, "spec": whole}
    answer = send("POST", f"{ADMISSION}/validatingadmissionpolicybindings", body)
    assert answer.status == 201, answer.message


def store(send: Send, name: str = "m", **data: str) -> Any:
    return send("POST", MAPS, {"metadata": {"name": name}, "data": data})


def test_a_policy_without_a_binding_has_no_effect(send: Send) -> None:
    policy(send, {"expression": "false"})
    assert store(send).status == 201


def test_a_write_that_breaks_a_policy_is_refused(send: Send) -> None:
    policy(send, {"expression": "has(object.data.a)", "message": "a is missing"})
    bind(send)
    answer = store(send, b="1")
    assert answer.status == 422
    rest = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a is missing"
    assert answer.message == f'configmaps "m" is forbidden: {rest}'


def test_the_reason_of_a_validation_is_that_of_the_refusal(send: Send) -> None:
    policy(send, {"expression": "false", "reason": "Forbidden"})
    bind(send)
    assert store(send).status == 403


def test_a_message_expression_reads_variables(send: Send) -> None:
    variables = [{"name": "n", "expression": "size(object.data)"}]
    rule = {"expression": "variables.n < 2", "messageExpression": "string(variables.n) + ' keys'"}
    policy(send, rule, variables=variables)
    bind(send)
    assert store(send, a="1", b="2").message.endswith("denied request: 2 keys")


def test_a_variable_that_fails_is_named(send: Send) -> None:
    variables = [{"name": "n", "expression": "object.data.zero"}]
    policy(send, {"expression": "variables.n == 'x'"}, variables=variables)
    bind(send)
    text = 'composited variable "n" fails to evaluate: no such key: zero'
    assert text in store(send, a="1").message


def test_a_binding_that_warns_lets_the_write_pass(send: Send) -> None:
    policy(send, {"expression": "false", "message": "old"})
    bind(send, "Warn", "Audit")
    answer = store(send)
    assert answer.status == 201
    place = "ValidatingAdmissionPolicy 'p' with binding 'b'"
    assert answer.warnings == [f'299 - "Validation failed for {place}: old"']


@pytest.mark.parametrize(("policy_of_failures", "status"), [("Fail", 422), ("Ignore", 201)])
def test_a_failing_expression_counts_by_the_failure_policy(
    send: Send, policy_of_failures: str, status: int
) -> None:
    policy(send, {"expression": "object.data.none == ''"}, failurePolicy=policy_of_failures)
    bind(send)
    assert store(send, a="1").status == status


def test_match_conditions_leave_writes_out(send: Send) -> None:
    condition = {"name": "other", "expression": "object.metadata.name != 'free'"}
    policy(send, {"expression": "false"}, matchConditions=[condition])
    bind(send)
    assert (store(send, "free").status, store(send, "bound").status) == (201, 422)


def test_a_binding_selects_namespaces_and_objects(send: Send) -> None:
    policy(send, {"expression": "false"})
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    bind(send, matchResources={"namespaceSelector": selector})
    assert store(send).status == 201
    other = send("POST", MAPS.replace("default", "kube-system"), {"metadata": {"name": "m"}})
    assert other.status == 422


def test_excluded_rules_leave_resources_out(send: Send) -> None:
    constraints = {"resourceRules": [RULE], "excludeResourceRules": [{**RULE, "operations": ["*"]}]}
    policy(send, {"expression": "false"}, matchConstraints=constraints)
    bind(send)
    assert store(send).status == 201


@pytest.mark.parametrize(("action", "status"), [("Deny", 422), ("Allow", 201)])
def test_a_missing_parameter_counts_as_the_binding_states(
    send: Send, action: str, status: int
) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    policy(send, {"expression": "params.data.max != ''"}, paramKind=kind)
    bind(send, paramRef={"name": "limits", "parameterNotFoundAction": action})
    assert store(send).status == status


def test_parameters_are_selected_by_labels(send: Send) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    send("POST", MAPS, {"metadata": {"name": "x", "labels": {"l": "1"}}, "data": {"k": "a"}})
    policy(send, {"expression": "has(object.data) && params.data.k in object.data"}, paramKind=kind)
    selector = {"matchLabels": {"l": "1"}}
    bind(send, paramRef={"selector": selector, "parameterNotFoundAction": "Deny"})
    assert (store(send, "one", a="").status, store(send, "two", b="").status) == (201, 422)


def test_expressions_check_the_rights_of_the_user(send: Send) -> None:
    check = "authorizer.group('').resource('pods').namespace('default').check('get').allowed()"
    policy(send, {"expression": f"{check} && request.userInfo.username == 'admin'"})
    bind(send)
    assert store(send).status == 201


def test_a_deletion_has_only_the_old_object(send: Send) -> None:
    store(send, a="1")
    policy(send, {"expression": "request.operation != 'DELETE' || oldObject.data.a != '1'"})
    bind(send)
    assert send("DELETE", f"{MAPS}/m").status == 422


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("object.(", "compilation failed: ERROR: <input>:1:8: Syntax error"),
        ("nothing == 1", "undeclared reference to 'nothing' (in container '')"),
        ("'text'", "must evaluate to bool"),
        ("params.a == 1", "<input>:1:1: undeclared reference to 'params' (in"),
    ],
)
def test_an_expression_that_does_not_compile_is_refused(
    send: Send, expression: str, text: str
) -> None:
    answer = policy(send, {"expression": expression})
    assert answer.status == 422
    assert text in answer.message
    assert answer.item["details"]["causes"][0]["field"] == "spec.validations[0].expression"
