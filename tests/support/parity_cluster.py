"""Small clusters for tests of the exact path, and results of its plugins."""

import json
from typing import Any

from stretto.api import codec
from stretto.api.kinds.table import kind_named
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.wire.meta import Wire
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import PluginStatus
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.scheduler import ExactScheduler

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str = "", **more: Any) -> Node:
    """A node of 4 cores and 8Gi; ``more``: ``labels``, ``taints``, amounts, ``images``, ..."""
    labels = {HOST: name, **({ZONE: zone} if zone else {}), **more.pop("labels", {})}
    spec = {"taints": more.pop("taints", []), "unschedulable": more.pop("cordoned", False)}
    status = {"images": more.pop("images", [])}
    status["declaredFeatures"] = more.pop("declaredFeatures", [])
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **more.pop("resources", {}), **more}
    status["allocatable"] = {name: str(each) for name, each in amounts.items()}
    body = {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}
    return codec.decode_as(Node, json.dumps(body).encode())


def pod(name: str = "p", on: str = "", **more: Any) -> Pod:
    """A pod of one container; ``more``: ``labels``, ``requests``, ``meta``, ``status``, spec."""
    meta = {"name": name, "namespace": more.pop("namespace", "default")}
    meta |= {"labels": more.pop("labels", {}), **more.pop("meta", {})}
    status = more.pop("status", {})
    container = {"name": "c", "image": "x", "resources": {"requests": more.pop("requests", {})}}
    container["ports"] = more.pop("ports", [])
    spec = {"containers": [container], **({"nodeName": on} if on else {}), **more}
    body = {"metadata": meta, "spec": spec, "status": status}
    return codec.decode_as(Pod, json.dumps(body).encode())


def thing(kind: str, name: str, **body: Any) -> Wire:
    """Any other object, with its fields in wire spelling."""
    meta = {"name": name, "namespace": body.pop("namespace", "default"), **body.pop("meta", {})}
    found = kind_named(kind)
    if not found.namespaced:
        del meta["namespace"]
    return codec.decode(found, json.dumps({"metadata": meta, **body}).encode())


def cluster(*items: Wire) -> ExactScheduler:
    """A scheduler over nodes, pods and objects."""
    nodes = [each for each in items if isinstance(each, Node)]
    pods = [each for each in items if isinstance(each, Pod)]
    rest = [each for each in items if not isinstance(each, Node | Pod)]
    return ExactScheduler(ParitySnapshot(nodes, pods, rest))


def decide(requested: Pod, *items: Wire) -> Decision:
    """One thorough decision."""
    return cluster(*items).decide(requested, thorough=True)


def said(plugin: str, requested: Pod, *items: Wire) -> dict[str, PluginStatus]:
    """Statuses of one filter, by rejected node."""
    decision = decide(requested, *items)
    assert decision.filtered is not None
    verdict = decision.filtered.verdicts.get(plugin)
    if verdict is None:
        return {}
    return {n: verdict.status(at) for at, n in enumerate(decision.names) if verdict.refused[at]}


def refused(plugin: str, requested: Pod, *items: Wire) -> list[str]:
    """Nodes that one filter rejects."""
    return sorted(said(plugin, requested, *items))


def before(plugin: str, requested: Pod, *items: Wire) -> PluginStatus | None:
    """PreFilter status of one plugin; None if it continues."""
    decision = decide(requested, *items)
    assert decision.filtered is not None
    return decision.filtered.prefilter.get(plugin)


def scores(plugin: str, requested: Pod, *items: Wire) -> dict[str, int] | None:
    """One score by feasible node; None if it is skipped."""
    decision = decide(requested, *items)
    if plugin in decision.skipped_scores:
        return None
    values = decision.scores[plugin].tolist()
    return {decision.names[n]: v for n, v in zip(decision.feasible.tolist(), values, strict=True)}
