"""``stretto doctor``: every law looked at on the state of a store or of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.cluster_source import PROFILE, ClusterOptions, cluster_options, state_in
from stretto.cli.console import Console
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.explain.doctor.doctor import CheckedObjects, Checkup

#: Findings that are listed without ``-v``.
SHOWN = 20


@dataclass(frozen=True)
class DoctorOptions(ClusterOptions):
    """Options of ``doctor``."""

    #: What is examined: ``sqlite:PATH``, or a run record; empty for the latest record.
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
def doctor(common: CommandContext, asked: DoctorOptions) -> None:
    """Check every law on live state and name what breaks it.

    Looks at a store (sqlite:PATH) or a cluster (--cluster) as it is, or at the end of a run by its
    record, the latest unless one is named. Nothing is changed. Exit 9 when a law is broken.
    """
    import msgspec

    from stretto.explain.doctor.doctor import SCHEMA, examine
    from stretto.explain.doctor.findings import LAWS

    title, subject = _subject(common, asked)
    said = examine(subject)
    _show(common.console, title, said)
    told = msgspec.to_builtins(said)
    healthy = not said.broken
    common.console.json(SCHEMA, {"state": title, "healthy": healthy, **told})
    if said.broken:
        checks = dict.fromkeys(each.check for each in said.broken)
        one = len({LAWS[check][0] for check in checks}) == 1
        named = ", ".join(check.value for check in checks)
        raise CheckFailedError("one law" if one else "more than one law", f"{title}: {named}")


def _subject(common: CommandContext, asked: DoctorOptions) -> "tuple[str, CheckedObjects]":
    """What is examined, with its name."""
    from stretto.explain.doctor.doctor import subject_of, subject_of_record
    from stretto.explain.records.records import RunRecords
    from stretto.state.cluster.config import SCHEDULER_NAME
    from stretto.stores.embedded.sqlite import read_store

    asked.check("STATE", asked.state)
    if asked.reads_cluster:
        found = state_in(common, asked).state
        return found.title, subject_of(found.records, found.settings.scheduler_names)
    state = asked.state
    if state.startswith("sqlite:"):
        path = Path(state.removeprefix("sqlite:"))
        return f"store {path}", subject_of(read_store(path), frozenset({SCHEDULER_NAME}))
    record = RunRecords().find(state)
    return f"run {record.stem}", subject_of_record(record)


def _show(console: Console, title: str, said: "Checkup") -> None:
    """The checks as a table, then each finding as a sentence."""
    console.data(f"{title}: {said.nodes:,} nodes, {said.pods:,} pods")
    rows = [
        (check.law or "-", check.check.value, check.findings or "ok", check.holds_when)
        for check in said.checks
        if check.law or check.findings or console.verbose
    ]
    console.table(["law", "check", "found", "what must hold"], rows)
    shown = said.findings if console.verbose else said.findings[:SHOWN]
    if shown:
        console.data()
    for each in shown:
        mark = "broken" if each.breaks_invariant else "note"
        console.data(f"{mark}: {each.check.value}: {each.sentence}")
    if len(shown) < len(said.findings):
        console.note(f"{len(said.findings) - len(shown):,} more; -v shows them, --json has all")
    if not said.broken:
        console.data("\nNo law is broken.")
