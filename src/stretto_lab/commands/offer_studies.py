"""``stretto study offers`` and ``stretto study five-questions``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from stretto.cli import options
from stretto.cli.number_lists import counts, seconds
from stretto.cli.options import CommandContext
from stretto_lab.commands.results import collect, human_duration

if TYPE_CHECKING:
    from stretto_lab.studies.offers.questions import QuestionFigure

ANSWERS: Final = {
    1: "Lowest share first, one whole node at a time: equal frameworks get equal parts.",
    2: "A node is whole within a cycle; later cycles, limits and reservations divide it.",
    3: "Shares are divided by weights: 1:2 in weights is 1:2 in nodes.",
    4: "Yes, while the other is idle. The balance returns as tasks end; none is stopped.",
    5: "It stays free until a cycle; the filter passes it to the other framework.",
}
"""One sentence as answer to each question."""


@dataclass(frozen=True)
class FiveQuestionsOptions:
    """Options of ``study five-questions``."""

    #: Sizes of the pool, separated by commas.
    nodes: str
    #: ``mesos`` or ``default``.
    profile: str


@options.command(
    "five-questions",
    FiveQuestionsOptions,
    example="""
        stretto study five-questions --nodes 10,60
        stretto study five-questions --json out/answers.json --out out
    """,
    out=True,
)
@click.option(
    "--nodes",
    default="10,11,60,600,10000",
    show_default=True,
    metavar="N,...",
    help="Sizes of the pool.",
)
@click.option(
    "--profile",
    type=click.Choice(["mesos", "default"]),
    default="mesos",
    show_default=True,
    help="Settings of the allocator.",
)
def five_questions(common: CommandContext, opts: FiveQuestionsOptions) -> None:
    """Answer five questions about resource offers, with figures.

    The framework of each offer; the division of a node; the effect of weights; the use of an idle
    share and the return of the balance; the reuse of a declined node. docs/mesos.md explains the
    answers.
    """
    import msgspec

    from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS
    from stretto_lab.studies.offers.plots import question_plots
    from stretto_lab.studies.offers.questions import answers

    settings = MESOS if opts.profile == "mesos" else msgspec.structs.replace(DEFAULTS, holders=1)
    sizes = counts("--nodes", opts.nodes)
    _check_plots(common)
    with common.console.progress("pools", len(sizes)) as bar:
        runs = (list(answers(settings, size, common.seed)) for size in sizes)
        found, interrupted = collect(runs, bar)
    figures = [figure for run in found for figure in run]
    _show_answers(common, figures)
    document = {
        "profile": opts.profile,
        "answers": {str(number): text for number, text in ANSWERS.items()},
        "figures": msgspec.to_builtins(figures),
    } | ({"partial": True} if interrupted else {})
    common.result("stretto.study.five-questions/v1", document, question_plots(figures))
    if interrupted:
        raise KeyboardInterrupt


def _show_answers(common: CommandContext, figures: "list[QuestionFigure]") -> None:
    for number, answer in ANSWERS.items():
        mine = [each for each in figures if each.question == number]
        rows = [(each.what, f"{each.nodes:,}", " / ".join(map(str, each.value))) for each in mine]
        common.console.table(["figure", "nodes", "value"], rows, f"{number}. {answer}")


@dataclass(frozen=True)
class OfferDesignOptions:
    """Options of ``study offers``."""

    #: Numbers of frameworks, separated by commas.
    frameworks: str
    #: Decision times in seconds, separated by commas.
    decisions: str


@options.command(
    "offers",
    OfferDesignOptions,
    example="""
        stretto study offers --frameworks 10 --decisions 0,10
        stretto study offers --json out/offers.json --out out
    """,
    out=True,
)
@click.option(
    "--frameworks",
    default="1,2,5,10,20,50",
    show_default=True,
    metavar="N,...",
    help="Numbers of frameworks.",
)
@click.option(
    "--decisions",
    default="0,1,3,10,30,60",
    show_default=True,
    metavar="S,...",
    help="Decision times in seconds.",
)
def offers(common: CommandContext, opts: OfferDesignOptions) -> None:
    """Compare offers with optimistic offers, transactions and one queue.

    The same work is placed under each design: one large framework and many small ones, all with the
    same decision time. A second table measures each difference from Mesos. docs/mesos.md explains
    the figures.
    """
    import msgspec

    from stretto_lab.studies.offers.designs import OfferDesign, design_points
    from stretto_lab.studies.offers.differences import differences
    from stretto_lab.studies.offers.plots import design_plots

    numbers = counts("--frameworks", opts.frameworks)
    decisions = seconds("--decisions", opts.decisions)
    _check_plots(common)
    runs = len(numbers) * len(decisions) * len(OfferDesign)
    with common.console.progress("runs", runs) as bar:
        points, interrupted = collect(design_points(numbers, decisions, common.seed), bar)
    rows = [
        (
            each.design,
            each.frameworks,
            human_duration(each.decision_s),
            human_duration(each.all_s),
            human_duration(each.large_s),
            each.lost,
        )
        for each in points
    ]
    columns = ["design", "frameworks", "decision", "all placed", "large placed", "lost"]
    common.console.table(columns, rows)
    measured = [] if interrupted else list(differences())
    common.console.table(
        ["setting", "measured", "mesos", "default"],
        [(each.setting, each.what, each.mesos, each.better) for each in measured],
        "Differences from Mesos, one at a time",
    )
    found = {
        "points": msgspec.to_builtins(points),
        "differences": msgspec.to_builtins(measured),
    } | ({"partial": True} if interrupted else {})
    common.result("stretto.study.offers/v1", found, design_plots(points))
    if interrupted:
        raise KeyboardInterrupt


def _check_plots(common: CommandContext) -> None:
    if common.out is not None:
        from stretto.sim.plots.figures import check_plots

        check_plots()
