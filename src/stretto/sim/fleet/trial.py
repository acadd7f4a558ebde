"""A trial: decisions of the controllers about new objects, on a copy of a host without members."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG, FEDERATION
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.federation.answers.placements import placed_object
from stretto.federation.answers.records import PlacedObject
from stretto.federation.controllers.keys import FederatedItem, everything
from stretto.federation.fleet import ClusterFleet, unready_clusters
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.manifests import checked, kind_of, put
from stretto.sim.fleet.parts import DEFAULT_PARTS, FleetParts
from stretto.stores.store import Patch

_OWN: Final = ("resourceVersion", "uid", "creationTimestamp", "managedFields", "ownerReferences")
"""Fields of the metadata that a store writes itself."""


def trial(
    fleet: ClusterFleet,
    now: float,
    bodies: Sequence[dict[str, Any]],
    parts: FleetParts = DEFAULT_PARTS,
) -> list[PlacedObject]:
    """Placements of new or changed objects.

    Args:
        fleet: the fleet; its host is copied.
        now: seconds since the epoch.
        bodies: the objects, as manifests.
        parts: parts of the copy; its webhooks are called.

    Raises:
        InputError: an object is refused; the message contains its name.
    """
    copy = _copy(fleet, now, parts)
    copy.settle()
    kinds = {each.kind for each in fleet.types}
    wanted = set()
    for body in bodies:
        kind = kind_of(body, kinds)
        metadata = body.setdefault("metadata", {})
        if kind.namespaced:
            metadata.setdefault("namespace", "default")
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        checked(kind, body)
        if copy.host.get(kind, namespace, name) is not None:
            copy.host.patch(kind, [Patch(namespace, name, _without_own(body))])
        else:
            put(copy.host, kind, body)
        if kind in kinds:
            wanted.add((kind.kind, namespace, name))
    copy.settle()
    _check_kinds(copy, bodies)
    errors = {
        key: text for (name, key), text in copy.federation.loop.errors.items() if name == "schedule"
    }
    found = {_key(item): item for item in everything(copy.federation.fleet)}
    missing = wanted - found.keys()
    if missing:
        kind_name, namespace, name = min(missing)
        raise InputError(f"{kind_name} {namespace}/{name}", None, "an object of a federated kind")
    unready = unready_clusters(fleet)
    return [
        placed_object(found[key], unready, errors.get(found[key].key, ""), has_members=False)
        for key in sorted(wanted)
    ]


def _check_kinds(copy: EmbeddedFleet, bodies: Sequence[dict[str, Any]]) -> None:
    """Refuse a new FederatedTypeConfig that does not apply in full."""
    new = {x["metadata"]["name"] for x in bodies if x["kind"] == FEDERATED_TYPE_CONFIG.kind.kind}
    for name, problem in copy.federation.fleet.kind_problems.items():
        if name in new:
            expected = "a configuration that applies"
            raise InputError(f"FederatedTypeConfig {name}", None, expected, problem)


def _copy(fleet: ClusterFleet, now: float, parts: FleetParts) -> EmbeddedFleet:
    """A host with the same objects and no members."""
    copy = EmbeddedFleet(ManualClock(now), FederationSettings(), parts)
    sources = [each.kind for each in fleet.types]
    for kind in dict.fromkeys([*(entry.kind for entry in FEDERATION), *sources]):
        for each in fleet.host.follow_synced(kind):
            body = _without_own(each.fields)
            copy.host.create(kind, [msgspec.json.encode(body)])
            if each.status:
                change = Patch(*each.name, {"status": each.status})
                copy.host.patch_status(kind, [change])
    return copy


def _without_own(fields: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: x for key, x in (fields.get("metadata") or {}).items() if key not in _OWN}
    return {**{k: x for k, x in fields.items() if k != "status"}, "metadata": metadata}


def _key(item: FederatedItem) -> tuple[str, str, str]:
    metadata = item.federated.spec["template"]["metadata"]
    return item.type.kind.kind, item.federated.record.namespace, metadata["name"]
