"""End of namespaces: those with content get conditions, empty ones are removed."""

from typing import Any, Final

from stretto.api.wire.kinds import NAMESPACE
from stretto.reconcile.conditions import transition_time
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.local.controllers.deletion import conflicts_retried
from stretto.workloads.namespaces import NamespaceContent

Json = dict[str, Any]

_OWN: Final = "kubernetes"
"""The entry of ``spec.finalizers`` of this controller."""
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
"""Maps each condition type to reason and message while the condition is False."""


def _condition(name: str, bad: tuple[str, str] | None, old: Json | None, now: str) -> Json:
    """Return a condition with reason and message; ``bad`` is ``None`` if there is no problem."""
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


def _unmet(content: NamespaceContent) -> dict[str, tuple[str, str]]:
    """Return reason and message of each condition that is True."""
    found = {}
    if content.remaining:
        counts = (
            f"{kind.plural}.{kind.group} has {n} resource instances"
            for kind, n in content.remaining.items()
        )
        text = f"Some resources are remaining: {', '.join(sorted(counts))}"
        found["NamespaceContentRemaining"] = "SomeResourcesRemain", text
    if content.finalizers:
        counts = (f"{name} in {n} resource instances" for name, n in content.finalizers.items())
        text = "Some content in the namespace has finalizers remaining: "
        text += ", ".join(sorted(counts))
        found["NamespaceFinalizersRemaining"] = "SomeFinalizersRemain", text
    return found


class NamespaceSettlement:
    """Removes empty namespaces, and reports in the status of others why they still exist."""

    def __init__(self, state: ApiState) -> None:
        """Settle the namespaces of a server."""
        self._state = state

    def settle(self, name: str, content: NamespaceContent) -> None:
        """Remove an empty namespace that is being deleted, or report its contents.

        Raises:
            RetryError: the namespace has changed meanwhile.
        """
        found = self._state.storage.find(NAMESPACE, "", name)
        served = self._state.resources.find("", "v1", "namespaces")
        if found is None or served is None:
            return
        with conflicts_retried():
            if content.remaining:
                self._report(served, found, content)
            else:
                self._end(served, found)

    def _end(self, served: ServedResource, found: StoredItem) -> None:
        """Remove an empty namespace; if it has other finalizers, remove only our own."""
        spec, storage = found.item.get("spec") or {}, self._state.storage
        finalizers = [each for each in spec.get("finalizers") or () if each != _OWN]
        if not finalizers and not found.item["metadata"].get("finalizers"):
            storage.remove(served, found.record)
        elif finalizers != spec.get("finalizers"):
            item = {**found.item, "spec": {**spec, "finalizers": finalizers}}
            storage.replace(served, found.record, item, found.record.deleting)

    def _report(self, served: ServedResource, found: StoredItem, content: NamespaceContent) -> None:
        """Write the conditions of a namespace with content."""
        status = found.item.get("status") or {}
        old = {each["type"]: each for each in status.get("conditions") or ()}
        bad, now = _unmet(content), self._state.now
        made = [_condition(name, bad.get(name), old.get(name), now) for name in _WELL]
        if made != status.get("conditions"):
            item = {**found.item, "status": {**status, "conditions": made}}
            self._state.storage.replace(served, found.record, item, found.record.deleting)
