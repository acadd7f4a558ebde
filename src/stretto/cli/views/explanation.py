"""Layout of explanations: why a pod is pending, is on its node, or is not on another."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.explain.why.answers import Explanation, NodeChoice, NodeExplanation

SHOWN: Final = 5
"""Maximum number of reasons and steps listed without ``-v``."""


def show_explanation(console: Console, answer: "Explanation") -> None:
    """Write an explanation, the most important part first."""
    requests = ", ".join(request.text for request in answer.requests)
    console.data(f"{answer.pod} · {answer.state}{f' on {answer.node}' if answer.node else ''}")
    if requests:
        console.data(f"  requests {requests}")
    if answer.dominant is not None:
        console.data(f"\n{answer.dominant.sentence}")
        console.data(f"  [{answer.dominant.tier.value}: {answer.dominant.code.value}]")
        _list(console, "Also", [each.sentence for each in answer.reasons[1:]])
    if answer.nodes is not None:
        _show_nodes(console, answer)
    alone = [each.sentence for each in answer.cures if each.alone]
    _list(console, "What would help", alone)
    together = [each.sentence for each in answer.cures if not each.alone]
    _list(console, "What would help, all of it together", together)
    _show_unit(console, answer)
    if answer.choice is not None:
        _show_choice(console, answer.choice, placed=bool(answer.node))
    if answer.steps:
        rows = [(f"{step.time_s:.3f} s", step.step, step.detail) for step in answer.steps]
        shown = rows if console.verbose else rows[-SHOWN:]
        console.table(["time", "step", ""], shown, title="Steps")


def _show_nodes(console: Console, answer: "Explanation") -> None:
    """Write the verdicts of the nodes.

    The message of kube-scheduler, then the details that it omits.
    """
    nodes = answer.nodes
    assert nodes is not None
    console.data(f"\n{nodes.message}")
    if nodes.reasons:
        shown = nodes.reasons if console.verbose else nodes.reasons[:SHOWN]
        rows = [(each.nodes, each.alone, each.reason) for each in shown]
        console.table(["nodes", "sole reason", "reason"], rows)
    together = [f"{format_count(e.nodes, 'node')}: {' + '.join(e.reasons)}" for e in nodes.overlaps]
    _list(console, "Combinations", together if console.verbose else together[:2])
    _show_forbidden(console, answer)
    near = [(each.node, "; ".join(each.obstacles)) for each in nodes.nearest]
    if near:
        console.table(["nearest node", "obstacles"], near)


def _show_forbidden(console: Console, answer: "Explanation") -> None:
    """Write the pods that block preemption."""
    held = answer.preemption.held if answer.preemption is not None else ()
    lines = []
    for each in held:
        more = f" and {each.count - len(each.pods)} more" if each.count > len(each.pods) else ""
        pods = f", because of {', '.join(each.pods)}{more}" if each.pods else ""
        by = f" ({', '.join(each.by)})" if each.by else ""
        lines.append(f"{each.node}: {each.reason}{pods}{by}")
    _list(console, "Preemption is blocked, for example on", lines)


def _show_unit(console: Console, answer: "Explanation") -> None:
    """Write the unit: its members, its queue, and the part of the gang that fits."""
    unit, gang = answer.unit, answer.gang
    if unit is None:
        return
    if answer.share is not None:
        faults = [f"Queue {unit.queue}: {fault}." for fault in answer.share.faults]
        for sentence in filter(None, (answer.share.sentence, *faults)):
            console.data(f"\n{sentence}")
    if unit.shard >= 0:
        loop = f", in the loop of sub-cluster {answer.sub_cluster}" if answer.sub_cluster else ""
        console.data(f"Shard {unit.shard} is placing it{loop}.")
    elif answer.sub_cluster:
        console.data(f"It is placed by the loop of sub-cluster {answer.sub_cluster}.")
    if unit.kind == "Pod":
        rank = (
            f"position {unit.position:,} of {unit.queue_length:,}" if unit.position else unit.state
        )
        failed = f"; failed attempts: {answer.failed_attempts}" if answer.steps else ""
        console.data(f"\nQueue {unit.queue}: {rank}{failed}")
        return
    members = f"{unit.placed} placed, {unit.waiting} pending"
    least = f", at least {unit.min_member} together" if unit.is_gang and unit.min_member else ""
    place = f", position {unit.position} of {unit.queue_length}" if unit.position else ""
    console.data(f"\nUnit {unit.key} ({unit.state}): {members}{least}; queue {unit.queue}{place}")
    if gang is not None:
        console.data(f"  {gang.fitting} of {gang.tried} pending members would fit together now")
        if gang.next_lacks is not None:
            why = "; ".join(gang.next_lacks.obstacles)
            console.data(f"  {gang.next_pod} is next; closest node {gang.next_lacks.node}: {why}")


def _show_choice(console: Console, choice: "NodeChoice", *, placed: bool) -> None:
    """Write the best nodes with the score of each rule."""
    fit = "fits" if choice.feasible == 1 else "fit"
    console.data(f"\n{choice.sentence}")
    console.data(f"Evaluated on {choice.basis}: {format_count(choice.feasible, 'node')} {fit}.")
    if choice.tied > 1:
        console.data(f"Ties are broken by {choice.tie_rule}.")
    top = choice.top
    plugins = [f"{part.plugin} ×{part.weight}" for part in top[0].parts] if top else []
    rows: list[Sequence[object]] = [
        (
            each.rank,
            each.node + (" *" if each.chosen else ""),
            each.total,
            *(part.score for part in each.parts),
        )
        for each in top
    ]
    console.table(["rank", "node", "score", *plugins], rows)
    if placed:
        console.data("* its current node")


# ---------------------------------------------------------------- one node


def show_node_explanation(console: Console, answer: "NodeExplanation") -> None:
    """Write why a pod is not on a node, or how the node compares."""
    console.data(answer.sentence)
    scored = [each for each in (answer.score, answer.chosen) if each is not None]
    if answer.score is not None:
        plugins = [f"{part.plugin} ×{part.weight}" for part in answer.score.parts]
        rows: list[Sequence[object]] = []
        for each in dict.fromkeys(scored):
            mark = " *" if each.chosen else ""
            parts = tuple(part.score for part in each.parts)
            rows.append((each.rank, each.node + mark, each.total, *parts))
        console.table(["rank", "node", "score", *plugins], rows)
    fit = "fits" if answer.feasible == 1 else "fit"
    console.data(f"Evaluated on {answer.basis}: {format_count(answer.feasible, 'node')} {fit}.")


def _list(console: Console, heading: str, lines: Sequence[str]) -> None:
    """Write a heading with lines under it, unless there are none."""
    if lines:
        console.data(f"\n{heading}:")
        for line in lines:
            console.data(f"  - {line}")
