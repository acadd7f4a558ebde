"""Annotations that pass a decision and its policy to other controllers."""

from stretto.federation import names
from stretto.federation.controllers.placing.applied import AppliedPolicy
from stretto.federation.controllers.placing.decision import ScheduledSpec
from stretto.federation.objects.rules import migration


def note_decision(notes: dict[str, str], policy: AppliedPolicy, made: ScheduledSpec) -> None:
    """Set the annotations of a decision.

    Args:
        notes: annotations of the federated object.
        policy: its policy.
        made: the decision.
    """
    if policy.spec is None or policy.rules is None:
        notes[names.ENABLE_FOLLOWING] = "false"
        _note(notes, names.UNSCHEDULABLE_FOR, None)
        _note(notes, names.WAITING, None)
        return
    moves = policy.spec.auto_migration
    following = not policy.spec.disable_follower_scheduling
    _note(notes, names.ENABLE_FOLLOWING, str(following).lower())
    _note(notes, names.UNSCHEDULABLE_FOR, moves.when.pod_unschedulable_for if moves else None)
    _note(notes, names.APPLIED_MIGRATION, migration.report(policy.rules, notes))
    _note(notes, names.WAITING, made.waiting)


def _note(notes: dict[str, str], key: str, value: str | None) -> None:
    """Set an annotation, or remove it."""
    if value is None:
        notes.pop(key, None)
    else:
        notes[key] = value
