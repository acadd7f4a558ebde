"""Interface between the pages and the cluster that their actions change."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from stretto.api.wire.kinds import Kind
from stretto.stores.rights import ObjectRight


class Action(StrEnum):
    """The allowed actions of the dashboard on one object."""

    CORDON = "cordon"
    UNCORDON = "uncordon"
    EVICT = "evict"


class SubmittedObject(NamedTuple):
    """One pasted object."""

    #: Kind, namespace and name, for display.
    title: str
    #: Reason of the refusal; empty if the object is or would be created.
    refusal: str = ""
    #: Reason why a dry run of the object was not possible; empty if there was one.
    untried: str = ""


class ActingUser(Protocol):
    """The user of the actions, at one cluster."""

    @property
    def name(self) -> str:
        """Name of the user, for display."""
        ...

    @property
    def namespace(self) -> str:
        """Namespace of objects without a namespace."""
        ...

    def refusal(self, right: ObjectRight) -> str:
        """Return why the cluster does not grant a right; empty if it does."""
        ...

    def trial(self, kind: Kind, body: bytes) -> str:
        """Return why the cluster refuses an object in a dry run of its creation; empty if not."""
        ...

    def served_kind(self, stated: Kind) -> Kind:
        """Return the cluster's kind of an object's ``apiVersion`` and ``kind``.

        Raises:
            StrettoError: the cluster does not serve it.
        """
        ...


class Actions(Protocol):
    """Changes that the dashboard may make."""

    @property
    def actor(self) -> str:
        """The user whose rights the changes have."""
        ...

    def refusal(self, action: Action, subject: str) -> str:
        """Return why the user may not act on a node or pod ``namespace/name``; empty if it may."""
        ...

    def act(self, action: Action, subject: str) -> None:
        """Cordon or uncordon a node, or evict a pod within its disruption budgets.

        Raises:
            StrettoError: the object does not exist, or the cluster refused the action.
        """
        ...

    def check(self, text: str) -> Sequence[SubmittedObject]:
        """Return the objects of pasted YAML, each with its refusal in a dry run of its creation.

        Raises:
            InputError: the text is malformed.
        """
        ...

    def submit(self, text: str) -> Sequence[SubmittedObject]:
        """Create the objects of pasted YAML in order; a refused object does not stop the others.

        Raises:
            InputError: the text is malformed.
        """
        ...
