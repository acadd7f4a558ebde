"""Messages of events and reports about the switch of a node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stretto.capacity.tides.pool import NodeRole
from stretto.capacity.tides.switching import PodName

_SHOWN: Final = 3
"""Number of pods that a message names."""


@dataclass(frozen=True)
class NodeSwitch:
    """A node that begins to switch."""

    #: Name of the pool.
    pool: str
    #: Name of the node.
    node: str
    #: New role of the node.
    role: NodeRole
    #: Wall time in seconds.
    at: float
    #: Offline pods that are evicted.
    victims: tuple[PodName, ...] = ()
    #: Online pods that a trial places on it.
    beneficiaries: tuple[PodName, ...] = ()


def message_of(switch: NodeSwitch) -> str:
    """Describe a switch in a sentence."""
    if switch.role is NodeRole.OFFLINE:
        return f"node {switch.node} becomes offline: no online pod needs it"
    evicted = f"; evicts {named(switch.victims)}" if switch.victims else ""
    return f"node {switch.node} becomes online for {named(switch.beneficiaries)}{evicted}"


def named(pods: Sequence[PodName]) -> str:
    """Some pods by name, and the number of the others."""
    shown = ", ".join("/".join(each) for each in pods[:_SHOWN])
    more = len(pods) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
