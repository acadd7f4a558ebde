"""Cures of obstacles of a whole unit: its PodGroup, its members or a limit of its queue."""

from stretto.base.nearest import nearest
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.words.amounts import bare_amount
from stretto.explain.words.standing import BlockingLimit, UnitFacts


def cures_of_unit(unit: UnitFacts, groups: tuple[str, ...]) -> tuple[Remedy, ...]:
    """Remedies that concern the pod's unit, independent of any node.

    Args:
        unit: the unit of the pod.
        groups: existing PodGroups, as ``namespace/name``.
    """
    if unit.min_member is None:
        return () if unit.failure else (_named_group(unit, groups),)
    hint = "a timed-out group is not retried; raise scheduleTimeoutSeconds to extend the time-out"
    again = (Remedy(CureKind.GROUP, f"Recreate its PodGroup ({hint})."),) if unit.failure else ()
    if again or unit.limits:
        return (*again, *(_raised(each) for each in unit.limits))
    if unit.quota:
        return (Remedy(CureKind.EVENT, "Retried when the queue starts units again."),)
    return ()


def _raised(limit: BlockingLimit) -> Remedy:
    """Cure: the smallest higher limit of a queue that suffices."""
    what, value = "running units", f"{limit.enough}"
    if limit.resource:
        what, value = limit.resource, bare_amount(limit.resource, limit.enough)
    sentence = f"Raising the limit of queue {limit.queue} to {value} {what} would let it start"
    other = ": it requests more than the limit" if limit.is_too_low else ""
    sentence += f"{other or '; so would pods of the queue that finish'}."
    return Remedy(
        CureKind.LIMIT, sentence, resource=limit.resource, amount=limit.enough, queue=limit.queue
    )


def _named_group(unit: UnitFacts, groups: tuple[str, ...]) -> Remedy:
    name = unit.key.partition("/")[2]
    space = name.partition("/")[0]
    found = nearest(name, [each for each in groups if each.startswith(f"{space}/")])
    instead = f"name an existing one: {' or '.join(found)}" if found else "name an existing one"
    return Remedy(CureKind.GROUP, f"Create the PodGroup {name}, or {instead}.")
