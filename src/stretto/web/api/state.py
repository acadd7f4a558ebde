"""State common to all requests: the store, the resources, time, and the hooks of admission."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stretto.api.wire.generated_names import drawn_suffix
from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock, timestamp
from stretto.base.rng import Rng
from stretto.web.api.admission.rounds import Rounds
from stretto.web.api.authn.accounts import AccountTokens
from stretto.web.api.authn.users import User
from stretto.web.api.call import Call
from stretto.web.api.flows.classification import FlowClassifier
from stretto.web.api.objects.views import RecordViews
from stretto.web.api.resources import ResourceTable, ServedResource
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]


class AdmittedWrite(msgspec.Struct, frozen=True):
    """The parts of a write that admission needs."""

    #: The request.
    call: Call
    #: ``CREATE``, ``UPDATE`` or ``DELETE``.
    operation: str
    #: The new object; ``None`` for a deletion.
    item: Json | None
    #: The stored object; ``None`` for a creation.
    old: Json | None
    #: Subresource; empty for the object itself.
    subresource: str = ""
    #: The object for reviewers, if it differs, for example a Scale.
    shown: Json | None = None
    #: The stored object for reviewers, if it differs.
    shown_old: Json | None = None
    #: Its kind; ``None``: the kind of the object.
    shown_kind: Kind | None = None
    #: The rounds of mutating admission.
    rounds: Rounds = msgspec.field(default_factory=Rounds)

    @property
    def resource(self) -> ServedResource:
        """The resource."""
        return self.call.resource


Admit = Callable[["ApiState", AdmittedWrite], None]
"""Mutates or refuses a write."""


@dataclass(frozen=True)
class ApiState:
    """The common parts of a server."""

    #: Objects.
    storage: ObjectStorage
    #: Resources.
    resources: ResourceTable
    #: Flow control.
    flows: FlowClassifier
    #: Source of the times of writes.
    clock: Clock
    #: Source of names and identities.
    rng: Rng
    #: Mutating admission, in order.
    mutating: Sequence[Admit] = ()
    #: Validating admission, in order.
    validating: Sequence[Admit] = ()
    #: Runs after each stored write.
    after_write: Sequence[Admit] = ()
    #: Tokens of ServiceAccounts.
    accounts: AccountTokens = field(default_factory=AccountTokens)
    #: Returns the user of a token; ``None`` for an unknown token.
    authenticate: Callable[[str], User | None] = lambda _: None
    #: True if the server computes the rules of ClusterRoles that aggregate others.
    aggregates_roles: bool = True
    #: True if containers may be privileged.
    allows_privileged: bool = True
    #: Refusals between mutating admission and the check of the fields.
    guards: Sequence[Admit] = ()

    @property
    def views(self) -> RecordViews:
        """Objects and events that several watches send."""
        return self.storage.views

    def change(self, admission: AdmittedWrite) -> None:
        """Run mutating admission, a second time if a reviewer changes the object, and the guards.

        Raises:
            ApiError: the write is refused.
        """
        for admit in self.mutating:
            admit(self, admission)
        if admission.rounds.next_round():
            self.change(admission)
            return
        for admit in self.guards:
            admit(self, admission)

    def admit(self, admission: AdmittedWrite) -> None:
        """Run admission: first the mutating plugins, then the validating ones.

        Raises:
            ApiError: the write is refused.
        """
        self.change(admission)
        for admit in self.validating:
            admit(self, admission)

    def drawn_suffix(self) -> str:
        """Draw the suffix of a generated name."""
        return drawn_suffix(self.rng)

    @property
    def now(self) -> str:
        """Current time in RFC 3339."""
        return self.later(0)

    def later(self, seconds: float) -> str:
        """RFC 3339 time ``seconds`` from now."""
        return timestamp(int(self.clock.now() + seconds))
