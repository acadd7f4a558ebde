"""Objects that the scenarios of one recording share: kinds, nodes, the course of pods."""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.quantity import amounts, format_amount
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.reconciler import Reconciler
from stretto.sim.fleet.parts import FleetParts
from stretto.stores.webhooks import WebhookClient
from stretto.workloads.kubelet.course import PodCourse
from stretto_lab.conformance.wire.protection import ProtectionController

Fields = dict[str, Any]
_POD_MEMORY: Final = 64 << 20
"""Memory that each recorded pod requested."""


def kinds_of(common: Fields) -> list[Kind]:
    """The federated kinds of a recording."""
    return [
        Kind(x["group"], x["version"], x["kind"], x["plural"], namespaced=x["namespaced"])
        for x in common["typeConfigs"]
    ]


def type_config(config: Fields) -> Fields:
    """A FederatedTypeConfig from its description in the common file."""
    source = {
        "group": config["group"],
        "version": config["version"],
        "kind": config["kind"],
        "pluralName": config["plural"],
        "scope": "Namespaced" if config["namespaced"] else "Cluster",
    }
    spec: Fields = {
        "sourceType": source,
        "controllers": [
            [f"kubeadmiral.io/{each}" for each in group] for group in config["pipeline"]
        ],
        "statusAggregation": {"enabled": config["statusAggregation"]},
        "autoMigration": {"enabled": config["autoMigration"]},
        "pathDefinition": config["paths"],
    }
    if config["collected"] is not None:
        spec["statusCollection"] = {"enabled": True, "fields": config["collected"]}
    metadata = {"name": config["name"], "annotations": config["annotations"]}
    return {"metadata": metadata, "spec": spec}


def node_body(node: Fields) -> bytes:
    """A node from its description in the common file."""
    amounts = node["allocatable"]
    body = {
        "metadata": {"name": node["name"], "labels": node["labels"]},
        "spec": {"taints": node["taints"], "unschedulable": node["unschedulable"]},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    return msgspec.json.encode(body)


def equal_nodes(resources: Fields) -> list[Fields]:
    """Nodes that share the capacity of a cluster whose nodes are unknown."""
    count = int(resources.get("schedulableNodes") or 0)
    allocatable = amounts(resources.get("allocatable") or {}, "allocatable")
    shares = {
        name: format_amount(name, total // max(1, count)) for name, total in allocatable.items()
    }
    return [
        {
            "name": f"n{number}",
            "labels": {},
            "taints": [],
            "unschedulable": False,
            "allocatable": {**shares, "pods": "110"},
        }
        for number in range(count)
    ]


def busy_pods(resources: Fields) -> list[Fields]:
    """Pods with the capacity that pods of other scenarios used at the start of a scenario.

    Every recorded pod requested 64Mi of memory, so the used memory determines their number.
    """
    total, free = (amounts(resources.get(x) or {}, x) for x in ("allocatable", "available"))
    used = {name: n - free.get(name, n) for name, n in total.items() if n > free.get(name, n)}
    count = max(used.get("memory", 0) // _POD_MEMORY, 1) if used else 0
    share = {name: amount // count for name, amount in used.items() if count}
    first = {name: amount - share[name] * (count - 1) for name, amount in used.items()}
    return [_busy_pod(number, share if number else first) for number in range(count)]


def _busy_pod(number: int, requests: dict[str, int]) -> Fields:
    texts = {name: format_amount(name, amount) for name, amount in requests.items()}
    # An API server requires limits of exclusive resources, such as GPUs.
    limits = {name: text for name, text in texts.items() if "/" in name}
    resources = {"requests": texts, **({"limits": limits} if limits else {})}
    container = {"name": "main", "image": "none", "resources": resources}
    metadata = {"name": f"in-use-{number}", "namespace": "kube-system"}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def course(pod: StoredObject) -> PodCourse:
    """The course of a pod in the recorded members, by its label ``sim``."""
    label = pod.labels.get("sim")
    owners = pod.metadata.get("ownerReferences") or ()
    if label == "hang":
        return PodCourse(ready_after=None)
    if label == "fail":
        return PodCourse(ends_after=2.0, exit_code=1)
    ends = label != "stay" and any(each.get("kind") == "Job" for each in owners)
    return PodCourse(ends_after=2.0 if ends else None)


def api_resource(text: str) -> Fields:
    """A kind that members serve, written ``group/version Kind``."""
    api_version, _, kind = text.partition(" ")
    group, _, version = api_version.rpartition("/")
    group = "" if group == "core" else group
    return {"group": group, "version": version, "kind": kind}


def server_controllers(cache: StoreCache) -> list[Reconciler]:
    """Controllers for effects of the recorded API servers besides storing objects."""
    return [ProtectionController(cache)]


def parts_of(webhooks: WebhookClient) -> FleetParts:
    """The parts of the embedded federation of a replay, with the answers of its webhooks."""
    return FleetParts(course, server_controllers, webhooks)
