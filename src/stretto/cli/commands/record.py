"""``stretto record``: record the objects of a cluster and their changes, for simulations."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options, sinks
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, old_store, read_state, state_options
from stretto.cli.sources.stores import cluster_store
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.sim.history.recording import RecordingSession
    from stretto.stores.store import Store

#: Maximum duration of a recording in seconds without --for: a month.
MAX_SECONDS = 31 * 86_400.0


@dataclass(frozen=True)
class RecordOptions(StateOptions):
    """Options of ``record``."""

    #: Output file.
    out: Path
    #: Seconds to record; ``None`` until Ctrl-C.
    seconds: float | None


@options.command(
    "record",
    RecordOptions,
    example="""
        stretto record --kubeconfig ~/.kube/config --out monday.jsonl.gz --for 3600
        stretto record --on sqlite:run.db --out now.jsonl.gz
        stretto simulate monday.jsonl.gz --drain topology.kubernetes.io/zone=zone-a
    """,
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of the recording; compressed if it ends in .gz.",
)
@click.option(
    "--for",
    "seconds",
    type=options.FiniteRange(min=0),
    metavar="SECONDS",
    help="Time to record [until Ctrl-C]; 0 records the current state only.",
)
@old_store
@state_options
def record(common: CommandContext, opts: RecordOptions) -> None:
    """Record a cluster to a file: its current objects and all later changes.

    Without --on, the command records kubectl's current cluster. For any other state, it records
    the objects.

    Nodes, pods, groups, queues, priorities, budgets and volumes are recorded, without environment
    variables, commands, secrets, configuration or annotations that no scheduler reads. Nothing is
    written to the cluster. The file is valid up to the last change, however the command ends.
    """
    from stretto.base.clock import WallClock, timestamp
    from stretto.inputs.objects.recordings import FORMAT, RecordingHeader, RecordingWriter
    from stretto.sim.history.recording import RecordingSession, recorded_words

    sinks.check_file("--out", str(opts.out))
    clock = WallClock()
    with closing(_source(common, opts, clock)) as store:
        header = RecordingHeader(FORMAT, timestamp(clock.now()), recorded_words())
        with RecordingWriter(opts.out, header) as writer:
            session = RecordingSession(store, writer, clock)
            common.console.note(
                f"recording {format_count(session.objects, 'object')} to {opts.out}"
            )
            _record(common, opts, session)
    common.console.data(
        f"{opts.out}: {format_count(session.objects, 'object')}, "
        f"{format_count(session.changes, 'change')} in "
        f"{session.seconds:.1f} s"
    )
    common.console.note(f"try: stretto simulate {opts.out}")
    fields = {"out": str(opts.out), "objects": session.objects, "changes": session.changes}
    common.console.json("stretto.record/v1", {**fields, "seconds": round(session.seconds, 3)})


def _source(common: CommandContext, opts: RecordOptions, clock: "Clock") -> "Store":
    """Return the store to record."""
    from stretto.base.rng import Rng
    from stretto.stores.embedded.memory import MemoryStore

    opts.check()
    if opts.named and not opts.is_cluster_name:
        store = MemoryStore(clock, Rng(0))
        store.seed(read_state(common, opts).state.records)
        return store
    return cluster_store(opts.kubeconfig, opts.cluster_context).store


def _record(common: CommandContext, opts: RecordOptions, session: "RecordingSession") -> None:
    """Record until the time is over, or until Ctrl-C, the normal way to stop without --for."""
    seconds = opts.seconds
    limit = (
        0.0
        if opts.named and not opts.is_cluster_name
        else MAX_SECONDS
        if seconds is None
        else seconds
    )
    interrupt = DeferredInterrupt()
    with interrupt, common.console.progress("record", max(1, int(limit))) as bar:

        def on_progress(done: float, changes: int) -> None:
            bar.update(int(done), format_count(changes, "change"))

        try:
            session.run(limit, on_progress, interrupt.check)
        except KeyboardInterrupt:
            if seconds is not None:
                raise
