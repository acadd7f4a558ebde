"""``stretto conformance``: recorded decisions of kube-scheduler against this one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import CheckFailedError, InputError
from stretto.cli import options
from stretto.cli.options import INPUT_FILE, CommandContext

if TYPE_CHECKING:
    from stretto_lab.conformance.kube_cases import ConformanceReport

SHOWN: Final = 10
"""Fields that are listed without ``-v``."""
CUT: Final = 160
"""Characters of a value that are shown."""
PARITY: Final = "kube-parity"
"""The profile that is held to the recordings; told again so that help needs no import."""


@dataclass(frozen=True)
class ConformanceOptions:
    """Options of ``conformance``."""

    #: Files of cases.
    cases: tuple[Path, ...]
    #: The profile that decides.
    profile: str


@options.command(
    "conformance",
    ConformanceOptions,
    example="""
        stretto conformance --cases tests/conformance/data/cases.jsonl.gz
        stretto conformance --cases cases.jsonl.gz --json report.json
    """,
)
@click.option(
    "--cases",
    multiple=True,
    required=True,
    type=INPUT_FILE,
    help="Recorded cases, one a line, plain or .gz; may be repeated.",
)
@click.option("--profile", default=PARITY, metavar="NAME", help=f"What decides [{PARITY}].")
def conformance(common: CommandContext, asked: ConformanceOptions) -> None:
    """Hold decisions to recorded ones of kube-scheduler.

    A case agrees when every recorded field does: codes and reasons of each plugin on each node,
    scores, totals, the best nodes, the message, preemption. Exit 9 when any case disagrees.
    """
    import msgspec

    from stretto_lab.conformance import kube_cases as lab

    if asked.profile != lab.PARITY:
        expected = f"{lab.PARITY}: the only profile with kube-scheduler's own scores"
        raise InputError("--profile", asked.profile, expected)
    with common.console.progress("cases", sum(map(lab.count, asked.cases))) as bar:
        report = lab.run((case for path in asked.cases for case in lab.read(path)), bar.update)
    _show(common, report)
    common.console.json(lab.SCHEMA, msgspec.to_builtins(report))
    if report.partial is True:
        raise KeyboardInterrupt
    if report.agreed < report.cases:
        apart = report.cases - report.agreed
        raise CheckFailedError(f"agreement in {apart:,} of {report.cases:,} cases")


def _show(common: CommandContext, report: "ConformanceReport") -> None:
    """The figures, features that disagree, and the first fields."""
    console = common.console
    console.data(f"{report.agreed:,} of {report.cases:,} cases agree")
    apart = [
        (name, tally.cases, tally.agreed)
        for name, tally in sorted(report.features.items())
        if tally.agreed < tally.cases
    ]
    if apart:
        console.table(["feature", "cases", "agreed"], apart)
    shown = report.disagreed if common.console.verbose else report.disagreed[:SHOWN]
    for each in shown:
        console.data(f"{each.id} {each.field}")
        console.data(f"  want {str(each.want)[:CUT]}")
        console.data(f"  got  {str(each.got)[:CUT]}")
    left = len(report.disagreed) - len(shown)
    if left:
        console.note(f"and {left:,} more fields (-v lists all)")
