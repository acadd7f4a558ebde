"""Nodes, pods and units of a state as rows of tables."""

from collections.abc import Iterator, Mapping, Sequence

from stretto.api.wire.kinds import NODE, POD, POD_GROUP
from stretto.explain.inventory.nodes import NodeRow, node_rows
from stretto.explain.inventory.pods import PodRow, pod_rows
from stretto.explain.inventory.units import UnitRow, unit_rows
from stretto.web.views.state import ViewedState


def node_table(state: ViewedState, text: str = "") -> list[NodeRow]:
    """Return the nodes by name; ``text`` filters by name, zone, status and labels."""
    return [
        row
        for row in node_rows(state.scene, state.records(NODE))
        if any(text in each for each in (row.name, row.zone, row.status, *_texts(row.labels)))
    ]


def sorted_nodes(rows: Sequence[NodeRow], by: str) -> list[NodeRow]:
    """Sort nodes: by status, those not ready first; by pods or a resource, the most used first."""
    if by == "status":
        return sorted(rows, key=lambda each: (each.status == "ready", each.status))
    if by == "pods":
        return sorted(rows, key=lambda each: -each.pods)
    return sorted(rows, key=lambda each: -each.resources[by].pct if by in each.resources else 1.0)


def sorted_pods(rows: Sequence[PodRow], by: str) -> list[PodRow]:
    """Sort pods: the oldest, those of the highest priority, or those without a node first."""
    if by == "age":
        return sorted(rows, key=lambda each: -(each.age_s or 0.0))
    if by == "priority":
        return sorted(rows, key=lambda each: -each.priority)
    return sorted(rows, key=lambda each: bool(each.node)) if by == "pending" else list(rows)


def pod_table(state: ViewedState) -> list[PodRow]:
    """Return the pods by namespace and name, with the reasons of pending ones."""
    state.complete()
    return pod_rows(state.scene, state.records(POD), state.at)


def matching_pods(rows: Sequence[PodRow], text: str, status: str) -> list[PodRow]:
    """Filter the pods by status, and by a text in name, node, queue or unit; empty matches all."""
    return [
        row
        for row in rows
        if status in ("", row.status)
        and any(text in each for each in (row.key, row.node, row.queue, row.unit))
    ]


def unit_table(state: ViewedState) -> list[UnitRow]:
    """Return the units with several pods; those with the most pending pods are first."""
    state.complete()
    pods = [*state.records(POD), *state.records(POD_GROUP)]
    rows = [each for each in pod_rows(state.scene, pods, state.at) if each.unit]
    units = unit_rows(rows, _min_members(state))
    return sorted(units, key=lambda each: (each.pending == 0, -each.pending, each.name))


def _texts(labels: Mapping[str, str]) -> Iterator[str]:
    return (f"{key}={value}" for key, value in labels.items())


def _min_members(state: ViewedState) -> dict[str, int | None]:
    """``min_member`` of the units, by key."""
    found: dict[str, int | None] = {}
    for row in state.scene.cluster.pods.rows().tolist():
        unit = state.scene.notes.unit_of(row)
        if unit is not None and unit.kind != "Pod":
            found[unit.key] = unit.min_member
    return found
