"""Validation of whole objects by their kind."""

from stretto.api.checks import rules
from stretto.api.codec import kind_of_struct
from stretto.api.kinds.table import entry_of
from stretto.api.wire.meta import ObjectMeta, Wire


def validate(item: Wire) -> None:
    """Refuse a whole object with values that are out of range or contradict each other.

    If a kind has no validation function, only the metadata of its objects is checked.

    Raises:
        InputError: the path of the first such value, what is expected, and a remedy.
    """
    metadata: ObjectMeta = item.metadata  # type: ignore[attr-defined]  # every whole object has it
    kind = kind_of_struct(item)
    name = "/".join(part for part in (metadata.namespace, metadata.name) if part)
    where = f"{kind.kind.lower()} {name}: " if name else f"{kind.kind.lower()}: "
    check = entry_of(kind).check
    if check is None:
        rules.metadata(metadata, where, namespaced=kind.namespaced)
    else:
        check(item, where)
