"""The commands of the laboratory, for the entry point group ``stretto.verbs``."""

from collections.abc import Mapping
from typing import Final

from stretto.cli.verbs import Verb

_HERE: Final = "stretto_lab.commands"

VERBS: Final[Mapping[str, Verb]] = {
    "study": Verb(f"{_HERE}.study:study", "Repeat published experiments in virtual time."),
    "conformance": Verb(
        f"{_HERE}.conformance:conformance",
        "Compare decisions with recorded decisions of other schedulers.",
    ),
    "bench": Verb(f"{_HERE}.bench:bench", "Measure the throughput of this machine."),
    "chaos": Verb(f"{_HERE}.chaos:chaos", "Run the fault simulator and check every law."),
}
"""Commands by name, each with its module and summary."""
