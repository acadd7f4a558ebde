"""Generate docs/concepts/lifecycle.md and the step diagram of ARCHITECTURE.md from the code.

python scripts/diagrams.py            write the documents
python scripts/diagrams.py --check    exit with 9 if a document is stale
"""

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path

from written import write_or_check

from stretto.base.clock import ManualClock
from stretto.base.fsm import TransitionTable
from stretto.base.rng import Rng
from stretto.daemons.roles.binder import binder_plane
from stretto.daemons.roles.controller import controller_plane
from stretto.daemons.roles.dispatcher import DispatcherRoleConfig, dispatcher_plane
from stretto.daemons.roles.shard import shard_plane
from stretto.daemons.roles.solo_plane import ShardConfig
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import STEP, Stage
from stretto.state.rows import lifecycle
from stretto.stores.embedded.memory import MemoryStore

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "concepts" / "lifecycle.md"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- step: begin -->", "<!-- step: end -->"

HEAD = """# Lifecycles

This page shows the state machines of pods, units and PodGroups. It is for operators who read
states in `stretto explain` and in the metrics, and for contributors who change a transition.

`make diagrams` generates the diagrams and tables below from `src/stretto/state/rows/lifecycle.py`,
and a test compares both. To change a transition, edit the table in the source and not this page.

In the diagrams, a transition is written `FROM --> TO : EVENT`. For pods, `BIND` from any state
other than `ASSUMED` means that another component has bound the pod.
"""


def tables() -> list[TransitionTable[Enum, Enum]]:
    """Every state machine of the lifecycle module, in the order of the source."""
    return [value for value in vars(lifecycle).values() if isinstance(value, TransitionTable)]


def section(table: TransitionTable[Enum, Enum]) -> Iterator[str]:
    """One machine: its picture, then every move as a row."""
    title = table.name if table.name[0].isupper() else table.name.capitalize()
    yield f"\n## {title}\n\n```mermaid\n{table.mermaid()}```\n\n"
    yield "| state | event | next |\n| --- | --- | --- |\n"
    for state in table.states:
        for event in table.allowed(state):
            yield f"| {state.name} | {event.name} | {table.next(state, event).name} |\n"


def render() -> str:
    """The whole document."""
    return HEAD + "".join("".join(section(table)) for table in tables())


def roles() -> Mapping[str, Sequence[Stage]]:
    """The stages of the scheduler in one process and of each role."""
    clock = ManualClock()
    store, config = MemoryStore(clock, Rng(0)), PlaneConfig(load_profile("default"), tier="numpy")
    made = {
        "dispatcher": dispatcher_plane(config, store, clock, DispatcherRoleConfig()),
        "shard": shard_plane(config, store, clock, ShardConfig("shard-0")),
        "binder": binder_plane(config, store, clock),
        "controller": controller_plane(config, store, clock),
    }
    return {"scheduler (one process)": STEP} | {name: each.stages for name, each in made.items()}


def arrows(stages: Sequence[Stage]) -> str:
    """The stages in order, wrapped; the pump stands where the store is read."""
    names = [stage.name for stage in stages if stage.before_sync]
    names += ["pump", *(stage.name for stage in stages if not stage.before_sync)]
    return textwrap.fill(" → ".join(names), 100)


def steps() -> str:
    """Stages with their sentences, then the stages of each role."""
    lines = ["| stage | what it does |", "| --- | --- |"]
    lines.append("| pump | Reads the changes of every watched kind into the cluster state. |")
    for stage in STEP:
        sentence = (stage.run.__doc__ or "").split("\n")[0]
        lines.append(f"| {stage.name} | {sentence} |")
    for role, stages in roles().items():
        lines += ["", f"{role}:", "", "```text", arrows(stages), "```"]
    return "\n".join(lines)


def architecture() -> str:
    """ARCHITECTURE.md with the generated part made again."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{steps()}\n\n{END}{rest.partition(END)[2]}"


def main() -> int:
    """Write the documents, or only compare."""
    return write_or_check({TARGET: render(), ARCHITECTURE: architecture()}, "`make diagrams`")


if __name__ == "__main__":
    sys.exit(main())
