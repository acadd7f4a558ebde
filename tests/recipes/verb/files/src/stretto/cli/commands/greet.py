"""``stretto greet``: prints a greeting."""

from dataclasses import dataclass

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import CommandContext


@dataclass(frozen=True)
class GreetOptions:
    """Options of ``greet``."""

    #: The greeted name.
    name: str


@options.command("greet", GreetOptions, example="stretto greet world")
@click.argument("name")
def greet(common: CommandContext, requested: GreetOptions) -> None:
    """Print a greeting."""
    if not requested.name.isprintable():
        raise InputError("NAME", requested.name, "printable characters")
    common.console.data(f"hello, {requested.name}")
    common.console.json("stretto.greet/v1", {"name": requested.name})
