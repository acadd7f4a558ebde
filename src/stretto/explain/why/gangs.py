"""Number of pending pods of a gang that fit together now, and the shortage of the next pod.

The profile's kernels place the pods on a private snapshot, with the attempts of a shard. Whether
the gang fits an empty cluster is an exact search over amounts: a gang is too large only if no
assignment of its members to nodes exists.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.explain.why.attempts import GangMembers, best_attempt
from stretto.explain.why.inquiry import Inquiry, NearFacts
from stretto.explain.why.nodes.empty_cluster import fit_when_empty
from stretto.explain.why.nodes.gang_domains import Mask, around_placed, gang_domains, is_capped
from stretto.explain.why.remedies.gang import GangFit, gang_cures
from stretto.explain.why.remedies.gates import awaited, gated_members, release
from stretto.explain.why.remedies.remedy import Remedy
from stretto.explain.why.remedies.removal import removal_for
from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import UnitFacts
from stretto.framework.engine.runtime import Runtime

TRIED: Final = 512
"""Maximum number of members tried, so that 20,000 nodes stay fast."""


class GangFacts(msgspec.Struct, frozen=True):
    """Number of pods of a gang that fit now, and the shortage of the next one."""

    #: Number of pods that must still be placed together.
    needed: int
    #: Number of pending pods that were tried.
    tried: int
    #: Number of these pods that fit together now.
    fitting: int
    #: Number of these pods that would fit on the whole cluster if it were empty.
    fitting_if_empty: int
    #: First member that does not fit after the others, as ``namespace/name``; empty for none.
    next_pod: str
    #: Node that is closest to fitting this member, with the shortage; ``None`` if all fit.
    next_lacks: NearFacts | None
    #: Cures of the gang.
    cures: tuple[Remedy, ...]


def gang_of(scene: Scene, row: int, unit: UnitFacts | None) -> GangFacts | None:
    """Facts about a pod's gang; ``None`` if no pods must start together."""
    if unit is None or not unit.is_gang or unit.min_member is None or not unit.still_needed:
        return None
    rows = scene.notes.members(row)[:TRIED]
    if not rows:
        return None
    count, needed = len(rows), min(unit.still_needed, len(rows))
    whole = gang_domains(scene.cluster, unit, is_anywhere=scene.profile.exact)
    domains, capped = around_placed(scene, row, whole), is_capped(scene.cluster, unit, rows)
    runtime, misfits, domain = best_attempt(scene, rows, needed, domains)
    near, next_pod = None, ""
    if len(misfits):
        missing = misfits[0]
        next_pod = scene.cluster.pods.key(missing)
        pod = scene.cluster.classes[int(scene.cluster.pods.class_id[missing])]
        slots = scene.cluster.nodes.live_slots()
        slots = slots[domain[slots]] if domain.any() else slots
        view = runtime.view if isinstance(runtime, Runtime) else scene.view()
        closest = Inquiry(scene.rules(missing)[0], pod, view, slots).nearest(1)
        near = closest[0] if closest else None
    fitting, if_empty = count - len(misfits), fit_when_empty(scene, rows, domains)
    placed = runtime.view if isinstance(runtime, Runtime) else None
    absent = max(0, unit.min_member - unit.placed - unit.waiting)
    tries = bool(0 < absent <= TRIED and not misfits)
    completes = tries and _fits(scene, [*rows, *rows[:1] * absent], domains)
    too_big = if_empty < needed
    held = gated_members(scene.cluster, row)[:absent] if tries else []
    starts = len(held) == absent > 0 and _fits(scene, [*rows, *held], domains)
    released = (release(scene, held), awaited(scene, held)) if starts else None
    fit = GangFit(count, fitting, misfits, completes, released, if_empty, too_big, domain, capped)
    members = GangMembers(rows, needed, domains, capped)
    return GangFacts(
        needed=unit.still_needed,
        tried=count,
        fitting=fitting,
        fitting_if_empty=if_empty,
        next_pod=next_pod,
        next_lacks=near,
        cures=gang_cures(scene, unit, placed, fit, lambda: removal_for(scene, members)),
    )


def _fits(scene: Scene, rows: Sequence[int], domains: Sequence[Mask]) -> bool:
    """Return whether all of some pods fit together."""
    return not best_attempt(scene, rows, len(rows), domains)[1]
