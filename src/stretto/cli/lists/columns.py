"""Columns of the lists of ``stretto get``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stretto.cli.output.formats import ListColumn, ListedRows
from stretto.explain.words.durations import short_duration

if TYPE_CHECKING:
    from stretto.control.dispatcher.usage_report import QueueFacts
    from stretto.explain.inventory.nodes import NodeRow
    from stretto.explain.inventory.pods import PodRow
    from stretto.explain.inventory.runs import RunRow
    from stretto.explain.inventory.units import UnitRow

Fields = Mapping[str, Any]


def listed_pods(rows: "Sequence[PodRow]", fields: Fields) -> ListedRows:
    """Pods: the node of each, and the reason of each pending one."""
    columns = [
        ListColumn("pod", [each.key for each in rows]),
        ListColumn("status", [each.status for each in rows]),
        ListColumn("node", [each.node or "-" for each in rows]),
        ListColumn("queue", [each.queue for each in rows], 2),
        ListColumn("unit", [each.unit for each in rows], 4),
        ListColumn("priority", [each.priority for each in rows], 3),
        ListColumn("age", [short_duration(each.age_s) for each in rows], 1),
        ListColumn("reason", [each.reason or "-" for each in rows], 1),
        ListColumn("requests", [_amounts(each.requests) for each in rows], wide=True),
        ListColumn("devices", [each.devices or "-" for each in rows], wide=True),
        ListColumn("why", [each.sentence or "-" for each in rows], wide=True),
    ]
    names = [f"pod/{each.key}" for each in rows]
    return ListedRows(columns, names, "stretto.get.pods/v1", fields)


def listed_units(rows: "Sequence[UnitRow]", fields: Fields) -> ListedRows:
    """Units: number of pods with a node."""
    columns = [
        ListColumn("unit", [each.name for each in rows]),
        ListColumn("status", [each.status for each in rows]),
        ListColumn("placed", [each.placed for each in rows]),
        ListColumn("pending", [each.pending for each in rows]),
        ListColumn("least", [each.min_member for each in rows], 2),
        ListColumn("queue", [each.queue for each in rows], 3),
        ListColumn("priority", [each.priority for each in rows], 4),
        ListColumn("reason", [each.reason or "-" for each in rows], 1),
        ListColumn("why", [each.sentence or "-" for each in rows], wide=True),
    ]
    return ListedRows(columns, [each.name for each in rows], "stretto.get.units/v1", fields)


def listed_nodes(rows: "Sequence[NodeRow]", fields: Fields) -> ListedRows:
    """Nodes: their pods, and the requested fraction of each resource."""

    def used(resource: str) -> list[object]:
        return [
            f"{each.resources[resource].pct:.0f}%" if resource in each.resources else "-"
            for each in rows
        ]

    def amounts(resource: str) -> list[object]:
        found = [each.resources.get(resource) for each in rows]
        return [f"{use.requested}/{use.allocatable}" if use else "-" for use in found]

    devices = [f"{each.free_devices}/{each.devices}" if each.devices else "-" for each in rows]
    columns = [
        ListColumn("node", [each.name for each in rows]),
        ListColumn("status", [each.status for each in rows]),
        ListColumn("zone", [each.zone for each in rows], 3),
        ListColumn("pods", [each.pods for each in rows]),
        ListColumn("cpu", used("cpu")),
        ListColumn("memory", used("memory")),
        ListColumn("free devices", devices, 1),
        ListColumn("cpu requested", amounts("cpu"), wide=True),
        ListColumn("memory requested", amounts("memory"), wide=True),
    ]
    names = [f"node/{each.name}" for each in rows]
    return ListedRows(columns, names, "stretto.get.nodes/v1", fields)


def listed_queues(rows: "Sequence[QueueFacts]", fields: Fields) -> ListedRows:
    """Queues: their share and their units."""
    columns = [
        ListColumn("queue", [each.name for each in rows]),
        ListColumn("parent", [each.parent for each in rows], 2),
        ListColumn("policy", [each.policy for each in rows], 3),
        ListColumn("share", [f"{each.share:.0%}" for each in rows]),
        ListColumn("pending", [each.pending for each in rows]),
        ListColumn("running", [each.running for each in rows]),
        ListColumn("guarantee", [_amounts(each.counted) or "-" for each in rows], wide=True),
        ListColumn("limit", [_amounts(each.limit) or "-" for each in rows], wide=True),
        ListColumn("used", [_amounts(each.used) or "-" for each in rows], wide=True),
    ]
    names = [f"queue/{each.name}" for each in rows]
    return ListedRows(columns, names, "stretto.get.queues/v1", fields)


def listed_runs(rows: "Sequence[RunRow]", fields: Fields) -> ListedRows:
    """Run records: start and result of each."""
    columns = [
        ListColumn("run", [each.name for each in rows]),
        ListColumn("status", [each.status for each in rows], 2),
        ListColumn("lasted", [short_duration(each.seconds) for each in rows], 1),
        ListColumn("pods", [each.pods for each in rows]),
        ListColumn("placed", [each.placed for each in rows]),
        ListColumn("pending", [each.pending for each in rows]),
        ListColumn("started", [each.started for each in rows], wide=True),
        ListColumn("scenario", [each.scenario for each in rows], wide=True),
    ]
    return ListedRows(columns, [f"run/{each.name}" for each in rows], "stretto.get.runs/v1", fields)


def _amounts(amounts: Mapping[str, str]) -> str:
    return " ".join(f"{name.rpartition('/')[2]}={amount}" for name, amount in amounts.items())
