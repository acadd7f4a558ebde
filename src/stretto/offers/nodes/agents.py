"""The agent of a node: address, attributes, fault domain, and offered resources."""

import ipaddress
from typing import Final

from stretto.offers.messages.schema import Message
from stretto.reconcile.cache import StoredObject

CAPABILITIES: Final = (
    "MULTI_ROLE",
    "HIERARCHICAL_ROLE",
    "RESERVATION_REFINEMENT",
    "AGENT_DRAINING",
)
"""Capabilities of the agents of nodes."""
VERSION: Final = "1.11.0"
"""The version of Mesos that these agents report."""
KUBELET_PORT: Final = 10250
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
_BARRING: Final = ("NoSchedule", "NoExecute")


def node_pid(name: str, ip: str) -> str:
    """The address that identifies the agent of a node to the master."""
    return f"node({name})@{ip}:{KUBELET_PORT}"


def node_of(pid: str) -> str | None:
    """The node of an address; ``None`` for agents that are processes."""
    kind, _, rest = pid.partition("(")
    return rest.partition(")@")[0] if kind == "node" else None


def agent_id(node: StoredObject) -> str:
    """The id of the agent of a node: equal for every master, new for a new node."""
    return f"node-{node.record.uid}"


def ip_of(node: StoredObject) -> str:
    """The internal IPv4 address of a node; the address of this machine if it has none."""
    for each in node.status.get("addresses") or ():
        if each.get("type") == "InternalIP" and _is_ipv4(str(each.get("address"))):
            return str(each["address"])
    return "127.0.0.1"


def is_ready(node: StoredObject) -> bool:
    """True if the condition Ready is ``True`` or absent, and the node is not being deleted."""
    conditions = {
        each.get("type"): each.get("status") for each in node.status.get("conditions") or ()
    }
    return conditions.get("Ready", "True") == "True" and not node.is_terminating


def is_cordoned(node: StoredObject) -> bool:
    """True if the node is cordoned, as before and during a drain."""
    return bool(node.spec.get("unschedulable"))


def is_offered(node: StoredObject) -> bool:
    """True if new tasks may start: no cordon, and no taint that pods of tasks do not tolerate."""
    taints = node.spec.get("taints") or ()
    return not is_cordoned(node) and all(each.get("effect") not in _BARRING for each in taints)


def agent_info(node: StoredObject) -> Message:
    """The AgentInfo of a node without its resources."""
    labels = node.labels
    info: Message = {
        "id": {"value": agent_id(node)},
        "hostname": node.record.name,
        "port": KUBELET_PORT,
        "resources": [],
        "checkpoint": True,
        "attributes": [
            {"name": name, "type": "TEXT", "text": {"value": labels[name]}}
            for name in sorted(labels)
            if labels[name]
        ],
    }
    region, zone = labels.get(REGION), labels.get(ZONE)
    if region and zone:
        info["domain"] = {"fault_domain": {"region": {"name": region}, "zone": {"name": zone}}}
    return info


def _is_ipv4(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 4
    except ValueError:
        return False
