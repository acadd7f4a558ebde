"""Data for the audit events and the headers of a request, recorded during the request."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.web.api.authn.users import User

_DECISION: Final = "authorization.k8s.io/decision"
_REASON: Final = "authorization.k8s.io/reason"


class RequestNotes(msgspec.Struct):
    """Annotations of one attempt to answer a request, and further facts about it."""

    #: Annotations of events of every level.
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    #: Annotations of events that contain the object of the request.
    details: dict[str, str] = msgspec.field(default_factory=dict)
    #: The impersonated user; empty without impersonation.
    impersonated: list[User] = msgspec.field(default_factory=list)
    #: Headers with the flow schema and the priority level of the request; empty without.
    flow: dict[str, str] = msgspec.field(default_factory=dict)
    #: Reason of an internal failure of the server; empty if it has not failed.
    failures: list[str] = msgspec.field(default_factory=list)

    def clear(self) -> None:
        """Discard everything for another attempt."""
        self.annotations.clear()
        self.details.clear()
        self.flow.clear()
        self.impersonated.clear()
        self.failures.clear()

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation; an existing annotation of the key stays."""
        self.annotations.setdefault(key, value)

    def annotate_object(self, key: str, value: str) -> None:
        """Add an annotation about the object of the request; an existing one of the key stays."""
        self.details.setdefault(key, value)

    def authorize(self, reason: str, *, allowed: bool) -> None:
        """Record the authorization decision."""
        self.annotate(_DECISION, "allow" if allowed else "forbid")
        self.annotate(_REASON, reason)

    def impersonate(self, user: User) -> None:
        """Record the impersonated user."""
        self.impersonated[:] = [user]

    def classify(self, headers: Mapping[str, str]) -> None:
        """Record the flow schema and the priority level."""
        self.flow.update(headers)

    def fail(self, problem: str) -> None:
        """Record an internal failure of the server."""
        self.failures[:] = [problem]
