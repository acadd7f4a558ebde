"""The table of all known kinds, with the selections for other layers."""

from typing import Any, Final

from stretto.api.kinds.crds import entry_of_crd
from stretto.api.kinds.entry import KindEntry
from stretto.api.kinds.federation import FEDERATION
from stretto.api.kinds.kubernetes import KUBERNETES
from stretto.api.kinds.ours import OURS
from stretto.api.kinds.raw import RAW
from stretto.api.kinds.registry import KindTable
from stretto.api.wire.kinds import Kind

TABLE: Final = KindTable((*KUBERNETES, *OURS, *FEDERATION, *RAW))
"""The table of this process."""


def register(entry: KindEntry) -> Kind:
    """Add a kind at run time, or replace its entry.

    Raises:
        InputError: another kind has the same name.
    """
    return TABLE.register(entry)


def register_crd(definition: Any, *, recorded: bool = False) -> Kind:
    """Add the kind of a CustomResourceDefinition, given as decoded JSON or YAML.

    An existing entry of Stretto for the kind stays, because it contains more facts than the CRD.

    Raises:
        InputError: the CRD lacks a name or a storage version, or another kind has the same name.
    """
    entry = entry_of_crd(definition, recorded=recorded)
    known = TABLE.of(entry.kind.api_version, entry.kind.kind, lenient=True)
    if TABLE.struct(known) is not None:
        return known
    return TABLE.register(entry)


def unregister(kind: Kind) -> None:
    """Remove a kind that was added at run time."""
    TABLE.unregister(kind)


def all_kinds() -> tuple[Kind, ...]:
    """Every registered kind; those of Kubernetes that Stretto reads come first."""
    return TABLE.kinds()


def typed_kinds() -> tuple[Kind, ...]:
    """The kinds that a struct decodes."""
    return tuple(entry.kind for entry in TABLE.entries() if entry.struct is not None)


def custom_kinds() -> tuple[Kind, ...]:
    """The kinds whose CRDs Stretto ships in ``deploy/crds``."""
    return tuple(entry.kind for entry in OURS)


def federation_kinds() -> tuple[Kind, ...]:
    """The kinds of a federation's host, whose CRDs Stretto ships too."""
    return tuple(entry.kind for entry in FEDERATION)


def entry_of(kind: Kind) -> KindEntry:
    """Return all facts about a kind; an unregistered kind gets an entry without facts."""
    return TABLE.entry(kind)


def kind_of(api_version: str, kind: str, *, lenient: bool = False) -> Kind:
    """Return the kind of ``apiVersion`` and ``kind``; ``lenient`` guesses an unknown one.

    Raises:
        UnknownNameError: no such kind is registered, and ``lenient`` is not set.
    """
    return TABLE.of(api_version, kind, lenient=lenient)


def kind_named(name: str) -> Kind:
    """Return the kind of a user's name: ``pod``, ``Pods``, ``po`` or ``podgroups.<group>``.

    Raises:
        UnknownNameError: no kind has the name.
    """
    return TABLE.named(name)


def word_of(kind: Kind) -> str:
    """The unique name of a kind in files: ``Pod``, ``PodGroup.scheduling.k8s.io``."""
    return TABLE.entry(kind).word


def kind_with_word(word: str) -> Kind | None:
    """Return the kind with this word in files, or ``None``."""
    return TABLE.with_word(word)


def watched_kinds() -> tuple[Kind, ...]:
    """The kinds that the pump always watches, in the order in which it reads them."""
    return TABLE.where(lambda entry: entry.watched)


def recorded_kinds() -> tuple[Kind, ...]:
    """The kinds in recordings; required kinds come first."""
    return TABLE.where(lambda entry: entry.recorded)


def examined_kinds() -> tuple[Kind, ...]:
    """The kinds that plan and explain list in a live cluster, pods first and nodes last."""
    return TABLE.where(lambda entry: entry.examined or entry.admits)[::-1]


def scheduled_kinds() -> tuple[Kind, ...]:
    """The kinds that affect the placement of pods, pods first and nodes last."""
    return TABLE.where(lambda entry: entry.examined)[::-1]
