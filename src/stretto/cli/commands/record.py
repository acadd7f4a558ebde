"""``stretto record``: keep what a cluster holds and how it changes, for simulations."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.base.errors import InputError
from stretto.cli import options, sinks
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.options import CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.sim.history.recording import RecordingSession
    from stretto.stores.store import Store

#: Seconds that are kept where nothing is said: until Ctrl-C, and at most a month.
LONGEST = 31 * 86_400.0
SQLITE = "sqlite:"


@dataclass(frozen=True)
class RecordOptions:
    """Options of ``record``."""

    #: Configuration of the cluster's client; ``None`` takes the usual places.
    kubeconfig: Path | None
    #: Context within it; empty for the current one.
    context: str
    #: A store of ours instead of a cluster; empty for none.
    store: str
    #: Where the recording goes.
    out: Path
    #: Seconds to listen; ``None`` until Ctrl-C.
    seconds: float | None


@options.command(
    "record",
    RecordOptions,
    example="""
        stretto record --kubeconfig ~/.kube/config --out monday.jsonl.gz --for 3600
        stretto record --store sqlite:run.db --out now.jsonl.gz
        stretto simulate monday.jsonl.gz --drain topology.kubernetes.io/zone=zone-a
    """,
)
@click.option(
    "--kubeconfig", type=options.INPUT_FILE, help="The cluster [$KUBECONFIG, in-cluster]."
)
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")
@click.option("--store", default="", metavar="sqlite:PATH", help="A store instead of a cluster.")
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The recording; packed when it ends in .gz.",
)
@click.option(
    "--for",
    "seconds",
    type=options.FiniteRange(min=0),
    metavar="SECONDS",
    help="How long to listen [until Ctrl-C]; 0 keeps the present state alone.",
)
def record(common: CommandContext, asked: RecordOptions) -> None:
    """Keep what a cluster holds now, and every change from now on, in a file.

    Nodes, pods, groups, queues, priorities, budgets and volumes are kept. Environment, commands,
    secrets, configuration and annotations that no scheduler reads are left out. Nothing is written
    to the cluster. The file is good up to the last change, however the command ends.
    """
    from stretto.base.clock import WallClock, timestamp
    from stretto.inputs.objects.recordings import FORMAT, RecordingHeader, RecordingWriter
    from stretto.sim.history.recording import RecordingSession, recorded_words

    sinks.check_file("--out", str(asked.out))
    clock = WallClock()
    with closing(_source(asked, clock)) as store:
        header = RecordingHeader(FORMAT, timestamp(clock.now()), recorded_words())
        with RecordingWriter(asked.out, header) as writer:
            taking = RecordingSession(store, writer, clock)
            common.console.note(
                f"recording {format_count(taking.objects, 'object')} to {asked.out}"
            )
            _listen(common, asked, taking)
    told = {"out": str(asked.out), "objects": taking.objects, "changes": taking.changes}
    common.console.data(
        f"{asked.out}: {format_count(taking.objects, 'object')}, "
        f"{format_count(taking.changes, 'change')} in "
        f"{taking.seconds:.1f} s"
    )
    common.console.note(f"try: stretto simulate {asked.out}")
    common.console.json("stretto.record/v1", {**told, "seconds": round(taking.seconds, 3)})


def _source(asked: RecordOptions, clock: "Clock") -> "Store":
    """What is recorded."""
    from stretto.base.rng import Rng

    if asked.store and (asked.kubeconfig is not None or asked.context):
        raise InputError("--store", asked.store, "a store or a cluster, not both")
    if asked.store:
        return _copied(asked.store, clock)
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.kube.transport.options import KubeOptions

    return KubeStore(access_from(asked.kubeconfig, asked.context), Rng(0), KubeOptions())


def _copied(spelled: str, clock: "Clock") -> "Store":
    """A durable store as it lies on disk: it does not change while we look."""
    from stretto.base.rng import Rng
    from stretto.stores.embedded.memory import MemoryStore
    from stretto.stores.embedded.sqlite import read_store

    if not spelled.startswith(SQLITE):
        raise InputError("--store", spelled, "sqlite: and the path of a file", "sqlite:run.db")
    store = MemoryStore(clock, Rng(0))
    store.seed(read_store(Path(spelled.removeprefix(SQLITE))))
    return store


def _listen(common: CommandContext, asked: RecordOptions, taking: "RecordingSession") -> None:
    """Listen until the time is over, or Ctrl-C: which is how one stops it, and no error."""
    longest = 0.0 if asked.store else LONGEST if asked.seconds is None else asked.seconds
    held = DeferredInterrupt()
    with held, common.console.progress("record", max(1, int(longest))) as bar:

        def told(seconds: float, changes: int) -> None:
            bar.update(int(seconds), format_count(changes, "change"))

        try:
            taking.run(longest, told, held.check)
        except KeyboardInterrupt:
            if asked.seconds is not None:
                raise
