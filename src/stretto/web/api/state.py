"""State that all requests share: the store, the resources, time, and the hooks of admission."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from stretto.api.checks.fields.errors import Errors
from stretto.api.wire.generated_names import drawn_suffix
from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock, timestamp
from stretto.base.rng import Rng
from stretto.web.api.admission.rounds import Rounds
from stretto.web.api.authn.accounts import AccountTokens
from stretto.web.api.authn.users import User
from stretto.web.api.call import Call
from stretto.web.api.objects.views import RecordViews
from stretto.web.api.resources import ResourceTable, ServedResource
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]


@dataclass(frozen=True)
class AdmittedWrite:
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
    #: The object for reviewers, if it is another one, for example a Scale.
    shown: Json | None = None
    #: The stored object for reviewers, if it is another one.
    shown_old: Json | None = None
    #: Its kind; ``None``: the kind of the object.
    shown_kind: Kind | None = None
    #: The rounds of the admission that changes it.
    rounds: Rounds = field(default_factory=Rounds, compare=False)

    @property
    def resource(self) -> ServedResource:
        """The resource."""
        return self.call.resource


Admit = Callable[["ApiState", AdmittedWrite], None]
"""Changes or refuses a write."""
Check = Callable[[ServedResource, Json, Json | None], Errors]
"""The refused fields of a new or changed object."""


@dataclass(frozen=True)
class ApiState:
    """The shared parts of a server."""

    #: Objects.
    storage: ObjectStorage
    #: Resources.
    resources: ResourceTable
    #: Times of writes.
    clock: Clock
    #: Names and identities.
    rng: Rng
    #: Admission that changes objects, in order.
    mutating: Sequence[Admit] = ()
    #: Admission that only refuses, in order.
    validating: Sequence[Admit] = ()
    #: Runs after each stored write.
    after_write: Sequence[Admit] = ()
    #: Tokens of ServiceAccounts.
    accounts: AccountTokens = field(default_factory=AccountTokens)
    #: The user of a token; ``None`` for an unknown one.
    authenticate: Callable[[str], User | None] = lambda _: None
    #: True if the server computes the rules of ClusterRoles that aggregate others.
    aggregates_roles: bool = True
    #: True if containers may be privileged.
    allows_privileged: bool = True

    @property
    def views(self) -> RecordViews:
        """Objects and events that several watches yield."""
        return self.storage.views

    def change(self, admission: AdmittedWrite) -> None:
        """Run admission, which may change or refuse a write; twice if a reviewer changes it.

        Raises:
            ApiError: it is refused.
        """
        for admit in self.mutating:
            admit(self, admission)
        if admission.rounds.next_round():
            self.change(admission)

    def admit(self, admission: AdmittedWrite) -> None:
        """Run admission, first the plugins that may change a write, then those that only refuse it.

        Raises:
            ApiError: it is refused.
        """
        self.change(admission)
        for admit in self.validating:
            admit(self, admission)

    def drawn_suffix(self) -> str:
        """The end of a name that the server generates."""
        return drawn_suffix(self.rng)

    @property
    def now(self) -> str:
        """RFC 3339 time."""
        return self.later(0)

    def later(self, seconds: float) -> str:
        """RFC 3339 time some seconds from now."""
        return _second(int(self.clock.now() + seconds))


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """A time of RFC 3339; the writes of one second share it."""
    return timestamp(seconds)
