"""The attributes of a write for policies and webhooks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from stretto.api.wire.kinds import NAMESPACE, Kind
from stretto.web.api.authn.users import user_info
from stretto.web.api.objects.changes import shape
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_GROUP: Final = "admissionregistration.k8s.io"
_OPTIONS: Final = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}
"""Kinds of options, by verb."""


@dataclass(frozen=True)
class WriteAttributes:
    """The attributes of a write that rules match and reviewers receive."""

    #: The write.
    admission: AdmittedWrite
    #: The stored namespace of the object; ``None`` for cluster-scoped objects.
    namespace_object: Json | None

    @cached_property
    def item(self) -> Json | None:
        """The new object in the served version; ``None`` for a deletion."""
        admission = self.admission
        if admission.shown is not None:
            return admission.shown
        return None if admission.item is None else shape(admission.call, admission.item)

    @cached_property
    def old(self) -> Json | None:
        """The stored object in the served version; ``None`` for a creation."""
        admission = self.admission
        if admission.shown is not None:
            return admission.shown_old
        return None if admission.old is None else shape(admission.call, admission.old)

    @property
    def namespace(self) -> str:
        """The namespace; empty for cluster-scoped objects."""
        return self.admission.call.route.namespace

    @property
    def name(self) -> str:
        """Name of the object; empty if the name is generated."""
        found = (self.admission.item or {}).get("metadata", {}).get("name", "")
        return self.admission.call.route.name or str(found)

    @property
    def kind(self) -> Kind:
        """Kind of the reviewed object."""
        return self.admission.shown_kind or self.admission.resource.kind

    def labels_of_namespace(self) -> Mapping[str, str] | None:
        """Labels for namespace selectors; ``None`` if all selectors match."""
        if self.admission.resource.stored == NAMESPACE:
            found = self.admission.item or self.admission.old or {}
            return found.get("metadata", {}).get("labels") or {}
        if not self.admission.resource.kind.namespaced:
            return None
        return ((self.namespace_object or {}).get("metadata") or {}).get("labels") or {}

    def request(self, kind: Kind, resource: Kind) -> Json:
        """Return the request as in a review and in an expression, without its objects.

        Args:
            kind: the kind for which a rule matches.
            resource: the resource for which a rule matches.
        """
        admission, call = self.admission, self.admission.call
        sub = admission.subresource
        served = admission.resource.kind
        return {
            "kind": _kind(kind),
            "resource": _resource(resource),
            **({"subResource": sub} if sub else {}),
            "requestKind": _kind(self.kind),
            "requestResource": _resource(served),
            **({"requestSubResource": sub} if sub else {}),
            **({"name": self.name} if self.name else {}),
            **({"namespace": self.namespace} if self.namespace else {}),
            "operation": admission.operation,
            "userInfo": user_info(call.user),
            "dryRun": call.options.dry_run,
            "options": self._options(),
        }

    def _options(self) -> Json:
        call = self.admission.call
        verb = "create" if self.admission.operation == "CREATE" else call.verb
        found: Json = {"kind": _OPTIONS.get(verb, "UpdateOptions"), "apiVersion": "meta.k8s.io/v1"}
        if call.options.dry_run:
            found["dryRun"] = ["All"]
        for name in ("fieldManager", "fieldValidation"):
            if call.request.parameter(name):
                found[name] = call.request.parameter(name)
        return found


def attributes_of(state: ApiState, admission: AdmittedWrite) -> WriteAttributes | None:
    """Return the attributes of a write; ``None`` for objects that configure admission."""
    resource = admission.resource
    if resource.group == _GROUP:
        return None
    space = None
    if resource.kind.namespaced:
        space = state.storage.view(NAMESPACE, "", admission.call.route.namespace)
    return WriteAttributes(admission, space)


def _kind(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}
