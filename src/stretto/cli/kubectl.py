"""``kubectl stretto``: the inspection commands for the cluster of the kubeconfig.

kubectl finds the program ``kubectl-stretto`` on the path and passes the remaining arguments to it.
Each command is that of ``stretto`` with ``--cluster`` added.
"""

from typing import Final

import click

from stretto.cli.main import LazyGroup, program, start
from stretto.cli.verbs import Verb, known

OFFERED: Final = ("get", "explain", "story", "plan", "queues", "shards", "doctor")
"""Names of the commands that read a cluster."""


class KubectlGroup(LazyGroup):
    """The commands that read a cluster, with ``--cluster`` added."""

    def verbs(self) -> dict[str, Verb]:
        """Return the inspection commands."""
        return {name: verb for name, verb in known().items() if name in OFFERED}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command and add ``--cluster``."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, ["--cluster", *rest]


HELP: Final = """Explain pending pods of a cluster and show the state of its scheduler.

All commands are read-only. Every command has --help with an example.
"""

cli = program(KubectlGroup, "kubectl stretto", HELP)


def main() -> None:
    """The entry point of ``kubectl-stretto``."""
    start(cli)


if __name__ == "__main__":
    main()
