"""The lists of ``stretto get``, ``top`` and ``recommend`` as JSON documents."""

import msgspec

from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.inventory.nodes import NodeRow
from stretto.explain.inventory.pods import PodRow
from stretto.explain.inventory.runs import RunRow
from stretto.explain.inventory.units import UnitRow
from stretto.explain.inventory.use.advice import RecommendedRow
from stretto.explain.inventory.use.rows import NodeUseRow, PodUseRow, PoolUseRow


class PodList(msgspec.Struct, frozen=True):
    """Pods of a state."""

    #: Title of the state.
    state: str
    #: The pods by namespace and name.
    items: tuple[PodRow, ...]


class NodeList(msgspec.Struct, frozen=True):
    """Nodes of a state."""

    #: Title of the state.
    state: str
    #: The nodes by name.
    items: tuple[NodeRow, ...]


class UnitList(msgspec.Struct, frozen=True):
    """Units of a state."""

    #: Title of the state.
    state: str
    #: The units by name.
    items: tuple[UnitRow, ...]


class QueueList(msgspec.Struct, frozen=True):
    """Queues of a state."""

    #: Title of the state.
    state: str
    #: The queues, parents before children.
    items: tuple[QueueFacts, ...]


class RunList(msgspec.Struct, frozen=True):
    """Run records."""

    #: Folder of the records.
    state: str
    #: The records, the latest first.
    items: tuple[RunRow, ...]


class NodeUseList(msgspec.Struct, frozen=True):
    """Measured use of the nodes of a state."""

    #: Title of the state.
    state: str
    #: Seconds after which a report is stale.
    expires_s: float
    #: The nodes, those with a current report first, then the busiest first.
    items: tuple[NodeUseRow, ...]


class PodUseList(msgspec.Struct, frozen=True):
    """Measured use of the pods of a state."""

    #: Title of the state.
    state: str
    #: Seconds after which a report is stale.
    expires_s: float
    #: The pods with a node, the largest request first.
    items: tuple[PodUseRow, ...]


class PoolUseList(msgspec.Struct, frozen=True):
    """Measured use of the pools of a state."""

    #: Title of the state.
    state: str
    #: Seconds after which a report is stale.
    expires_s: float
    #: The QoS levels of every node with a report.
    items: tuple[PoolUseRow, ...]


class RecommendedList(msgspec.Struct, frozen=True):
    """Recommended requests of a state or of a file of measurements."""

    #: Title of the state.
    state: str
    #: Rows by workload, container and resource.
    items: tuple[RecommendedRow, ...]
    #: Problem of each VerticalPodAutoscaler that has one, by namespace and name.
    problems: dict[str, str]
