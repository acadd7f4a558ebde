"""Plots of the studies of offers."""

from collections.abc import Sequence

from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto_lab.studies.offers.designs import DesignPoint
from stretto_lab.studies.offers.questions import QuestionFigure


def design_plots(points: Sequence[DesignPoint]) -> list[CurvePlot]:
    """Plot the time until all work has started by decision time, for each number of frameworks."""
    found: list[CurvePlot] = []
    for count in dict.fromkeys(each.frameworks for each in points):
        mine = [each for each in points if each.frameworks == count]
        lines = []
        for colour, design in enumerate(dict.fromkeys(each.design for each in mine)):
            curve = [each for each in mine if each.design == design]
            xs = tuple(each.decision_s for each in curve)
            lines.append(PlotLine(design, xs, tuple(each.all_s for each in curve), colour))
        slowest = max(mine, key=lambda each: each.all_s)
        title = f"{count} frameworks: slowest with {slowest.design}, {slowest.all_s:,.0f} s"
        texts = PlotTexts(title, "decision time (s)", "time until all tasks have started (s)")
        found.append(CurvePlot(f"offers-{count}", lines, texts))
    return found


def question_plots(figures: Sequence[QuestionFigure]) -> list[CurvePlot]:
    """Plot the figures of each question as parts of the nodes, by size of the pool."""
    found: list[CurvePlot] = []
    for question in dict.fromkeys(each.question for each in figures):
        mine = [each for each in figures if each.question == question]
        lines = []
        for colour, what in enumerate(dict.fromkeys(each.what for each in mine)):
            curve = [each for each in mine if each.what == what]
            for number in range(len(curve[0].value)):
                label = f"{what}: {_side(number)}" if len(curve[0].value) > 1 else what
                xs = tuple(float(each.nodes) for each in curve)
                ys = tuple(each.value[number] / each.nodes for each in curve)
                lines.append(PlotLine(label, xs, ys, colour, dashed=number > 0))
        texts = PlotTexts(f"Question {question}", "nodes", "part of the nodes", log_x=True)
        found.append(CurvePlot(f"question-{question}", lines, texts))
    return found


def _side(number: int) -> str:
    return ("first", "second", "third")[number]
