"""``stretto conformance``: compare decisions with recorded ones."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import CheckFailedError, InputError
from stretto.cli import options
from stretto.cli.options import INPUT_FILE, CommandContext

if TYPE_CHECKING:
    from stretto_lab.conformance.report import ConformanceReport

SHOWN: Final = 10
"""Number of fields that are listed without ``-v``."""
CUT: Final = 160
"""Maximum number of shown characters of a value."""
PARITY: Final = "kube-parity"
"""The compared profile, repeated here so that help needs no import."""


@dataclass(frozen=True)
class ConformanceOptions:
    """Options of ``conformance``."""

    #: Case files.
    cases: tuple[Path, ...]
    #: The profile that decides.
    profile: str
    #: True if wire traffic is replayed on real API servers.
    real: bool


@options.command(
    "conformance",
    ConformanceOptions,
    example="""
        stretto conformance --cases tests/conformance/data/cases.jsonl.gz
        stretto conformance --cases cases.jsonl.gz --json report.json
        stretto conformance --real --cases p06-configmap.jsonl.gz --cases o01-image.jsonl.gz
    """,
)
@click.option(
    "--cases",
    multiple=True,
    required=True,
    type=INPUT_FILE,
    help="Recorded cases, one per line, plain or .gz; may be repeated.",
)
@click.option("--real", is_flag=True, help="Replay wire traffic of KubeAdmiral on API servers.")
@click.option("--profile", default=PARITY, metavar="NAME", help=f"Profile to compare [{PARITY}].")
def conformance(common: CommandContext, opts: ConformanceOptions) -> None:
    """Compare decisions with recorded decisions of other schedulers.

    The files state the recorded system: kube-scheduler, kube-apiserver, KubeAdmiral, Karmada, a
    Mesos master, or the capacity functions of Kubernetes, Koordinator, Katalyst and Volcano. A case
    agrees if every recorded field agrees: for kube-scheduler, codes and reasons of each plugin on
    each node, scores, totals, the best nodes, the message, preemption; for kube-apiserver, each
    answer; for a federation, each replica count, score and selected cluster; for Mesos, each grant
    and outcome; for capacity, each amount (floats within 1e-6). Exits with code 9 if a case
    disagrees.

    Wire traffic of KubeAdmiral is replayed on embedded clusters in virtual time. With --real, it is
    replayed on a real host and real members with controllers, kube-scheduler and kwok, up to six
    scenarios at the same time; those that stop servers or let clusters join get servers of their
    own.
    """
    import msgspec

    from stretto_lab.conformance import lines, recordings
    from stretto_lab.conformance import report as reports

    if opts.profile != PARITY:
        expected = f"{PARITY}: the only profile with kube-scheduler's own scores"
        raise InputError("--profile", opts.profile, expected)
    with common.console.progress("cases", sum(map(lines.count, opts.cases))) as bar:
        cases = recordings.read_all(opts.cases, real=opts.real)
        report = recordings.run(cases, bar.update)
    _show(common, report)
    common.console.json(reports.SCHEMA, msgspec.to_builtins(report))
    if report.partial is True:
        raise KeyboardInterrupt
    if report.wrong:
        raise CheckFailedError(f"agreement in {report.wrong:,} of {report.cases:,} cases")


def _show(common: CommandContext, report: "ConformanceReport") -> None:
    """Show the totals, disagreeing features and the first fields."""
    console = common.console
    console.data(f"{report.agreed:,} of {report.cases:,} cases agree")
    if report.deviations:
        rules = ", ".join(f"{name} ({count:,})" for name, count in report.deviations.items())
        console.data(f"{report.deviating:,} differ on purpose: {rules}")
    disagreeing = [
        (name, tally.cases, tally.agreed)
        for name, tally in sorted(report.features.items())
        if tally.agreed < tally.cases
    ]
    if disagreeing:
        console.table(["feature", "cases", "agreed"], disagreeing)
    shown = report.disagreed if common.console.verbose else report.disagreed[:SHOWN]
    for each in shown:
        console.data(f"{each.id} {each.field}")
        console.data(f"  want {str(each.want)[:CUT]}")
        console.data(f"  got  {str(each.got)[:CUT]}")
    left = len(report.disagreed) - len(shown)
    if left:
        console.note(f"and {left:,} more fields (-v lists all)")
