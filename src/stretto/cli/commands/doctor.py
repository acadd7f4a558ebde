"""``stretto doctor``: check every invariant on the state of a store, a cluster or a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.cluster_source import PROFILE, ClusterOptions, cluster_options, state_in
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.explain.doctor.doctor import CheckedObjects, Checkup

#: Findings that are listed without ``-v``.
SHOWN = 20


@dataclass(frozen=True)
class DoctorOptions(ClusterOptions):
    """Options of ``doctor``."""

    #: The state: ``sqlite:PATH`` or a run record; empty for the latest record.
    state: str


@options.command(
    "doctor",
    DoctorOptions,
    example="""
        stretto doctor
        stretto doctor sqlite:run.db
        stretto doctor quickstart --json -
        stretto doctor --kubeconfig ~/.kube/config
    """,
)
@click.argument("state", required=False, default="", metavar="[RUN|sqlite:PATH]")
@cluster_options
@PROFILE
def doctor(common: CommandContext, opts: DoctorOptions) -> None:
    """Check every invariant on a state and report violations.

    The state is a store (sqlite:PATH), a cluster (--cluster), or the end of a run from its record,
    by default the latest. Nothing is changed. Exits with 9 if an invariant is violated.
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


def _subject(common: CommandContext, opts: DoctorOptions) -> "tuple[str, CheckedObjects]":
    """The state to check, with its name."""
    from stretto.explain.doctor.doctor import subject_of, subject_of_record
    from stretto.explain.records.records import RunRecords
    from stretto.state.cluster.config import SCHEDULER_NAME
    from stretto.stores.embedded.sqlite import read_store

    opts.check("STATE", opts.state)
    if opts.reads_cluster:
        found = state_in(common, opts).state
        return found.title, subject_of(found.records, found.settings.scheduler_names)
    state = opts.state
    if state.startswith("sqlite:"):
        path = Path(state.removeprefix("sqlite:"))
        return f"store {path}", subject_of(read_store(path), frozenset({SCHEDULER_NAME}))
    record = RunRecords().find(state)
    return f"run {record.stem}", subject_of_record(record)


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
