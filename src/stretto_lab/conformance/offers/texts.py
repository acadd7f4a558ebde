"""Resources in the notation of the recordings: ``cpus=1;cpus@S:eng=2;ports=31000-32000``."""

from stretto.offers.allocator.values.kinds import ReservationType, ResourceKind
from stretto.offers.allocator.values.resources import Resources, ResourceValue
from stretto.offers.allocator.values.scalars import from_milli


def text_of(resources: Resources) -> str:
    """All entries, sorted by their names."""
    amounts: dict[str, list[str]] = {}
    scalars: dict[str, int] = {}
    for kind, value in resources:
        label = _label(kind)
        if isinstance(value, int) and not kind.whole:
            scalars[label] = scalars.get(label, 0) + value
        elif isinstance(value, int):
            amounts.setdefault(label, []).extend([_number(kind.whole)] * value)
        else:
            amounts.setdefault(label, []).append(_ranges(value))
    for label, amount in scalars.items():
        amounts.setdefault(label, []).append(_number(amount))
    return ";".join(f"{label}={each}" for label in sorted(amounts) for each in amounts[label])


def _label(kind: ResourceKind) -> str:
    stack = "".join(
        f"@{'S' if each.type is ReservationType.STATIC else 'D'}:{each.role}"
        for each in kind.identity.reservations
    )
    source = kind.identity.source
    return f"{kind.name}{stack}{f'!{source.type.value}' if source is not None else ''}"


def _number(milli: int) -> str:
    return f"{from_milli(milli):.3f}".rstrip("0").rstrip(".")


def _ranges(value: ResourceValue) -> str:
    assert isinstance(value, tuple)
    return ",".join(f"{first}-{last}" for first, last in value)
