"""``stretto doctor``: checks all invariants on the state of a store, a cluster or a run."""

from typing import TYPE_CHECKING

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, old_argument, read_state, state_options
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.explain.doctor.doctor import CheckedObjects, Checkup

#: Maximum number of findings listed without ``-v``.
SHOWN = 20


@options.command(
    "doctor",
    StateOptions,
    example="""
        stretto doctor
        stretto doctor --on sqlite:run.db
        stretto doctor --on quickstart --json -
        stretto doctor --kubeconfig ~/.kube/config
    """,
)
@old_argument
@state_options
def doctor(common: CommandContext, opts: StateOptions) -> None:
    """Check every invariant on a state and report violations.

    Nothing is changed. Exits with 9 if an invariant is violated.
    """
    import msgspec

    from stretto.explain.doctor.doctor import SCHEMA, examine
    from stretto.explain.doctor.findings import INVARIANTS

    title, subject = _subject(common, opts)
    checkup = examine(subject)
    _show(common.console, title, checkup)
    fields = msgspec.to_builtins(checkup)
    healthy = not checkup.broken
    common.console.json(SCHEMA, {"state": title, "healthy": healthy, **fields})
    if checkup.broken:
        checks = dict.fromkeys(each.check for each in checkup.broken)
        one = len({INVARIANTS[check][0] for check in checks}) == 1
        named = ", ".join(check.value for check in checks)
        raise CheckFailedError(
            "one invariant" if one else "more than one invariant", f"{title}: {named}"
        )


def _subject(common: CommandContext, opts: StateOptions) -> "tuple[str, CheckedObjects]":
    """Return the state to check, with its name."""
    from stretto.explain.doctor.doctor import subject_of, subject_of_record
    from stretto.sim.states.source import StateKind, referenced

    opts.check()
    if not opts.reads_cluster:
        kind, path = referenced(opts.named)
        if kind is StateKind.RUN:
            return f"run {path.stem}", subject_of_record(path)
    found = read_state(common, opts).state
    return found.title, subject_of(found.records, found.settings.scheduler_names)


def _show(console: Console, title: str, checkup: "Checkup") -> None:
    """Write the checks as a table, then each finding as a sentence."""
    nodes, pods = format_count(checkup.nodes, "node"), format_count(checkup.pods, "pod")
    console.data(f"{title}: {nodes}, {pods}")
    rows = [
        (check.law or "-", check.check.value, check.findings or "ok", check.holds_when)
        for check in checkup.checks
        if check.law or check.findings or console.verbose
    ]
    console.table(["invariant", "check", "findings", "what must hold"], rows)
    shown = checkup.findings if console.verbose else checkup.findings[:SHOWN]
    if shown:
        console.data()
    for each in shown:
        mark = "violation" if each.breaks_invariant else "note"
        console.data(f"{mark}: {each.check.value}: {each.sentence}")
    if len(shown) < len(checkup.findings):
        console.note(f"{len(checkup.findings) - len(shown):,} more; -v lists them, --json has all")
    if not checkup.broken:
        console.data("\nAll invariants hold.")
