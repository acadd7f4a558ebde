"""Validation of whole objects by their kind."""

from stretto.api.checks import rules
from stretto.api.codec import kind_of_struct
from stretto.api.kinds.table import entry_of
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import ObjectMeta, Wire


def validate(item: Wire) -> None:
    """Refuse a whole object with values that are out of range or contradict each other.

    If a kind has no validation function, only the metadata of its objects is checked.

    Raises:
        InputError: the path of the first such value, what is expected, and a remedy.
    """
    kind = kind_of_struct(item)
    check = entry_of(kind).check
    if check is None:
        validate_metadata(item)
    else:
        check(item, _place(kind, _metadata_of(item)))


def validate_metadata(item: Wire) -> None:
    """Refuse metadata with values that are out of range or contradict each other.

    Raises:
        InputError: as ``validate``.
    """
    kind, metadata = kind_of_struct(item), _metadata_of(item)
    rules.metadata(metadata, _place(kind, metadata), namespaced=kind.namespaced)


def _metadata_of(item: Wire) -> ObjectMeta:
    metadata: ObjectMeta = item.metadata  # type: ignore[attr-defined]  # every whole object has it
    return metadata


def _place(kind: Kind, metadata: ObjectMeta) -> str:
    """The beginning of messages about an object."""
    name = "/".join(part for part in (metadata.namespace, metadata.name) if part)
    return f"{kind.kind.lower()} {name}: " if name else f"{kind.kind.lower()}: "
