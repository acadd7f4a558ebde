"""Generate docs/concepts/lifecycle.md from the transition tables.

python scripts/diagrams.py            write the document
python scripts/diagrams.py --check    exit with 9 if the document is stale
"""

import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from stretto.base.errors import ExitCode
from stretto.base.fsm import TransitionTable
from stretto.state.rows import lifecycle

TARGET = Path(__file__).resolve().parents[1] / "docs" / "concepts" / "lifecycle.md"

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


def main() -> int:
    """Write the document, or only compare."""
    text = render()
    if "--check" in sys.argv[1:]:
        fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        if not fresh:
            print(f"docs/{TARGET.name} is stale: run `make diagrams`", file=sys.stderr)
        return ExitCode.OK if fresh else ExitCode.CHECK_FAILED
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
