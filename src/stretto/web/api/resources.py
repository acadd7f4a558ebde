"""The resources that a server serves: those of Kubernetes and those of CRDs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final, Protocol

from stretto.api.schema.kubernetes import (
    ResourceFacts,
    SubresourceFacts,
    kubernetes_resources,
    struct_of_kind,
)
from stretto.api.schema.types import StructType
from stretto.api.wire.kinds import Kind
from stretto.web.api.components import ComponentStatuses
from stretto.web.api.webhooks.reviews import ReviewMemory

WRITES: Final = ("create", "update", "patch")
"""Verbs that require a body."""
_STORED_AS: Final = {
    ("events.k8s.io", "v1", "events"): ("", "v1", "Event"),
    ("autoscaling", "v1", "horizontalpodautoscalers"): (
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
    ),
}
"""Resources that share the objects of another version."""


class ComputedObjects(Protocol):
    """The objects of a resource that are not stored but computed for each request."""

    def get(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return an object without kind and version; ``None`` if it does not exist."""
        ...

    def list(self, namespace: str) -> Sequence[Mapping[str, Any]]:
        """Return the objects of a namespace by name; an empty namespace means all."""
        ...


class VersionConversion(Protocol):
    """Converter of objects between versions."""

    def convert(
        self, items: Sequence[dict[str, Any]], api_version: str, memory: ReviewMemory
    ) -> list[dict[str, Any]]:
        """Return objects in another version, in the same order.

        Raises:
            PendingReviewsError: a webhook has not answered yet.
            ApiError: the conversion fails.
        """
        ...


@dataclass(frozen=True, eq=False)
class ServedResource:
    """One resource in one version."""

    #: Kind as served.
    kind: Kind
    #: Kind under which the store keeps its objects.
    stored: Kind
    #: Its entry in discovery.
    facts: ResourceFacts
    #: Struct of its objects.
    struct: StructType
    #: Definition of a custom resource; ``None`` for a kind of Kubernetes.
    definition: Any = None
    #: Further facts of a custom resource's version.
    version: Mapping[str, Any] = field(default_factory=dict)
    #: Converts its objects; ``None``: versions differ only in their schemas.
    conversion: VersionConversion | None = None
    #: Computes its objects; ``None`` if the store contains them.
    computed: ComputedObjects | None = None

    @property
    def group(self) -> str:
        """API group."""
        return self.kind.group

    @property
    def resource(self) -> str:
        """Name in paths."""
        return self.kind.plural

    @property
    def has_status(self) -> bool:
        """Return whether the status is a subresource."""
        return "status" in self.facts.subresources

    @cached_property
    def key(self) -> tuple[str, str]:
        """Group and kind, the key in tables of rules."""
        return self.kind.group, self.kind.kind

    @property
    def generation(self) -> int:
        """Generation of its definition; 0 for a kind of Kubernetes."""
        definition = self.definition or {}
        return int((definition.get("metadata") or {}).get("generation") or 0)

    def subresource(self, name: str) -> SubresourceFacts | None:
        """Return a subresource; ``None`` if it is not served."""
        return self.facts.subresources.get(name)


class ResourceTable:
    """Served resources by group, version and plural."""

    def __init__(self, resources: Iterable[ServedResource]) -> None:
        """Create a table of resources; definitions add others."""
        self._built_in = {_key(each): each for each in resources}
        self._custom: dict[tuple[str, str, str], ServedResource] = {}
        self._derived: dict[str, object] = {}

    def find(self, group: str, version: str, resource: str) -> ServedResource | None:
        """A resource, or ``None``."""
        key = group, version, resource
        return self._built_in.get(key) or self._custom.get(key)

    def of_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        """The resource of a kind, or ``None``."""
        wanted = group, version, kind
        return next(
            (
                each
                for each in self.all()
                if (each.kind.group, each.kind.version, each.kind.kind) == wanted
            ),
            None,
        )

    def all(self) -> list[ServedResource]:
        """Every resource, in the order of discovery."""
        return [*self._built_in.values(), *self._custom.values()]

    def custom(self) -> list[ServedResource]:
        """The resources of definitions."""
        return list(self._custom.values())

    def built_in(self) -> list[ServedResource]:
        """The resources of Kubernetes."""
        return list(self._built_in.values())

    def add_computed(self, resources: Iterable[ServedResource]) -> None:
        """Serve further resources with computed objects."""
        self._built_in |= {_key(each): each for each in resources}
        self._derived.clear()

    def replace_custom(self, resources: Iterable[ServedResource]) -> None:
        """Replace the resources of definitions."""
        self._custom = {_key(each): each for each in resources}
        self._derived.clear()

    def derived(self, key: str, make: Callable[[], object]) -> object:
        """Return the result of a function of the resources, called once until they change."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]


def go_package(kind: Kind) -> str:
    """Return the Go package of a kind's internal type in kube-apiserver, for messages."""
    return "core" if kind.group in ("", "events.k8s.io") else kind.group.partition(".")[0]


def go_type(resource: ServedResource, suffix: str = "") -> str:
    """Return the Go type of a resource's objects in kube-apiserver, for messages.

    Args:
        resource: the resource.
        suffix: ``List`` for the type of a list.
    """
    if resource.definition is not None:
        return f"unstructured.Unstructured{suffix}"
    return f"{go_package(resource.kind)}.{resource.kind.kind}{suffix}"


def _key(resource: ServedResource) -> tuple[str, str, str]:
    return resource.kind.group, resource.kind.version, resource.kind.plural


_COMPUTED: Final[Mapping[tuple[str, str], ComputedObjects]] = {
    ("", "componentstatuses"): ComponentStatuses(),
}
"""Resources of Kubernetes that are not stored."""


def kubernetes_table() -> ResourceTable:
    """The resources of Kubernetes 1.36."""
    return ResourceTable(_kubernetes())


@cache
def _kubernetes() -> Sequence[ServedResource]:
    found = []
    for each in kubernetes_resources():
        struct = struct_of_kind(each.group, each.version, each.kind)
        if struct is None:
            continue
        kind = _kind(each.group, each.version, each.kind, each.resource, each.facts.namespaced)
        stored = kind
        shared = _STORED_AS.get((each.group, each.version, each.resource))
        if shared is not None:
            stored = _kind(*shared, each.resource, each.facts.namespaced)
        computed = _COMPUTED.get((each.group, each.resource))
        found.append(ServedResource(kind, stored, each.facts, struct, computed=computed))
    return found


def _kind(group: str, version: str, kind: str, plural: str, namespaced: bool) -> Kind:
    return Kind(group, version, kind, plural, namespaced=namespaced)
