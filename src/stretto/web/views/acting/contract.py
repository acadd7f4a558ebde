"""The interface between pages and the cluster that their actions change."""

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
    #: Why it is not created, or would not be; empty for an object that is.
    refusal: str = ""


class ActingUser(Protocol):
    """The user of the actions, at one cluster."""

    @property
    def name(self) -> str:
        """Its name, for display."""
        ...

    @property
    def namespace(self) -> str:
        """Namespace of objects that name none."""
        ...

    def refusal(self, right: ObjectRight) -> str:
        """Why the cluster does not grant a right; empty if it does."""
        ...

    def served_kind(self, stated: Kind) -> Kind:
        """The kind of the cluster that an object states by ``apiVersion`` and ``kind``.

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
        """Why the user may not act on a node, or on a pod ``namespace/name``; empty if it may."""
        ...

    def act(self, action: Action, subject: str) -> None:
        """Close or open a node for new pods, or evict a pod within its disruption budgets.

        Raises:
            StrettoError: there is no such object, or the cluster refused the action.
        """
        ...

    def check(self, text: str) -> Sequence[SubmittedObject]:
        """The objects of pasted YAML, with the rights that are missing to create them.

        Raises:
            InputError: the text is malformed.
        """
        ...

    def submit(self, text: str) -> Sequence[SubmittedObject]:
        """Create the objects of pasted YAML in their order; one that is refused stops none.

        Raises:
            InputError: the text is malformed.
        """
        ...
