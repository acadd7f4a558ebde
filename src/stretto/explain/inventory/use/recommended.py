"""Recommendations that a recommender has published in the VerticalPodAutoscalers of a state."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from stretto.api.codec import decode_as
from stretto.api.types.capacity.vertical import VerticalCheckpoint, VerticalPodAutoscaler
from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import POD, VERTICAL_CHECKPOINT, VERTICAL_POD_AUTOSCALER
from stretto.api.wire.quantity import amount
from stretto.base.clock import timestamp_or_none
from stretto.base.errors import InputError
from stretto.capacity.vertical.history import CpuHistory
from stretto.explain.inventory.use.advice import ContainerNow, RecommendedRow, recommended_rows
from stretto.stores.render import render, rendered_fields
from stretto.stores.store import Record

Fields = Mapping[str, Any]
_Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""
_PROBLEMS: Final = {
    "ConfigUnsupported": "True",
    "NoPodsMatched": "True",
    "Measured": "False",
    "RecommendationProvided": "False",
}
"""Conditions that describe a problem, with the status in which they do; the first one counts."""


class PublishedRecommendations(NamedTuple):
    """The recommendations of a state."""

    #: Rows by workload and container.
    rows: list[RecommendedRow]
    #: Problem of each autoscaler that has one, by namespace and name.
    problems: dict[str, str]
    #: Number of autoscalers.
    autoscalers: int


def published(records: Iterable[Record]) -> PublishedRecommendations:
    """Return the recommendations of the objects of a state."""
    found = list(records)
    autoscalers = [each for each in found if each.kind == VERTICAL_POD_AUTOSCALER]
    spaces = {each.namespace for each in autoscalers}
    workloads = _PodsOfWorkloads(each for each in found if each.namespace in spaces)
    sampled = _sampled(found)
    rows: list[RecommendedRow] = []
    problems: dict[str, str] = {}
    for record in autoscalers:
        place = f"{record.namespace}/{record.name}"
        try:
            each = decode_as(VerticalPodAutoscaler, render(record), place)
            rows += _rows(record, each, workloads, sampled)
        except InputError as error:
            problems[place] = str(error)
            continue
        problem = _problem(each)
        if problem:
            problems[place] = problem
    order = sorted(rows, key=lambda row: (row.workload, row.container, row.resource))
    return PublishedRecommendations(order, problems, len(autoscalers))


def _rows(
    record: Record,
    autoscaler: VerticalPodAutoscaler,
    workloads: "_PodsOfWorkloads",
    sampled: Mapping[tuple[str, str, str], CpuHistory],
) -> list[RecommendedRow]:
    """Return the rows of one autoscaler.

    Raises:
        InputError: an amount is malformed.
    """
    target = autoscaler.spec.target_ref
    requests = workloads.requests((target.kind, record.namespace, target.name))
    workload = f"{target.kind} {record.namespace}/{target.name}"
    found = autoscaler.status.recommendation
    return [
        row
        for each in (found.container_recommendations if found is not None else ())
        for row in recommended_rows(
            ContainerNow(
                workload,
                requests.get(each.container_name, {}),
                sampled.get((record.namespace, record.name, each.container_name)),
            ),
            each,
        )
    ]


class _PodsOfWorkloads:
    """Pods that have not ended, by the workload at the end of their chain of owners."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._owners: dict[_Key, _Key] = {}
        self._pods: dict[_Key, list[Fields]] = {}
        pods: list[tuple[_Key, Fields]] = []
        for record in records:
            fields: Fields = rendered_fields(record)
            owner = _controller(fields, record.namespace)
            if owner is None:
                continue
            if record.kind == POD:
                if (fields.get("status") or {}).get("phase") not in ENDED:
                    pods.append((owner, fields))
            else:
                self._owners[record.kind.kind, record.namespace, record.name] = owner
        for owner, fields in pods:
            self._pods.setdefault(self._owners.get(owner, owner), []).append(fields)

    def requests(self, workload: _Key) -> dict[str, dict[str, int]]:
        """Return the largest requests of the containers of a workload's pods, by container.

        Raises:
            InputError: a request is malformed.
        """
        largest: dict[str, dict[str, int]] = {}
        for pod in self._pods.get(workload, ()):
            for each in (pod.get("spec") or {}).get("containers") or ():
                stated = (each.get("resources") or {}).get("requests") or {}
                kept = largest.setdefault(each["name"], {})
                for resource, text in stated.items():
                    found = amount(resource, text, f"requests of {each['name']}")
                    kept[resource] = max(kept.get(resource, 0), found)
        return largest


def _controller(fields: Fields, namespace: str) -> _Key | None:
    """Return the owner that manages an object."""
    for each in fields["metadata"].get("ownerReferences") or ():
        if each.get("controller"):
            return str(each.get("kind")), namespace, str(each.get("name"))
    return None


def _sampled(records: Iterable[Record]) -> dict[tuple[str, str, str], CpuHistory]:
    """Return the extent of each checkpoint, by namespace, autoscaler and container."""
    found = {}
    for record in records:
        if record.kind != VERTICAL_CHECKPOINT:
            continue
        try:
            each = decode_as(VerticalCheckpoint, render(record), record.name)
        except InputError:
            continue  # the recommender reports unusable checkpoints
        status = each.status
        first = timestamp_or_none(status.first_sample_start)
        last = timestamp_or_none(status.last_sample_start)
        if first is not None and last is not None:
            key = (record.namespace, each.spec.vpa_object_name, each.spec.container_name)
            found[key] = CpuHistory(first, last, status.total_samples_count)
    return found


def _problem(autoscaler: VerticalPodAutoscaler) -> str:
    """Return the first problem in the conditions of an autoscaler; empty without one."""
    stated = {each.type: each for each in autoscaler.status.conditions}
    for name, status in _PROBLEMS.items():
        found = stated.get(name)
        if found is not None and found.status == status:
            return found.message or found.reason or name
    return "" if stated else "no recommender has evaluated it"
