"""A table of kinds to which entries are added at run time."""

from collections.abc import Callable, Iterable

from stretto.api.kinds.entry import KindEntry, ManifestUse
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire
from stretto.base.errors import InputError, UnknownNameError


class KindTable:
    """Table of entries by kind, by ``apiVersion`` and kind, by name and by struct."""

    def __init__(self, entries: Iterable[KindEntry] = ()) -> None:
        """Create a table of entries; the first entry with a name owns the name."""
        self._entries: dict[Kind, KindEntry] = {}
        self._by_type: dict[tuple[str, str], Kind] = {}
        self._by_struct: dict[type[Wire], Kind] = {}
        self._by_name: dict[str, Kind] = {}
        self._by_word: dict[str, Kind] = {}
        for entry in entries:
            self._add(entry)
        self._index()

    # ---------------------------------------------------------------- changes

    def register(self, entry: KindEntry) -> Kind:
        """Add a kind, or replace the entry of the same kind.

        Raises:
            InputError: another kind has the same ``apiVersion`` and kind, or the same word.
        """
        self._add(entry)
        self._index()
        return entry.kind

    def unregister(self, kind: Kind) -> None:
        """Remove a kind; an unregistered kind is ignored."""
        self._entries = {each: entry for each, entry in self._entries.items() if each != kind}
        self._index()

    def _add(self, entry: KindEntry) -> None:
        """Add or replace an entry; the caller must call ``_index`` afterwards."""
        kind = entry.kind
        same_type = self._by_type.get((kind.api_version, kind.kind), kind)
        if same_type != kind:
            where = f"kind {kind.api_version} {kind.kind}"
            hint = "unregister the kind first"
            raise InputError(where, kind.plural, f"the kind as registered: {same_type}", hint)
        owner = self._by_word.get(entry.word, kind)
        if (owner.group, owner.kind) != (kind.group, kind.kind):
            expected = f"another name: {owner.api_version} has this one"
            hint = "register the kind with qualified=True"
            raise InputError(f"kind {kind.api_version} {kind.kind}", entry.word, expected, hint)
        self._entries = {**self._entries, kind: entry}
        self._by_type[kind.api_version, kind.kind] = kind
        self._by_word.setdefault(entry.word, kind)

    def _index(self) -> None:
        """Build the maps from the entries; other threads read the old maps until then."""
        ordered = sorted(self._entries.values(), key=lambda entry: entry.qualified)
        by_struct: dict[type[Wire], Kind] = {}
        by_name: dict[str, Kind] = {}
        by_word: dict[str, Kind] = {}
        for entry in ordered:
            kind = entry.kind
            if entry.struct is not None:
                by_struct[entry.struct] = kind
            by_word.setdefault(entry.word, kind)
            for name in (kind.kind.lower(), kind.plural, entry.singular, kind.resource):
                by_name.setdefault(name, kind)
            by_name.setdefault(f"{kind.plural}.{kind.version}.{kind.group}", kind)
        for entry in ordered:
            for name in entry.short_names:
                by_name.setdefault(name, entry.kind)
        self._by_type = {(kind.api_version, kind.kind): kind for kind in self._entries}
        self._by_struct, self._by_name, self._by_word = by_struct, by_name, by_word

    # ---------------------------------------------------------------- look-ups

    def kinds(self) -> tuple[Kind, ...]:
        """All kinds, in the order in which they were registered."""
        return tuple(self._entries)

    def entries(self) -> tuple[KindEntry, ...]:
        """All entries, in the order in which they were registered."""
        return tuple(self._entries.values())

    def where(self, test: Callable[[KindEntry], bool]) -> tuple[Kind, ...]:
        """The kinds whose entry passes a test, by ``rank``: required kinds come first."""
        found = [entry for entry in self._entries.values() if test(entry)]
        return tuple(entry.kind for entry in sorted(found, key=lambda entry: entry.rank))

    def entry(self, kind: Kind) -> KindEntry:
        """Return the entry of a kind; an unregistered kind gets an entry without facts."""
        found = self._entries.get(kind)
        return found or KindEntry(kind=kind, qualified=True, subresources=("status",))

    def __contains__(self, kind: Kind) -> bool:
        """Return whether a kind is registered."""
        return kind in self._entries

    def struct(self, kind: Kind) -> type[Wire] | None:
        """The struct that decodes a kind, or ``None`` for raw objects."""
        entry = self._entries.get(kind)
        return None if entry is None else entry.struct

    def of_struct(self, struct: type[Wire]) -> Kind | None:
        """The kind that a struct decodes, or ``None``."""
        return self._by_struct.get(struct)

    def of(self, api_version: str, kind: str, *, lenient: bool = False) -> Kind:
        """Return the kind of a manifest.

        Args:
            api_version: its ``apiVersion``.
            kind: its ``kind``.
            lenient: return a generic kind for an unknown pair instead of an error.

        Raises:
            UnknownNameError: no such kind is registered; the message suggests the nearest.
        """
        found = self._by_type.get((api_version, kind))
        if found is not None:
            return found
        if lenient and kind:
            return generic_kind(api_version, kind)
        raise self.unknown(api_version, kind)

    def unknown(self, api_version: str, kind: str) -> UnknownNameError:
        """The error of a kind that is unknown, or that manifests must not contain."""
        known = [
            f"{entry.kind.api_version} {entry.kind.kind}"
            for entry in self._entries.values()
            if entry.manifests is ManifestUse.TAKEN
        ]
        return UnknownNameError("kind", f"{api_version} {kind}".strip(), known)

    def named(self, name: str) -> Kind:
        """Return the kind of a user's name: ``pod``, ``Pods``, ``po`` or ``podgroups.<group>``.

        Raises:
            UnknownNameError: no kind has the name.
        """
        found = self._by_name.get(name.lower())
        if found is None:
            raise UnknownNameError("kind", name, sorted({kind.plural for kind in self._entries}))
        return found

    def with_word(self, word: str) -> Kind | None:
        """Return the kind with this ``word``, or ``None``."""
        return self._by_word.get(word)


def generic_kind(api_version: str, kind: str) -> Kind:
    """A kind of which only apiVersion and kind are known: namespaced, with a guessed plural."""
    group, _, version = api_version.rpartition("/")
    return Kind(group, version, kind, guessed_plural(kind))


def guessed_plural(kind: str) -> str:
    """Guess the plural of a kind: ``policies``, ``ingresses``, ``pods``."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word if word.endswith("endpoints") else f"{word}es"
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{word[:-1]}ies"
    return f"{word}s"
