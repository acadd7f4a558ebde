"""Hostile requests whose work may grow faster than their size: pairs, products and automata."""

import base64

from hostile_kinds import ENTRIES, OPEN, SET, custom, list_of, wide_schema
from hostile_requests import (
    ADMISSION,
    APPLY,
    CORE,
    DEFINITIONS,
    JSON,
    LARGE,
    LONG,
    MANY,
    MAPS,
    MERGE,
    OPERATIONS,
    PODS,
    RBAC,
    RBAC_GROUP,
    REGISTRATION,
    WIDGETS,
    YAML,
    Case,
    Json,
    config,
    container,
    definition,
    deployment,
    filled,
    named,
    pod,
    pod_of,
    policy,
    sent,
    texts,
    widget,
    with_metadata,
)

from stretto.web.api.message import ApiRequest

STATES = "(a|b)*a(a|b){1000}c"
"""A pattern whose automaton has a state for each text of 1,000 characters."""
LETTERS = "abbabaab" * 40_000
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
TABLES = {"accept": TABLE}
NETWORKS = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"


def amounts(count: int = MANY, amount: str = "1") -> dict[str, str]:
    """Amounts of resources outside Kubernetes."""
    return {f"example.com/r{number}": amount for number in range(count)}


def files(*paths: str) -> Json:
    """A pod with files of a volume."""
    items = [{"key": f"k{number}", "path": path} for number, path in enumerate(paths)]
    return pod(volumes=[{"name": "v", "configMap": {"name": "m", "items": items}}])


def pairs() -> list[Case]:
    """Objects in which a check may compare each item with each other one."""
    third = MANY // 3
    ports = filled(lambda n: {"containerPort": 80, "hostPort": n + 1, "hostIP": "1.2.3.4"}, 4)
    node_ports = filled(lambda n: {"name": f"p{n}", "port": n % 65535 + 1}, 3)
    exceptions = filled(lambda n: f"10.{n // 256 % 256}.{n % 256}.0/24")
    block = {"cidr": "10.0.0.0/8", "except": exceptions}
    new_block = {"cidr": "2001::/16", "except": filled(lambda n: f"2001:db8:0:{n:x}::/64")}
    selectors = filled(lambda n: {"matchLabels": {f"k{n}": "v"}}, 3)
    post = {
        "growth: files of a volume": (PODS, files(*map(str, range(third)))),
        "growth: files that are one": (PODS, files(*["x"] * third)),
        "growth: host ports of one port": (PODS, pod_of(ports=ports)),
        "growth: node ports": (
            f"{CORE}/services",
            named("Service", spec={
                "type": "NodePort", "selector": {"a": "b"}, "ports": node_ports}),
        ),
        "growth: exceptions of a network": (
            NETWORKS,
            named("NetworkPolicy", "networking.k8s.io/v1", spec={
                "podSelector": {}, "ingress": [{"from": [{"ipBlock": block}]}]}),
        ),
        "growth: names of resources of a policy": (
            f"{REGISTRATION}/validatingadmissionpolicies",
            policy("true", resourceNames=filled(str)),
        ),
        "growth: versions of reviews": (
            f"{REGISTRATION}/validatingwebhookconfigurations",
            named("ValidatingWebhookConfiguration", ADMISSION, webhooks=[{
                "name": "a.example.com", "sideEffects": "None",
                "clientConfig": {"url": "https://example.com"},
                "admissionReviewVersions": filled(lambda n: f"v{n}")}]),
        ),
        "growth: families of a Service": (
            f"{CORE}/services",
            named("Service", spec={"ports": [{"port": 80}], "ipFamilies": ["IPv4"] * MANY}),
        ),
        "growth: exceptions of a network of IPv6": (
            NETWORKS,
            named("NetworkPolicy", "networking.k8s.io/v1", spec={
                "podSelector": {}, "ingress": [{"from": [{"ipBlock": new_block}]}]}),
        ),
        "growth: ranges of a Service": (
            f"{CORE}/services",
            named("Service", spec={
                "type": "LoadBalancer", "selector": {"a": "b"}, "ports": [{"port": 80}],
                "loadBalancerSourceRanges": new_block["except"]}),
        ),
        "growth: selectors of an aggregated role": (
            f"{RBAC}/clusterroles",
            named("ClusterRole", f"{RBAC_GROUP}/v1",
                  aggregationRule={"clusterRoleSelectors": selectors}),
        ),
        "growth: minutes of a schedule": (
            "/apis/batch/v1/namespaces/default/cronjobs",
            named("CronJob", "batch/v1", spec={
                "schedule": ",".join(str(n % 60) for n in range(300_000)) + " * * * *",
                "jobTemplate": {"spec": {"template": {"spec": {
                    "restartPolicy": "Never", "containers": [container()]}}}}}),
        ),
        "growth: audiences of a token": (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            named("TokenReview", "authentication.k8s.io/v1", spec={
                "token": "x", "audiences": filled(str)}),
        ),
        "growth: a token of dots": (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            named("TokenReview", "authentication.k8s.io/v1", spec={"token": "." * LARGE}),
        ),
        "growth: a signing request of begins": (
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            named("CertificateSigningRequest", "certificates.k8s.io/v1", spec={
                "signerName": "a.b/c", "usages": ["client auth"],
                "request": base64.b64encode(
                    b"-----BEGIN CERTIFICATE REQUEST-----\n" * 50_000).decode()}),
        ),
    }  # fmt: skip
    return [Case(name, sent("POST", target, body)) for name, (target, body) in post.items()]


def lists() -> list[Case]:
    """Objects with long lists and maps that several checks read, or that are refused."""
    containers = filled(lambda n: container(name=f"c{n}"), 3)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    invalid = {f"a b{n}": "x y" for n in range(MANY)}
    labelled = {"metadata": {"labels": invalid}, "spec": {"containers": [container()]}}
    invalid_amounts = {name: f"-{number}m" for number, name in enumerate(invalid)}
    half = amounts(MANY // 2)
    pages = {f"hugepages-{n + 1}Mi": "2Mi" for n in range(MANY)}
    post = {
        "growth: containers of a template": (
            "/apis/apps/v1/namespaces/default/deployments", deployment(template=template)),
        "growth: init containers": (PODS, pod(initContainers=containers)),
        "growth: requests and limits": (
            PODS, pod_of(resources={"requests": half, "limits": half})),
        "growth: decimal amounts": (
            PODS, pod_of(resources={"limits": amounts(amount="0.001" + "0" * 100)})),
        "growth: invalid names of resources": (
            PODS, pod_of(resources={"limits": dict.fromkeys(invalid, "1")})),
        "growth: digits of an amount": (
            PODS, pod_of(resources={"limits": {"cpu": "1" * 20_000 + "x"}})),
        "growth: huge pages": (PODS, pod_of(resources={"limits": pages})),
        "growth: invalid labels": (MAPS, with_metadata(labels=invalid)),
        "growth: invalid labels of a template": (
            "/apis/apps/v1/namespaces/default/statefulsets",
            {**deployment(template=labelled, serviceName="a"), "kind": "StatefulSet"},
        ),
        "growth: invalid amounts of a whole pod": (
            PODS, pod(resources={"requests": invalid_amounts})),
        "growth: invalid finalizers": (MAPS, with_metadata(finalizers=[*invalid])),
        "growth: amounts of a quota": (
            f"{CORE}/resourcequotas",
            named("ResourceQuota", spec={"hard": {f"requests.{n}": "1" for n in amounts()}})),
    }  # fmt: skip
    bound = named("LimitRange", spec={"limits": [{"type": "Container", "default": amounts(100)}]})
    many = pod(containers=[container(name=f"c{n}") for n in range(2_000)])
    changed = {"spec": {"containers": [{"name": "c", "env": [
        {"name": f"E{n}", "value": "w"} for n in range(4_000)]}]}}  # fmt: skip
    old = pod_of(env=[{"name": f"E{n}"} for n in range(4_000)])
    return [
        *(Case(name, sent("POST", target, body)) for name, (target, body) in post.items()),
        Case("growth: amounts of the status of a node", sent(
            "PUT", "/api/v1/nodes/x/status", named("Node", status={"capacity": {
                f"example.com/r{n}": f"{n}k" for n in range(MANY)}})),
             (sent("POST", "/api/v1/nodes", named("Node")),)),
        Case("growth: defaults of containers", sent("POST", PODS, many),
             (sent("POST", f"{CORE}/limitranges", bound),)),
        Case("growth: an object as YAML", ApiRequest(
            "GET", f"{MAPS}/x", {"accept": YAML}, b""),
             (sent("POST", MAPS, config(data=texts())),)),
        Case("growth: a forbidden change of a pod", sent("PATCH", f"{PODS}/x", changed, MERGE),
             (sent("POST", PODS, old),)),
    ]  # fmt: skip


def schemas() -> list[Case]:
    """Custom objects and their definitions, whose schemas multiply the work for each value."""
    one = list_of({"type": "string", "pattern": STATES})
    letters = {
        "type": "object",
        "properties": {
            f"f{n}": {"type": "string", "pattern": rf"^\pL{{{150 + n}}}$"} for n in range(50)
        },
    }
    missing = [{"required": [f"r{n}"]} for n in range(100)]
    search = {
        "type": "object",
        "properties": {"t": {"type": "string", "maxLength": 400_000}},
        "x-kubernetes-validations": [{"rule": f"!self.t.matches('{STATES}')"}],
    }
    found = {
        **list_of({"type": "string", "maxLength": 1000}, maxItems=1000),
        "x-kubernetes-validations": [{"rule": "self.items.all(x, x.findAll('x').size() > 0)"}],
    }
    each = {
        **list_of({"type": "string", "maxLength": 10}, maxItems=1000),
        "x-kubernetes-validations": [
            {"rule": f"self.items.all(x, x != '{n}')"} for n in range(100)
        ],
    }
    inner = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    versions = [
        {
            "name": f"v{n}",
            "served": True,
            "storage": n == 1,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }
        for n in range(1, 101)
    ]
    served = definition({"type": "object"})
    served["spec"]["versions"] = versions
    empty: list[Json] = [{}] * 5_000
    return [
        custom("growth: a pattern of many states", one, {"items": [LETTERS]}),
        custom("growth: short texts and many states", one, {
            "items": [LETTERS[n % 8:][:200] for n in range(15_000)]}),
        custom("growth: patterns of all letters", letters, {f"f{n}": "é" for n in range(50)}),
        custom("growth: a long enumeration", list_of({"type": "string", "enum": filled(str)}),
               {"items": ["x"] * MANY}),
        custom("growth: missing fields of items", list_of(
            {"type": "object", "required": [f"r{n}" for n in range(1000)]}), {"items": empty}),
        custom("growth: alternatives of items", list_of({**OPEN, "anyOf": missing}),
               {"items": empty}),
        custom("growth: defaults of items", list_of({"type": "object", "properties": {
            f"p{n}": {"type": "integer", "default": n} for n in range(5_000)}}),
            {"items": empty}),
        custom("growth: nested defaults of items", list_of({"type": "object", "properties": {
            f"p{n}": inner for n in range(5_000)}}), {"items": [{"p1": {}}] * 4_500}),
        custom("growth: durations", list_of({"type": "string", "format": "duration"}),
               {"items": ["1s " * 300_000, "1" * 900_000]}),
        custom("growth: a search in a rule", search, {"t": LETTERS}),
        custom("growth: parts that a rule finds", found, {"items": ["x" * 1000] * 1000}),
        custom("growth: 100 rules over 1,000 items", each, {
            "items": [str(n + 1000) for n in range(1000)]}),
        Case("growth: versions of a definition", sent("POST", DEFINITIONS, served)),
        Case("growth: invalid types of a definition", sent("POST", DEFINITIONS, definition(
            {"type": "object", "properties": {f"f{n}": {"type": "x"} for n in range(20_000)}}))),
        Case("growth: change of a wide definition",
             sent("PATCH", f"{DEFINITIONS}/widgets.example.com",
                  {"metadata": {"labels": {"a": "b"}}}, MERGE),
             (sent("POST", DEFINITIONS, definition(wide_schema(LONG // 5))),)),
    ]  # fmt: skip


def policies_of(expression: str) -> tuple[ApiRequest, ...]:
    """Requests that create a policy with an expression, and its binding."""
    binding = named(
        "ValidatingAdmissionPolicyBinding",
        ADMISSION,
        spec={"policyName": "x", "validationActions": ["Deny"]},
    )
    return (
        sent("POST", f"{REGISTRATION}/validatingadmissionpolicies", policy(expression)),
        sent("POST", f"{REGISTRATION}/validatingadmissionpolicybindings", binding),
    )


def changes() -> list[Case]:
    """Applies to lists of custom objects, chains of patches, tables, and policies."""
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    entry = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
        "required": ["name"],
    }
    keyed = sent("POST", DEFINITIONS, definition(list_of(entry, **keys)))
    apply = sent("PATCH", f"{WIDGETS}/x?fieldManager=t", widget({"items": ENTRIES}), APPLY)
    in_set = (
        sent("POST", DEFINITIONS, definition(SET)),
        sent("POST", WIDGETS, widget({"items": filled(str)})),
    )
    others = widget({"items": [f"y{n}" for n in range(MANY)]})
    chain = [
        {"op": "copy", "from": "/data", "path": "/metadata/annotations"},
        *({"op": "copy", "from": "/metadata", "path": "/metadata/annotations"} for _ in range(20)),
    ]
    columns = [{"name": f"c{n}", "type": "string", "jsonPath": f".spec.k{n}"} for n in range(100)]
    rows = [sent("POST", WIDGETS, widget(texts(count=1000), name=f"w{n}")) for n in range(100)]
    return [
        Case("growth: an equal apply of a keyed list", apply, (keyed, apply)),
        Case("growth: apply of a set",
             sent("PATCH", f"{WIDGETS}/x?fieldManager=t&force=true", others, APPLY), in_set),
        Case("growth: change of a set", sent("PATCH", f"{WIDGETS}/x", others, MERGE), in_set),
        Case("growth: a chain of copies", sent("PATCH", f"{MAPS}/x", chain, OPERATIONS),
             (sent("POST", MAPS, config(data=texts(count=1000))),)),
        Case("growth: 100 columns of 100 rows", ApiRequest("GET", WIDGETS, TABLES, b""),
             (sent("POST", DEFINITIONS, definition(OPEN, additionalPrinterColumns=columns)),
              *rows)),
        Case("growth: a policy that compares the object for each container", sent(
            "POST", PODS, pod(containers=[container(name=f"c{n}") for n in range(1_000)]), JSON),
            policies_of("object.spec.containers.all(c, object == object)")),
        Case("growth: a policy over pairs of containers", sent("POST", PODS, pod(
            containers=[container(name=f"c{n}") for n in range(1_000)]), JSON), policies_of(
                "object.spec.containers.all(c, "
                "object.spec.containers.exists(d, d.name == c.name))")),
    ]  # fmt: skip
