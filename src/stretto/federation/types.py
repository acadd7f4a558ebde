"""The configured kinds of a federation, from its FederatedTypeConfigs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from stretto.api.kinds.federation import CLUSTER_FEDERATED_OBJECT, FEDERATED_OBJECT
from stretto.api.types.federation.objects import FederatedTypeConfig, PathDefinition, StatusRule
from stretto.api.types.federation.policies import APIResource
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.reconcile.cache import StoredObject

_SCOPES: Final = ("Namespaced", "Cluster")
Pipeline = tuple[tuple[str, ...], ...]
"""Groups of controllers that process a federated object one after the other."""


@dataclass(frozen=True, slots=True)
class FederatedType:
    """Configuration of one federated kind."""

    #: Name of the configuration; the end of the names of federated objects.
    name: str
    #: The kind of the sources and of the members' objects.
    kind: Kind
    #: Groups of controllers that process an object before it is written to members.
    pipeline: Pipeline
    #: Paths of the fields of a workload.
    paths: PathDefinition
    #: True if the status of members is merged into the source.
    aggregates: bool
    #: Rules for the status of the source; empty for the rules of built-in kinds.
    status_rules: tuple[StatusRule, ...]
    #: Paths of the fields that are collected from members; ``None`` for no collection.
    collected: tuple[str, ...] | None
    #: True if unschedulable pods may move to other clusters.
    migrates: bool
    #: Path of the workload that an autoscaler of this kind scales; empty for other kinds.
    scale_target: str = ""

    @property
    def federated_kind(self) -> Kind:
        """The kind of its federated objects."""
        return (FEDERATED_OBJECT if self.kind.namespaced else CLUSTER_FEDERATED_OBJECT).kind


class FederatedTypes:
    """All configured kinds by name and by kind."""

    def __init__(self, types: Iterable[FederatedType] = ()) -> None:
        """Initialize with kinds; the first of several for one kind applies."""
        self._by_kind: dict[tuple[str, str], FederatedType] = {}
        for each in types:
            self._by_kind.setdefault((each.kind.group, each.kind.kind), each)
        self._by_name = {each.name: each for each in self._by_kind.values()}

    def __iter__(self) -> Iterator[FederatedType]:
        """All kinds, in the given order."""
        yield from self._by_name.values()

    def named(self, name: str) -> FederatedType | None:
        """The kind with a configuration of that name; ``None`` if there is none."""
        return self._by_name.get(name)

    def of(self, group: str, kind: str) -> FederatedType | None:
        """The kind of a group and a singular name, of any version; ``None`` if there is none."""
        return self._by_kind.get((group, kind))


def read_type(config: StoredObject) -> FederatedType:
    """The kind of a FederatedTypeConfig.

    Raises:
        InputError: a field is malformed; the message contains its path.
    """
    spec = config.read(FederatedTypeConfig).spec
    source = spec.source_type
    _check_source(config.record.name, source)
    collection, aggregation = spec.status_collection, spec.status_aggregation
    kind = Kind(
        source.group,
        source.version,
        source.kind,
        source.plural_name,
        namespaced=source.scope != "Cluster",
    )
    return FederatedType(
        name=config.record.name,
        kind=kind,
        pipeline=spec.controllers,
        paths=spec.path_definition,
        aggregates=aggregation is None or aggregation.enabled,
        status_rules=aggregation.rules if aggregation is not None else (),
        collected=collection.fields if collection is not None and collection.enabled else None,
        migrates=spec.auto_migration is not None and spec.auto_migration.enabled,
        scale_target=config.annotations.get(names.SCALE_TARGET_PATH, ""),
    )


def _check_source(name: str, source: APIResource) -> None:
    """Refuse a kind that no server can serve.

    Raises:
        InputError: a name is empty, or the scope is unknown.
    """
    where = f"FederatedTypeConfig {name}: spec.sourceType"
    values = {"version": source.version, "kind": source.kind, "pluralName": source.plural_name}
    for field, value in values.items():
        if not value:
            raise InputError(f"{where}.{field}", None, "that of the kind, as in its CRD")
    if source.scope not in ("", *_SCOPES):
        raise InputError(f"{where}.scope", source.scope, " or ".join(_SCOPES))
