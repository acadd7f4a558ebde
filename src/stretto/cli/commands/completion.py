"""``stretto completion``: the script with which a shell completes the command line."""

from dataclasses import dataclass
from typing import Final

import click

from stretto.cli import options
from stretto.cli.options import CommandContext

SHELLS: Final = ("bash", "zsh", "fish")
#: Commands that load the script in every session, by shell.
INSTALL: Final = {
    "bash": "echo 'eval \"$(stretto completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(stretto completion zsh)\"' >> ~/.zshrc",
    "fish": "stretto completion fish > ~/.config/fish/completions/stretto.fish",
}


@dataclass(frozen=True)
class CompletionOptions:
    """Options of ``completion``."""

    #: The shell.
    shell: str


@options.command(
    "completion",
    CompletionOptions,
    example="""
        eval "$(stretto completion bash)"
        echo 'eval "$(stretto completion zsh)"' >> ~/.zshrc
        stretto completion fish > ~/.config/fish/completions/stretto.fish
    """,
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(common: CommandContext, opts: CompletionOptions) -> None:
    """Print the completion script of a shell.

    It completes commands, options and files, and the names of pods, nodes, queues, runs, policies,
    profiles, rules and examples. Names of objects come from the run of --on, or from the latest
    run.
    """
    from click.shell_completion import get_completion_class

    from stretto.cli.main import COMPLETE, cli

    found = get_completion_class(opts.shell)
    assert found is not None
    common.console.data(_source(found(cli, {}, "stretto", COMPLETE)).rstrip("\n"))
    common.console.note(f"# to load it in every session: {INSTALL[opts.shell]}")


def _source(complete: "click.shell_completion.ShellComplete") -> str:
    """Return the script; the version check of click would start bash."""
    return complete.source_template % complete.source_vars()
