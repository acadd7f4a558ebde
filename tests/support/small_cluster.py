"""Short constructors of nodes and classes, for tests of node rules."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec
import numpy as np

from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec
from stretto.framework.contract.rule import SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.snapshot import Columns

_serials = count(1)


def a_node(name: str, labels: dict[str, str] | None = None, **spec: Any) -> Node:
    """A node; ``taints`` as ``key=value:Effect`` texts, ``unschedulable=True`` for a cordon."""
    taints = [a_taint(text) for text in spec.pop("taints", ())]
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labels or {}}
    return msgspec.convert({"metadata": meta, "spec": {**spec, "taints": taints}}, Node)


def a_taint(text: str) -> dict[str, str]:
    """``key=value:Effect`` or ``key:Effect`` as a taint."""
    what, _, effect = text.partition(":")
    key, _, value = what.partition("=")
    return {"key": key, "value": value, "effect": effect}


def nodes_of(*nodes: Node) -> NodeFacts:
    """Nodes on slots 0, 1, 2, ..., with a capacity of 64 slots."""
    table = NodeFacts()
    table.grow(64)
    for slot, node in enumerate(nodes):
        table.put(slot, node)
    return table


def a_class(**spec: Any) -> PodClass:
    """A class from a spec in wire form, with a unique serial."""
    serial = next(_serials)
    return PodClass(
        id=serial,
        serial=serial,
        spec=msgspec.convert(spec, PodSpec),
        requests=(),
        ports=(),
        devices=(),
    )


def requiring(*terms: dict[str, Any], **more: Any) -> PodClass:
    """A class with required node affinity terms, as on the wire."""
    return a_class(affinity=affinity(required=terms), **more)


def preferring(*preferences: tuple[int, dict[str, Any]]) -> PodClass:
    """A class with preferred node affinity terms and their weights."""
    return a_class(affinity=affinity(preferred=preferences))


def affinity(
    required: Sequence[dict[str, Any]] | None = None,
    preferred: Sequence[tuple[int, dict[str, Any]]] = (),
) -> dict[str, Any]:
    """An affinity as on the wire; no required terms and none at all differ."""
    found: dict[str, Any] = {}
    if required is not None:
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        found[key] = {"nodeSelectorTerms": list(required)}
    preferences = [{"weight": weight, "preference": term} for weight, term in preferred]
    found["preferredDuringSchedulingIgnoredDuringExecution"] = preferences
    return {"nodeAffinity": found}


def term(*rules: str) -> dict[str, Any]:
    """A term of rules such as ``gen Gt 3``, ``zone In a,b``, ``gpu Exists``, ``@ In node-1``."""
    split = [rule.split(" ") for rule in rules]
    wire = [
        {"key": key, "operator": operator, "values": values[0].split(",") if values else []}
        for key, operator, *values in split
    ]
    fields = [{**rule, "key": "metadata.name"} for rule in wire if rule["key"] == "@"]
    return {"matchExpressions": [r for r in wire if r["key"] != "@"], "matchFields": fields}


def look(nodes: NodeFacts) -> View:
    """A view of empty nodes."""
    return View(Columns(Ledger()), nodes)


def slots_of(*slots: int) -> SlotArray:
    """Slots as an array."""
    return np.array(slots, np.int64)
