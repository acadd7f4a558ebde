"""``stretto examples``: the scenarios that come with the package."""

from dataclasses import dataclass

import click

from stretto.cli import options
from stretto.cli.options import CommandContext


@dataclass(frozen=True)
class ExamplesOptions:
    """Options of ``examples``."""

    #: The example to print; empty lists all.
    name: str


@options.command(
    "examples",
    ExamplesOptions,
    example="""
        stretto examples
        stretto examples quickstart
        stretto run quickstart
    """,
)
@click.argument("name", required=False, default="", shell_complete=options.completes("examples"))
def examples(common: CommandContext, opts: ExamplesOptions) -> None:
    """List the bundled example scenarios, or print one.

    `stretto run NAME` runs an example.
    """
    import msgspec

    from stretto.cli.examples import example_names, example_path, examples_folder, summary
    from stretto.cli.output.documents import (
        ExampleDocument,
        ExampleEntry,
        ExampleListDocument,
    )

    if opts.name:
        text = example_path(opts.name).read_text(encoding="utf-8")
        common.console.data(text.rstrip("\n"))
        example = ExampleDocument(opts.name, text)
        common.console.json("stretto.examples/v1", msgspec.to_builtins(example))
        return
    found = [(name, summary(example_path(name))) for name in example_names()]
    common.console.table(["example", "what it shows"], found)
    common.console.note("try: stretto run quickstart")
    entries = tuple(ExampleEntry(name, text) for name, text in found)
    document = ExampleListDocument(str(examples_folder()), entries)
    common.console.json("stretto.examples/v1", msgspec.to_builtins(document))
