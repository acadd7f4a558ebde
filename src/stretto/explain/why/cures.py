"""Changes that would place a pending pod: cures of its unit, of its gang or of the nodes.

A cure is enough by itself. If a pod has several obstacles, one cure of each is reported, and all of
these cures are marked as needed together.
"""

from collections.abc import Iterator
from functools import reduce
from operator import or_

from stretto.api.types.heads import GROUP_NOTE
from stretto.explain.why.gangs import GangFacts, gang_of
from stretto.explain.why.question import PodQuestion
from stretto.explain.why.remedies.gates import awaited, gated_members, waiting_member
from stretto.explain.why.remedies.nodes import cures_for
from stretto.explain.why.remedies.remedy import CureKind, Remedy, together
from stretto.explain.why.remedies.units import cures_of_unit
from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import UnitFacts, joined
from stretto.state.rows.lifecycle import PodState


def cures_of_pod(
    scene: Scene, question: PodQuestion, unit: UnitFacts | None, gang: GangFacts | None
) -> tuple[Remedy, ...]:
    """Cures of a pending pod, or of the whole gang of a pod in a gang."""
    first = list(_gates(scene, question.row))
    if unit is not None:
        first += cures_of_unit(unit, scene.objects.groups)
    rest: tuple[Remedy, ...] = ()
    if gang is not None:
        rest = gang.cures
    elif not question.inquiry.fits.any():
        rest = cures_for(question.inquiry, scene.cluster, _retry_bits(scene, question))
    if not first:
        return rest
    if any(each.kind is CureKind.EVENT for each in first):
        return tuple(first)
    if not _is_hindered(question, gang):
        return together(tuple(first))
    changes = [each for each in rest if each.kind is not CureKind.EVENT]
    found = together((*first, *changes[:1])) if changes and changes[0].alone else ()
    return found or tuple(each for each in (*first, *rest) if each.kind is CureKind.EVENT)


def _is_hindered(question: PodQuestion, gang: GangFacts | None) -> bool:
    """Return whether the nodes refuse the pod, or have too little capacity for its gang."""
    if gang is not None:
        return gang.fitting < gang.needed
    return not bool(question.inquiry.fits.any())


def _gates(scene: Scene, row: int) -> Iterator[Remedy]:
    """Cure of a gated pod: the removal of its gates."""
    pods = scene.cluster.pods
    if pods.state[row] != PodState.GATED:
        return
    if GROUP_NOTE in scene.cluster.domains.tags.labels_of(int(pods.tag[row])):
        yield from _gang_gates(scene, row)
        return
    names = joined(scene.objects.gates.get(pods.key(row), ()), "and") or "its scheduling gates"
    yield Remedy(CureKind.GATES, f"Removing {names} would make it fit.")


def _gang_gates(scene: Scene, row: int) -> Iterator[Remedy]:
    """Cure of a gated gang member: the removal of its gates, if the completed gang then fits."""
    other, key = waiting_member(scene.cluster, row), scene.cluster.pods.key(row)
    gang = gang_of(scene, other, scene.notes.unit_of(other)) if other is not None else None
    of_gang = gang.cures if gang is not None else ()
    found = [each for each in of_gang if each.kind is CureKind.GATES and key in each.pods]
    yield from found or [awaited(scene, gated_members(scene.cluster, row))]


def _retry_bits(scene: Scene, question: PodQuestion) -> int:
    """``Cure`` bits of all obstacles of a pod; the bits of its class do not cover its volumes."""
    by_class = 0 if scene.profile.exact else int(scene.engine.cures_of(question.pod.id))
    return reduce(or_, (int(each.rule.CURES) for each in question.inquiry.refused), by_class)
