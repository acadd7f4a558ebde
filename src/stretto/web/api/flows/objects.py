"""The priority levels and flow schemas of a new server."""

from typing import Any, Final

from stretto.api.wire.kinds import Kind

Json = dict[str, Any]

GROUP: Final = "flowcontrol.apiserver.k8s.io"
"""API group of flow control."""
PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
"""Manager of the levels that a server creates."""
_NOTES: Final = {"apf.kubernetes.io/autoupdate-spec": "true"}
SCHEMA: Final = Kind(GROUP, "v1", "FlowSchema", "flowschemas", namespaced=False)
"""Kind of flow schemas."""
LEVEL: Final = Kind(
    GROUP, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", namespaced=False
)
"""Kind of priority levels."""
CATCH_ALL: Final = "catch-all"
"""Flow schema and level of requests that no other schema matches."""
MANDATORY: Final = frozenset({"exempt", CATCH_ALL})
"""Flow schemas that count even if they are deleted, and their levels."""
_QUEUES: Final = {
    "global-default": (20, 50, 128, 6),
    "leader-election": (10, 0, 16, 4),
    "node-high": (40, 25, 64, 6),
    "system": (30, 33, 64, 6),
    "workload-high": (40, 50, 128, 6),
    "workload-low": (100, 90, 128, 6),
}
"""Levels with queues: shares, lendable percent, queues, hand size."""
_LENGTH: Final = 50


def priority_levels() -> list[Json]:
    """Return the levels of a new server."""
    found = [_level("exempt", {"type": "Exempt", "exempt": _shares(0, 0)})]
    rejecting = {**_shares(5, 0), "limitResponse": {"type": "Reject"}}
    found.append(_level(CATCH_ALL, {"type": "Limited", "limited": rejecting}))
    for name, (shares, lendable, queues, hand) in _QUEUES.items():
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": _LENGTH}
        response = {"type": "Queue", "queuing": queuing}
        limited = {**_shares(shares, lendable), "limitResponse": response}
        found.append(_level(name, {"type": "Limited", "limited": limited}))
    return found


def _shares(shares: int, lendable: int) -> Json:
    return {"nominalConcurrencyShares": shares, "lendablePercent": lendable}


def _level(name: str, spec: Json) -> Json:
    return _complete(name, spec)


def _complete(name: str, spec: Json) -> Json:
    metadata = {"name": name, "generation": 1, "annotations": _NOTES}
    return {"metadata": metadata, "spec": spec, "status": {}}


_ALL: Final = ["*"]
_NODES: Final = "system:nodes"
_LEASES: Final[Json] = {
    "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "namespaces": _ALL,
}  # fmt: skip
_EVERYTHING: Final[Json] = {
    "resourceRules": [
        {
            "verbs": _ALL,
            "apiGroups": _ALL,
            "resources": _ALL,
            "clusterScope": True,
            "namespaces": _ALL,
        }
    ],
    "nonResourceRules": [{"verbs": _ALL, "nonResourceURLs": _ALL}],
}
_PROBES: Final[Json] = {
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]
}
_ELECTION: Final[Json] = {
    "resourceRules": [{"verbs": ["get", "create", "update"], **_LEASES}],
}
_OWN_NODE: Final[Json] = {
    "resourceRules": [
        {
            "verbs": _ALL,
            "apiGroups": [""],
            "resources": ["nodes", "nodes/status"],
            "clusterScope": True,
            "namespaces": _ALL,
        },
        {"verbs": _ALL, **_LEASES},
    ],
}


def flow_schemas() -> list[Json]:
    """Return the flow schemas of a new server."""
    masters, nodes = _groups("system:masters"), _groups(_NODES)
    everyone = _groups("system:unauthenticated", "system:authenticated")
    manager, scheduler = _user("system:kube-controller-manager"), _user("system:kube-scheduler")
    system: list[Json] = [
        {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}
    ]
    accounts, elected = _groups("system:serviceaccounts"), [*manager, *scheduler, *system]
    table: tuple[tuple[str, int, str, str, list[Json], Json], ...] = (
        ("exempt", 1, "exempt", "", masters, _EVERYTHING),
        (CATCH_ALL, 10_000, CATCH_ALL, "ByUser", everyone, _EVERYTHING),
        ("system-nodes", 500, "system", "ByUser", nodes, _EVERYTHING),
        ("system-node-high", 400, "node-high", "ByUser", nodes, _OWN_NODE),
        ("probes", 2, "exempt", "", everyone, _PROBES),
        ("system-leader-election", 100, "leader-election", "ByUser", elected, _ELECTION),
        ("kube-controller-manager", 800, "workload-high", "ByNamespace", manager, _EVERYTHING),
        ("kube-scheduler", 800, "workload-high", "ByNamespace", scheduler, _EVERYTHING),
        ("kube-system-service-accounts", 900, "workload-high", "ByNamespace", system, _EVERYTHING),
        ("service-accounts", 9_000, "workload-low", "ByUser", accounts, _EVERYTHING),
        ("global-default", 9_900, "global-default", "ByUser", everyone, _EVERYTHING),
    )
    return [_schema(*each) for each in table]


def _groups(*names: str) -> list[Json]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def _user(name: str) -> list[Json]:
    return [{"kind": "User", "user": {"name": name}}]


def _schema(name: str, precedence: int, level: str, method: str, *rule: Any) -> Json:
    subjects, rules = rule
    spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        **({"distinguisherMethod": {"type": method}} if method else {}),
        "rules": [{"subjects": subjects, **rules}],
    }
    return _complete(name, spec)
