"""Ends of namespaces that are being deleted: their content goes first, the pods before the rest."""

from collections import Counter
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.wire.kinds import NAMESPACE, POD
from stretto.reconcile.cache import Change, StoredObject
from stretto.reconcile.conditions import transition_time
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import IN_BACKGROUND, ApiClient
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

_OWN: Final = "kubernetes"
"""The entry of ``spec.finalizers`` that stands for this controller."""
_AGAIN_S: Final = 0.1
"""Seconds before a namespace with content is looked at again."""
_WELL: Final = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""Type of each condition to reason and message where it is False."""


def _condition(name: str, bad: tuple[str, str] | None, old: Json | None, now: str) -> Json:
    """A condition with reason and message; ``bad`` is ``None`` where all is well."""
    reason, message = bad or _WELL[name]
    status = "True" if bad else "False"
    since = transition_time(old, status, now)
    return {
        "type": name,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


@dataclass
class _Content:
    """What is left in a namespace."""

    #: Objects by resource, as ``pods.``.
    remaining: Counter[str] = field(default_factory=Counter)
    #: Objects by finalizer.
    finalizers: Counter[str] = field(default_factory=Counter)

    def note(self, resource: ServedResource, item: StoredObject) -> None:
        """Count an object that is left."""
        self.remaining[f"{resource.resource}.{resource.group}"] += 1
        self.finalizers.update(item.metadata.get("finalizers") or ())

    def conditions(self) -> dict[str, tuple[str, str]]:
        """Reason and message of each condition that is True."""
        found = {}
        if self.remaining:
            counts = (f"{name} has {n} resource instances" for name, n in self.remaining.items())
            text = f"Some resources are remaining: {', '.join(sorted(counts))}"
            found["NamespaceContentRemaining"] = "SomeResourcesRemain", text
        if self.finalizers:
            counts = (f"{name} in {n} resource instances" for name, n in self.finalizers.items())
            text = "Some content in the namespace has finalizers remaining: "
            text += ", ".join(sorted(counts))
            found["NamespaceFinalizersRemaining"] = "SomeFinalizersRemain", text
        return found


class NamespaceEndController:
    """Removes the content of namespaces that are being deleted, and then the namespaces."""

    def __init__(self, name: str, state: ApiState, client: ApiClient) -> None:
        """For the namespaces of a server.

        Args:
            name: name of the cluster.
            state: the server.
            client: deletes objects.
        """
        #: Name in logs and messages.
        self.name = f"{name}/namespace-end"
        self._state = state
        self._client = client

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The namespace."""
        if change.kind == NAMESPACE and change.new is not None and change.new.is_terminating:
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Delete what a namespace contains; the next attempt follows until nothing is left."""
        found = self._state.storage.find(NAMESPACE, "", str(key))
        served = self._state.resources.find("", "v1", "namespaces")
        if found is None or served is None or not found.record.deleting:
            return None
        content = self._delete_content(found.record.name)
        with suppress(ApiError):  # it has changed meanwhile
            if not content.remaining:
                self._end(served, found)
                return None
            self._report(served, found, content)
        return _AGAIN_S

    def _end(self, served: ServedResource, found: StoredItem) -> None:
        """Remove an empty namespace, or our own finalizer where others hold it."""
        spec, storage = found.item.get("spec") or {}, self._state.storage
        finalizers = [each for each in spec.get("finalizers") or () if each != _OWN]
        if not finalizers and not found.item["metadata"].get("finalizers"):
            storage.remove(served, found.record)
        elif finalizers != spec.get("finalizers"):
            item = {**found.item, "spec": {**spec, "finalizers": finalizers}}
            storage.replace(served, found.record, item, found.record.deleting)

    def _delete_content(self, namespace: str) -> _Content:
        """Delete pods, and everything else once no pod is left (KEP 5080)."""
        content = _Content()
        resources = {each.stored: each for each in self._deletable()}
        pods = resources.pop(POD, None)
        if pods is not None:
            self._empty(pods, namespace, content)
        if not content.remaining:
            for resource in resources.values():
                self._empty(resource, namespace, content)
        return content

    def _deletable(self) -> Iterable[ServedResource]:
        for each in self._state.resources.all():
            if each.kind.namespaced and each.computed is None and "delete" in each.facts.verbs:
                yield each

    def _empty(self, resource: ServedResource, namespace: str, content: _Content) -> None:
        """Delete the objects of a kind, and note which remain."""
        kind = resource.stored
        records = self._state.storage.listing(kind, namespace).records
        if not records:
            return
        for record in records:
            if not record.deleting:
                with suppress(ApiError):
                    self._client.delete(kind, namespace, record.name, IN_BACKGROUND)
        for record in self._state.storage.listing(kind, namespace).records:
            content.note(resource, StoredObject(record))

    def _report(self, served: ServedResource, found: StoredItem, content: _Content) -> None:
        """Write the conditions of a namespace with content."""
        status = found.item.get("status") or {}
        old = {each["type"]: each for each in status.get("conditions") or ()}
        bad, now = content.conditions(), self._state.now
        made = [_condition(name, bad.get(name), old.get(name), now) for name in _WELL]
        if made != status.get("conditions"):
            item = {**found.item, "status": {**status, "conditions": made}}
            self._state.storage.replace(served, found.record, item, found.record.deleting)
