"""Decides where autoscalers run: in members, on the host, or nowhere for now.

The first step of their pipeline is complete once an autoscaler may run in members. Until then an
annotation of the source and a condition state what is missing.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from stretto.federation import names
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedItem,
    FederatedKey,
    find,
    is_status_only,
    key_of,
    of_type,
)
from stretto.federation.controllers.placing.policies import POLICY_LABELS, PolicyFinder
from stretto.federation.controllers.reports import ObjectReporter
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending
from stretto.federation.objects.kinds import autoscaling
from stretto.federation.objects.naming import federated_name
from stretto.federation.problems import ACCEPTED, ObjectCondition, ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoredObject


class AutoscaleController:
    """Completes the first step of an autoscaler's pipeline once its workload allows it."""

    name = "autoscale"

    def __init__(self, fleet: ClusterFleet, reporter: ObjectReporter) -> None:
        """Initialize for the autoscalers of a fleet; ``reporter`` writes conditions."""
        self._fleet = fleet
        self._policies = PolicyFinder(fleet)
        self._reporter = reporter

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of the autoscaler, of those of a workload, or of all after a change of a policy."""
        if change.source != HOST or is_status_only(change):
            return
        if change.kind.kind in FEDERATED:
            for key in key_of(self._fleet, change.object):
                type_ = self._fleet.types.named(key.type)
                if type_ is not None and type_.scale_target:
                    yield key
                else:
                    yield from self._scaling(change.object)
        elif change.kind.kind in POLICY_LABELS:
            yield from (item.key for item in self._autoscalers())

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Complete the first pipeline step of one autoscaler, or hold it with the reason."""
        item = find(self._fleet, key)
        if item is None or item.federated.is_terminating or not item.type.scale_target:
            return None
        central = autoscaling.is_centralized(item.federated)
        problems = "" if central else "; ".join(self._obstacles(item))
        if self._report(item, problems, central=central):
            return None
        notes, pipeline = item.federated.annotations, item.type.pipeline
        text = pending.after(names.AUTOSCALERS, notes, pipeline, changed=False)
        if central or problems:
            text = pending.written(pipeline)
        if notes.get(names.PENDING) != text:
            change = {"metadata": {"annotations": {names.PENDING: text}}}
            writes.patch(self._fleet.host.store, item.federated, change)
        if problems:
            mode = autoscaling.mode_problem(item.federated.spec["template"])
            text = "; ".join(filter(None, (f"it is not sent to members: {problems}", mode)))
            held = ObjectCondition(ACCEPTED, "AutoscalerHeld", text)
            self._reporter.write(item.federated, [held])
        return None

    # ---------------------------------------------------------------- inside

    def _autoscalers(self) -> Iterator[FederatedItem]:
        for type_ in self._fleet.types:
            if type_.scale_target:
                yield from of_type(self._fleet, type_)

    def _scaling(self, workload: StoredObject) -> Iterator[FederatedKey]:
        """Keys of the autoscalers of a workload."""
        template = workload.spec.get("template") or {}
        name = template.get("metadata", {}).get("name")
        for item in self._autoscalers():
            target = autoscaling.target_of(item.federated, item.type)
            same = item.federated.record.namespace == workload.record.namespace
            if (
                same
                and target is not None
                and (target.kind, target.name) == (template["kind"], name)
            ):
                yield item.key

    def _obstacles(self, item: FederatedItem) -> Iterator[str]:
        """Reasons why an autoscaler cannot run in members."""
        target = autoscaling.target_of(item.federated, item.type)
        type_ = self._fleet.types.of(target.group, target.kind) if target is not None else None
        workload, divided = None, False
        if target is not None and type_ is not None:
            name = federated_name(target.name, type_.name)
            space = item.federated.record.namespace
            workload = self._fleet.federated(type_.federated_kind, space, name)
            divided = workload is not None and self._is_divided(workload)
        return autoscaling.obstacles(item.federated, workload, divided=divided)

    def _is_divided(self, workload: StoredObject) -> bool:
        try:
            rules = self._policies.policy_of(workload).rules
        except ObjectProblemError:
            return False
        return rules is not None and rules.divides

    def _report(self, item: FederatedItem, problems: str, *, central: bool) -> bool:
        """Mark the source; true if its labels changed, because it is then federated again."""
        metadata = item.federated.spec["template"]["metadata"]
        space = item.federated.record.namespace
        source = self._fleet.sources(item.type).get(space, metadata["name"])
        if source is None or source.is_terminating:
            return True
        wanted: dict[str, Any] = {}
        label = "true" if central else None
        if source.labels.get(names.CENTRALIZED_HPA) != label:
            wanted["labels"] = {names.CENTRALIZED_HPA: label}
        if source.annotations.get(names.HPA_REASON) != (problems or None):
            wanted["annotations"] = {names.HPA_REASON: problems or None}
        if wanted:
            writes.patch(self._fleet.host.store, source, {"metadata": wanted})
        return "labels" in wanted
