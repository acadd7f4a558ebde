"""Hostile requests: the largest that the API server decodes, by kind of body."""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from stretto.api.wire.limits import MAX_DEPTH, MAX_VALUES, MORE_VALUES
from stretto.web.api.message import ApiRequest

Json = dict[str, Any]

CORE = "/api/v1/namespaces/default"
MAPS, PODS = f"{CORE}/configmaps", f"{CORE}/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io/v1"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
JSON = "application/json"
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
OPERATIONS = "application/json-patch+json"
MANY = MAX_VALUES - 200
LONG = MORE_VALUES - 400
"""Values that fill a body, besides the values of its head."""


class Case(NamedTuple):
    """A hostile request on a new server."""

    #: What is large.
    name: str
    #: The request.
    request: ApiRequest
    #: Requests before it.
    before: tuple[ApiRequest, ...] = ()


def sent(method: str, target: str, body: Any = None, media: str = JSON) -> ApiRequest:
    """A request with a body as JSON, or as the given bytes."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return ApiRequest(method, target, {"content-type": media}, data)


def named(kind: str, version: str = "v1", /, name: str = "x", **fields: Any) -> Json:
    """An object."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def config(**fields: Any) -> Json:
    """A ConfigMap."""
    return named("ConfigMap", **fields)


def with_metadata(**fields: Any) -> Json:
    """A ConfigMap with further metadata."""
    return {**config(), "metadata": {"name": "x", **fields}}


def filled(make: Callable[[int], Any], values_each: int = 1, total: int = MANY) -> list[Any]:
    """A list of items with some values each that fills a body."""
    return [make(number) for number in range(total // values_each)]


def texts(prefix: str = "k", count: int = MANY) -> dict[str, str]:
    """A map of short texts."""
    return {f"{prefix}{number}": "v" for number in range(count)}


def container(**fields: Any) -> Json:
    """A container."""
    return {"name": "c", "image": "i", **fields}


def pod(**fields: Any) -> Json:
    """A pod with one container, and further fields of its spec."""
    return named("Pod", spec={"containers": [container()], **fields})


def pod_of(**fields: Any) -> Json:
    """A pod whose container has further fields."""
    return named("Pod", spec={"containers": [container(**fields)]})


def deployment(**spec: Any) -> Json:
    """A Deployment."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()]}}
    return named(
        "Deployment",
        "apps/v1",
        spec={"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    )


def definition(spec: Json, **members: Any) -> Json:
    """A definition of widgets with a schema of their spec."""
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, **members}
    inner = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    return named(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        name="widgets.example.com",
        spec=inner,
    )


def widget(spec: Any, name: str = "x") -> Json:
    """A widget."""
    return named("Widget", "example.com/v1", name=name, spec=spec)


def operations(count: int, **fields: Any) -> list[Json]:
    """Equal operations of a JSON patch."""
    return [{"op": "add", "path": "/data/x", "value": "y", **fields} for _ in range(count)]


def terms(count: int) -> str:
    """A label selector of a URL."""
    return "%2C".join(f"key{number}%20in%20(a%2Cb)" for number in range(count))


def chain(parts: Iterable[str], glue: str) -> str:
    """An expression of many parts."""
    return glue.join(parts)


def policy(*expressions: str, **fields: Any) -> Json:
    """A policy of admission, whose rule has further fields."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    rule |= fields
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": each} for each in expressions],
    }
    return named("ValidatingAdmissionPolicy", ADMISSION, spec=spec)


def managed(managers: int, fields: int) -> list[Json]:
    """Managed fields of many managers, each with many fields."""
    owned: Json = {"f:data": {f"f:k{number}": {} for number in range(fields)}}
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned}
    return [{"manager": f"m{number}", **entry} for number in range(managers)]


def with_managers(managers: int, fields: int, **rest: Any) -> Json:
    """A ConfigMap with managed fields."""
    item = config(**rest)
    return {**item, "metadata": {**item["metadata"], "managedFields": managed(managers, fields)}}


def nested(depth: int, leaves: int) -> Any:
    """Maps in maps, with a list of numbers at the bottom."""
    value: Any = [1] * leaves
    for _ in range(depth):
        value = {"a": value}
    return value


def repeated(count: int) -> bytes:
    """A ConfigMap in which each name is twice."""
    members = ",".join(f'"k{number // 2}":"v"' for number in range(count))
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{'
    return (head + members + "}}").encode()


def block_yaml(count: int) -> bytes:
    """A ConfigMap as YAML in block style."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
    return (head + "".join(f"  k{number}: v\n" for number in range(count))).encode()


def aliases() -> bytes:
    """A YAML text whose aliases expand to many values."""
    text = "a: &a [" + "x," * 98 + "x]\n"
    text += "b: &b [" + "*a," * 90 + "*a]\n"
    return f"{text}c: [*b,*b,*b,*b]\n".encode()


def varints(count: int) -> bytes:
    """A ConfigMap as protobuf with many unknown members of two bytes."""
    return protobuf("ConfigMap", b"\x78\x01" * count)


def empty_containers(count: int) -> bytes:
    """A pod as protobuf with many empty containers of two bytes."""
    spec = b"\x12\x00" * count
    return protobuf("Pod", b"\x12" + varint(len(spec)) + spec)


def varint(number: int) -> bytes:
    """A number as protobuf."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def protobuf(kind: str, raw: bytes) -> bytes:
    """An envelope of a core object."""
    head = b"\x0a\x02v1\x12" + varint(len(kind)) + kind.encode()
    return b"k8s\x00\x0a" + varint(len(head)) + head + b"\x12" + varint(len(raw)) + raw


PROTOBUF = "application/vnd.kubernetes.protobuf"
THIRD = MANY // 3
LARGE = 3 * 2**20 - 1000


def bodies() -> list[Case]:
    """Bodies of new objects of Kubernetes' kinds."""
    post: dict[str, tuple[str, Any]] = {
        "json: a map of texts": (MAPS, config(data=texts())),
        "json: annotations": (MAPS, with_metadata(annotations=texts())),
        "json: labels": (MAPS, with_metadata(labels=texts())),
        "json: finalizers": (
            MAPS, with_metadata(finalizers=filled("a.b/{}".format))
        ),
        "json: owners": (
            MAPS,
            with_metadata(ownerReferences=filled(
                lambda n: {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": f"u{n}"}, 5)),
        ),
        "json: unknown members": (MAPS, config(**texts())),
        "json: unknown members of containers": (PODS, pod_of(**texts())),
        "json: unknown members, nested": (
            PODS, pod(containers=filled(lambda n: container(x=n), 4))
        ),
        "json: empty lists": (MAPS, config(data=[[]] * MANY)),
        "json: empty objects": (PODS, pod(containers=[{}] * MANY)),
        "json: numbers": (MAPS, config(data=filled(int))),
        "json: depth": (MAPS, config(data=nested(MAX_DEPTH - 4, MANY))),
        "json: deep towers": (
            MAPS, config(data=filled(lambda _: nested(MAX_DEPTH - 6, 1), MAX_DEPTH - 4))
        ),
        "json: a text of 3 MiB": (MAPS, config(data={"x": "y" * LARGE})),
        "json: a text of commas": (MAPS, config(data={"x": "," * LARGE})),
        "json: a text of escaped quotes": (MAPS, config(data={"x": '"' * (LARGE // 2)})),
        "json: a text of brackets": (MAPS, config(data={"x": "[{" * (LARGE // 2)})),
        "pod: containers": (PODS, pod(containers=filled(lambda n: container(name=f"c{n}"), 3))),
        "pod: environment": (
            PODS, pod_of(env=filled(lambda n: {"name": f"E{n}", "value": "v"}, 3))
        ),
        "pod: ports": (
            PODS,
            pod_of(ports=filled(lambda n: {"name": f"p{n}", "containerPort": n % 60000 + 1}, 3)),
        ),
        "pod: volumes": (PODS, pod(volumes=filled(lambda n: {"name": f"v{n}", "emptyDir": {}}, 3))),
        "pod: mounts": (
            PODS, pod_of(volumeMounts=filled(lambda n: {"name": f"v{n}", "mountPath": f"/{n}"}, 3))
        ),
        "pod: mounts and devices": (
            PODS,
            pod_of(
                volumeMounts=filled(lambda n: {"name": f"v{n}", "mountPath": f"/{n}"}, 6),
                volumeDevices=filled(lambda n: {"name": f"d{n}", "devicePath": f"/d{n}"}, 6),
            ),
        ),
        "pod: volumes and devices of containers": (
            PODS,
            pod(
                volumes=filled(lambda n: {"name": f"v{n}"}, 6),
                containers=filled(lambda n: container(
                    name=f"c{n}", volumeDevices=[{"name": f"v{n}", "devicePath": "/x"}]), 16),
            ),
        ),
        "pod: tolerations": (
            PODS, pod(tolerations=filled(lambda n: {"key": f"k{n}", "operator": "Exists"}, 3))
        ),
        "pod: node terms": (
            PODS,
            pod(affinity={"nodeAffinity": {REQUIRED: {
                "nodeSelectorTerms": filled(lambda n: {"matchExpressions": [
                    {"key": f"k{n}", "operator": "In", "values": ["a"]}]}, 7)}}}),
        ),
        "pod: pod terms": (
            PODS,
            pod(affinity={"podAntiAffinity": {REQUIRED: filled(
                lambda n: {
                    "topologyKey": "z", "labelSelector": {"matchLabels": {f"k{n}": "v"}}}, 5)}}),
        ),
        "pod: spread constraints": (
            PODS,
            pod(topologySpreadConstraints=filled(lambda n: {
                "topologyKey": f"z{n}", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}, 4)),
        ),
        "pod: amounts": (
            PODS, pod_of(resources={"requests": {f"example.com/r{n}": "1" for n in range(MANY)}})
        ),
        "pod: gates": (PODS, pod(schedulingGates=filled(lambda n: {"name": f"g{n}"}, 2))),
        "pod: command": (PODS, pod_of(command=filled(str))),
        "deployment: expressions": (
            DEPLOYMENTS,
            deployment(selector={"matchExpressions": filled(
                lambda n: {"key": f"k{n}", "operator": "In", "values": ["v"]}, 5)}),
        ),
        "service: ports": (
            f"{CORE}/services",
            named("Service", spec={"selector": {"a": "b"}, "ports": filled(
                lambda n: {"name": f"p{n}", "port": n % 65535 + 1}, 3)}),
        ),
        "endpoint slice": (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            named("EndpointSlice", "discovery.k8s.io/v1", addressType="IPv4", endpoints=filled(
                lambda n: {"addresses": [f"10.0.{n // 256 % 256}.{n % 256}"]}, 3)),
        ),
        "network policy": (
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            named("NetworkPolicy", "networking.k8s.io/v1", spec={
                "podSelector": {}, "ingress": filled(
                    lambda n: {"from": [{"ipBlock": {"cidr": f"10.{n % 256}.0.0/16"}}]}, 5)}),
        ),
        "role: rules": (
            f"{RBAC}/namespaces/default/roles",
            named("Role", f"{RBAC_GROUP}/v1", rules=filled(
                lambda n: {"apiGroups": [""], "resources": [f"r{n}"], "verbs": ["get"]}, 7)),
        ),
        "binding: subjects": (
            f"{RBAC}/namespaces/default/rolebindings",
            named("RoleBinding", f"{RBAC_GROUP}/v1",
                  roleRef={"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "view"},
                  subjects=filled(lambda n: {
                      "kind": "User", "apiGroup": RBAC_GROUP, "name": f"u{n}"}, 4)),
        ),
        "access review: extra": (
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            named("SubjectAccessReview", "authorization.k8s.io/v1", spec={
                "user": "u", "groups": filled(str),
                "resourceAttributes": {"verb": "get", "resource": "pods"}}),
        ),
        "webhooks": (
            f"{REGISTRATION}/validatingwebhookconfigurations",
            named("ValidatingWebhookConfiguration", ADMISSION, webhooks=filled(
                lambda n: {"name": f"w{n}.example.com", "clientConfig": {"url": "https://a.b"},
                           "sideEffects": "None", "admissionReviewVersions": ["v1"]}, 8)),
        ),
        "policy: many expressions": (
            f"{REGISTRATION}/validatingadmissionpolicies",
            policy(*["object.spec.x == 1"] * (MANY // 2)),
        ),
        "policy: a long chain": (
            f"{REGISTRATION}/validatingadmissionpolicies",
            policy(chain(["object.spec.x == 1"] * 400, " || ")),
        ),
        "policy: nested macros": (
            f"{REGISTRATION}/validatingadmissionpolicies",
            policy("[1].all(a, " * 30 + "true" + ")" * 30),
        ),
    }  # fmt: skip
    return [Case(name, sent("POST", target, body)) for name, (target, body) in post.items()]


def wire_forms() -> list[Case]:
    """Bodies that are not JSON, or no valid JSON."""
    flow = json.dumps(config(data=texts())).encode().replace(b'"', b"")
    post = {
        "json: members that are twice": (JSON, repeated(MANY)),
        "json: deeper than allowed": (JSON, b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
        "json: brackets of 3 MiB": (JSON, b"[" * LARGE),
        "json: an error at the end": (JSON, json.dumps(config(data=texts())).encode()[:-1]),
        "yaml: block": (YAML, block_yaml(MANY)),
        "yaml: flow": (YAML, flow),
        "yaml: aliases": (YAML, aliases()),
        "yaml: deep": (YAML, b"[" * 100_000),
        "yaml: a text of 3 MiB": (YAML, b"a: '" + b"x" * LARGE + b"'"),
        "yaml: comments": (YAML, b"# x\n" * (LARGE // 4)),
        "yaml: documents": (YAML, b"---\n" * (LARGE // 4)),
        "yaml: lines of one key": (YAML, b"a: |\n" + b"  x\n" * (LARGE // 4)),
        "yaml: directives and tags": (YAML, b"a: !!str x\n" * 40_000),
        "protobuf: unknown members": (PROTOBUF, varints(LARGE // 2)),
    }
    cases = [Case(name, sent("POST", MAPS, body, media)) for name, (media, body) in post.items()]
    body = empty_containers(LARGE // 2)
    return [*cases, Case("protobuf: empty containers", sent("POST", PODS, body, PROTOBUF))]


def patches() -> list[Case]:
    """Patches of a ConfigMap and of a pod."""
    base = (sent("POST", MAPS, config(data={"x": "y"})),)
    full = (sent("POST", MAPS, config(data=texts(count=15_000))),)
    pods = (sent("POST", PODS, pod_of(env=[{"name": f"E{n}"} for n in range(8_000)])),)
    environment = filled(lambda n: {"name": f"E{n}", "value": "w"}, 3)
    merged = {"spec": {"containers": [{"name": "c", "env": environment}]}}
    order = {"$setElementOrder/env": [{"name": f"E{n}"} for n in range(3_500)]}
    ordered = {"spec": {"containers": [{"name": "c", "env": environment[:3_500], **order}]}}
    removed = [{"name": f"E{n}", "$patch": "delete"} for n in range(6_000)]
    deleted = {"spec": {"containers": [{"name": "c", "env": removed}]}}
    tested = operations(10_000, op="test", path="/data/x", value="y")
    copies = operations(10_000, op="copy", **{"from": "/data", "path": "/metadata/annotations"})
    grown = operations(40, op="copy", **{"from": "/data", "path": "/data/z"})
    moves = [
        {"op": "move", "from": f"/data/{a}", "path": f"/data/{b}"}
        for _ in range(5_000) for a, b in (("x", "z"), ("z", "x"))
    ]  # fmt: skip
    front = operations(10_000, path="/metadata/finalizers/0", value="a.b/c")
    start = [{"op": "add", "path": "/metadata/finalizers", "value": []}, *front[1:]]
    cases = {
        "patch: additions": (base, OPERATIONS, operations(10_000)),
        "patch: tests": (base, OPERATIONS, tested),
        "patch: moves": (base, OPERATIONS, moves),
        "patch: copies of a large map": (full, OPERATIONS, copies),
        "patch: copies into itself": (base, OPERATIONS, grown),
        "patch: at the head of a list": (base, OPERATIONS, start),
        "patch: deep paths": (base, OPERATIONS, operations(10_000, path="/data" + "/a" * 60)),
        "patch: unknown members": (base, OPERATIONS, operations(9_000, x="y")),
        "merge patch: texts": (base, MERGE, {"data": texts()}),
        "merge patch: nulls": (full, MERGE, {"data": dict.fromkeys(texts())}),
        "merge patch: annotations": (base, MERGE, {"metadata": {"annotations": texts()}}),
        "strategic: texts": (base, STRATEGIC, {"data": texts()}),
        "strategic: directives": (base, STRATEGIC, {"data": {"$patch": "replace", **texts()}}),
        "strategic: finalizers": (
            base, STRATEGIC,
            {"metadata": {"$deleteFromPrimitiveList/finalizers": filled(str)}},
        ),
        "apply: texts": (base, APPLY, config(data=texts())),
        "apply: yaml": (base, APPLY, block_yaml(MANY)),
        "apply: unknown members": (base, APPLY, config(**texts())),
    }  # fmt: skip
    owners = (sent("POST", MAPS, with_managers(100, 80, data=texts(count=1_000))),)
    wide = (sent("POST", MAPS, with_managers(1, 7_000, data=texts(count=4_000))),)
    on_pods = {
        "strategic: environment": merged,
        "strategic: order": ordered,
        "strategic: deletions": deleted,
    }
    return [
        *(
            Case(name, sent("PATCH", f"{MAPS}/x?fieldManager=t", body, media), before)
            for name, (before, media, body) in cases.items()
        ),
        *(
            Case(name, sent("PATCH", f"{PODS}/x", body, STRATEGIC), pods)
            for name, body in on_pods.items()
        ),
        Case(
            "apply: environment",
            sent("PATCH", f"{PODS}/x?fieldManager=t", pod_of(env=filled(
                lambda n: {"name": f"E{n}", "value": "w"}, 3)), APPLY),
        ),
        Case("managers: many", sent("POST", MAPS, with_managers(120, 100))),
        Case("managers: entries", sent("POST", MAPS, with_managers(MANY // 8, 0))),
        Case("managers: fields", sent("POST", MAPS, with_managers(1, MANY // 2))),
        Case(
            "managers: change of an object with many",
            sent("PATCH", f"{MAPS}/x", {"data": {"k1": "w"}}, MERGE), owners,
        ),
        Case(
            "managers: apply to an object with many",
            sent("PATCH", f"{MAPS}/x?fieldManager=t&force=true",
                 config(data=texts(count=1000)), APPLY),
            owners,
        ),
        Case(
            "managers: apply to an object with long ones",
            sent("PATCH", f"{MAPS}/x?fieldManager=t", config(data={"new": "w"}), APPLY), wide,
        ),
    ]  # fmt: skip


def selections() -> list[Case]:
    """Lists with long selectors."""
    objects = tuple(
        sent("POST", MAPS, with_metadata(name=f"m{n}", labels={"key0": "a"})) for n in range(1000)
    )
    names = "%2C".join(f"metadata.name!%3Dn{n}" for n in range(1000))
    values = "%2C".join(f"v{n}" for n in range(10_000))
    targets = {
        "selector: 1,000 terms": f"labelSelector={terms(1000)}",
        "selector: 1,000 terms that match": "labelSelector=" + "%2C".join(
            f"!absent{n}" for n in range(1000)),
        "selector: 10,000 values": f"labelSelector=key0%20notin%20({values})",
        "selector: 1,000 fields": f"fieldSelector={names}",
        "selector: brackets": "labelSelector=" + "(" * 10_000,
    }  # fmt: skip
    return [Case(name, sent("GET", f"{MAPS}?{each}"), objects) for name, each in targets.items()]
