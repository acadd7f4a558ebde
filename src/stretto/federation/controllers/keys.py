"""Federated objects as keys of controllers."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.api.kinds.federation import CLUSTER_FEDERATED_OBJECT, FEDERATED_OBJECT
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects import index
from stretto.federation.objects.naming import federated_name
from stretto.federation.objects.pending import has_turn, pending
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import Sweep

FEDERATED: Final = (FEDERATED_OBJECT.kind.kind, CLUSTER_FEDERATED_OBJECT.kind.kind)
"""The kinds of federated objects."""
_NONE: Final = msgspec.Raw(b"{}")


class FederatedKey(NamedTuple):
    """Key of a federated object."""

    #: Name of its FederatedTypeConfig.
    type: str
    #: Its namespace.
    namespace: str
    #: Its name.
    name: str


class DeliveryPlace(NamedTuple):
    """Key of one object in one cluster."""

    #: Name of the cluster.
    cluster: str
    #: The federated object.
    key: FederatedKey


class FederatedItem(NamedTuple):
    """An existing federated object."""

    #: Its kind.
    type: FederatedType
    #: The object.
    federated: StoredObject

    @property
    def key(self) -> FederatedKey:
        """Its key."""
        return FederatedKey(self.type.name, *self.federated.name)


def key_of(fleet: ClusterFleet, federated: StoredObject) -> Iterator[FederatedKey]:
    """The key of a federated object; nothing for a kind that is not configured."""
    type_ = fleet.type_of(federated)
    if type_ is not None:
        yield FederatedKey(type_.name, *federated.name)


def key_of_member(fleet: ClusterFleet, change: Change) -> Iterator[FederatedKey]:
    """The key of the federated object of a member's object."""
    type_ = fleet.types.of(change.kind.group, change.kind.kind)
    if type_ is not None:
        namespace, name = change.object.name
        yield FederatedKey(type_.name, namespace, federated_name(name, type_.name))


def is_status_only(change: Change) -> bool:
    """True if only the status of an object has changed.

    The comparison uses the stored form: decoding two versions of every changed object would cost
    more than all other work on a small change.
    """
    old, new = change.old, change.new
    if old is None or new is None or _record_facts(old) != _record_facts(new):
        return False
    before, after = old.raw, new.raw
    specs = before.get("spec", _NONE), after.get("spec", _NONE)
    if specs[0] != specs[1] and not (_reordered(*specs) and old.spec == new.spec):
        return False
    same = before.get("metadata") == after.get("metadata")
    return same or _without_version(before) == _without_version(after)


def _reordered(one: msgspec.Raw, other: msgspec.Raw) -> bool:
    """True if two JSON texts have the same bytes, so that at most the order of fields differs."""
    if len(one) != len(other):
        return False
    first, second = (np.frombuffer(each, np.uint8).sum() for each in (one, other))
    return bool(first == second)


def _record_facts(item: StoredObject) -> tuple[object, ...]:
    """Facts of an object that its stored form does not contain."""
    return item.record.uid, item.record.deleting, item.record.annotations


def _without_version(raw: Mapping[str, msgspec.Raw]) -> Fields:
    """The metadata of a stored form without its version, which a server changes with each write."""
    metadata: Fields = msgspec.json.decode(raw.get("metadata", _NONE))
    return {key: value for key, value in metadata.items() if key != "resourceVersion"}


def find(fleet: ClusterFleet, key: object) -> FederatedItem | None:
    """The federated object of a key; ``None`` if it is gone."""
    assert isinstance(key, FederatedKey)
    type_ = fleet.types.named(key.type)
    if type_ is None:
        return None
    federated = fleet.federated(type_.federated_kind, key.namespace, key.name)
    return FederatedItem(type_, federated) if federated is not None else None


def find_for_turn(fleet: ClusterFleet, key: object, controller: str) -> FederatedItem | None:
    """The federated object of a key, if it is the turn of this controller in its pipeline."""
    item = find(fleet, key)
    if item is None or item.federated.is_terminating:
        return None
    in_pipeline = any(controller in group for group in item.type.pipeline)
    return item if in_pipeline and has_turn(controller, item.federated.annotations) else None


def everything(fleet: ClusterFleet) -> Iterator[FederatedItem]:
    """Every federated object."""
    for type_ in fleet.types:
        yield from of_type(fleet, type_)


def sweep(fleet: ClusterFleet, namespace: str = "") -> Sweep:
    """The keys of all federated objects, or of those of a namespace, for many changes at once."""

    def keys() -> Iterator[FederatedKey]:
        for item in everything(fleet):
            if namespace in ("", item.federated.record.namespace):
                yield item.key

    return Sweep(f"everything in {namespace}", keys)


def of_type(fleet: ClusterFleet, type_: FederatedType) -> Iterator[FederatedItem]:
    """The federated objects of a kind."""
    for each in fleet.federated_of(type_):
        yield FederatedItem(type_, each)


def scheduler_waits(fleet: ClusterFleet) -> Iterator[FederatedKey]:
    """Keys of the federated objects that the scheduler has not finished."""
    for item in everything(fleet):
        groups = pending(item.federated.annotations)
        if groups and names.SCHEDULER in groups[0]:
            yield item.key


def waiting(fleet: ClusterFleet) -> Iterator[FederatedKey]:
    """Keys of the federated objects with replicas that run in no cluster."""
    return _indexed(fleet, index.WAITING)


def labelled(fleet: ClusterFleet, label: str, value: str) -> Iterator[FederatedKey]:
    """Keys of the federated objects with a label that names a policy."""
    return _indexed(fleet, index.label_key(label, value))


def _indexed(fleet: ClusterFleet, key: str) -> Iterator[FederatedKey]:
    for type_, federated in fleet.indexed(key):
        yield FederatedItem(type_, federated).key
