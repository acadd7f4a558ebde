"""Rights of a user on objects, as in Kubernetes' access reviews."""

from typing import NamedTuple

from stretto.api.wire.kinds import Kind


class ObjectRight(NamedTuple):
    """Right to use one verb on one object, or on the objects of a kind."""

    #: Verb of RBAC.
    verb: str
    #: Kind of the object.
    kind: Kind
    #: Namespace of the object; empty for a kind without namespaces.
    namespace: str = ""
    #: Name of the object; empty for any.
    name: str = ""
    #: Subresource; empty for the object itself.
    subresource: str = ""

    @property
    def text(self) -> str:
        """The right in words: ``create pods/eviction in namespace default``."""
        resource = "/".join(filter(None, (self.kind.resource, self.subresource)))
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{where}"


class AccessVerdict(NamedTuple):
    """The answer to one access review."""

    #: True if the right is granted.
    is_allowed: bool
    #: Reason, in the words of the server; often empty.
    reason: str = ""
