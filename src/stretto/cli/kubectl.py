"""``kubectl stretto``: the verbs that look, at the cluster that kubectl would take.

kubectl finds the program ``kubectl-stretto`` on the path and hands it the words behind its name.
Each verb is the one of ``stretto``, with ``--cluster`` already said.
"""

from typing import Final

import click

from stretto.cli.main import LazyGroup, program, start
from stretto.cli.verbs import Verb, known

OFFERED: Final = ("explain", "story", "plan", "queues", "shards", "doctor")
"""Verbs that look at a cluster."""


class KubectlGroup(LazyGroup):
    """The verbs that look at a cluster, each pointed at one."""

    def verbs(self) -> dict[str, Verb]:
        """Those that look."""
        return {name: verb for name, verb in known().items() if name in OFFERED}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that is meant, at the cluster."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, ["--cluster", *rest]


HELP: Final = """Say why pods of a cluster wait, and how Stretto fares there.

Only reads go to the cluster. Every command has --help with an example.
"""

cli = program(KubectlGroup, "kubectl stretto", HELP)


def main() -> None:
    """The entry point of ``kubectl-stretto``."""
    start(cli)


if __name__ == "__main__":
    main()
