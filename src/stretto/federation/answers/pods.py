"""The federated object of a member's pod, found by its chain of controllers."""

from typing import Final

from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.federation import names
from stretto.federation.answers.subjects import FleetReader, kind_of, title
from stretto.federation.controllers.keys import FederatedItem
from stretto.reconcile.cache import Fields, StoredObject
from stretto.stores.store import Record, Store

_CONTROLLERS: Final[dict[str, Kind]] = {
    each.kind: each
    for each in (
        kinds.REPLICA_SET,
        kinds.DEPLOYMENT,
        kinds.STATEFUL_SET,
        kinds.DAEMON_SET,
        kinds.JOB,
        Kind("batch", "v1", "CronJob", "cronjobs"),
    )
}
"""Kinds that control pods or control controllers of pods."""


def owner_of(reader: FleetReader, member: Store, pod: Record) -> FederatedItem | None:
    """The federated object of a pod; ``None`` if the federation does not manage the pod.

    Args:
        reader: the objects of the fleet.
        member: the objects of the pod's cluster.
        pod: the pod.

    Raises:
        UnreachableError: the member does not answer.
        NotAllowedError: a controller of the pod may not be read.
    """
    found: StoredObject | None = StoredObject(pod)
    while found is not None:
        if found.labels.get(names.MANAGED) == "true":
            item = _item(reader, found)
            if item is not None:
                return item
        found = _controller(member, found)
    return None


def _item(reader: FleetReader, present: StoredObject) -> FederatedItem | None:
    name = "/".join(each for each in present.name if each)
    kind = present.record.kind.kind
    return next((x for x in reader.items() if (kind_of(x), title(x)) == (kind, name)), None)


def _controller(member: Store, present: StoredObject) -> StoredObject | None:
    """The controller of an object; ``None`` if there is none of a known kind."""
    references = present.metadata.get("ownerReferences") or ()
    owner: Fields = next((each for each in references if each.get("controller")), {})
    kind = _CONTROLLERS.get(owner.get("kind", ""))
    if kind is None:
        return None
    record = member.get(kind, present.record.namespace, owner["name"])
    return StoredObject(record) if record is not None else None
