"""``stretto kernels``: compiles the kernels before the first run."""

import os
from dataclasses import dataclass

import click

from stretto.base.cores import usable_cores
from stretto.base.errors import CheckFailedError, InputError, MissingExtraError
from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.kernels import workers
from stretto.cli.options import CommandContext
from stretto.framework.kernels import tiers
from stretto.framework.kernels.cache import KernelCache, KernelSet

SCHEMA = "stretto.kernels/v1"
_LOW_PRIORITY = 10


@dataclass(frozen=True)
class KernelsOptions:
    """Options of ``kernels``."""

    #: True if only the kernels of a first run are compiled.
    first: bool
    #: True if nothing is compiled and the exit code reports missing kernels.
    check: bool
    #: True if the process has a low priority and exits if another process is compiling.
    background: bool


@options.command(
    "kernels",
    KernelsOptions,
    example="""
        stretto kernels
        stretto kernels --check
    """,
)
@click.option("--first", is_flag=True, help="Compile only the kernels that a first run needs.")
@click.option("--check", is_flag=True, help="Compile nothing; exit 9 if kernels are missing.")
@click.option("--background", is_flag=True, hidden=True)
def kernels(common: CommandContext, opts: KernelsOptions) -> None:
    """Compile the kernels for this machine.

    Without it, the first scheduling command compiles them in a background process and uses the
    NumPy tier until then; STRETTO_BACKGROUND_COMPILE=0 disables that. The compiled code is in
    NUMBA_CACHE_DIR, else next to the package, else in the user's cache folder.
    """
    if not tiers.has_numba():
        raise MissingExtraError("stretto kernels", "kernels", "the NumPy tier needs no compiler")
    cache = KernelCache()
    wanted = KernelSet.FIRST if opts.first else KernelSet.ALL
    if not opts.check and not cache.is_compiled(wanted):
        if opts.background:
            os.nice(_LOW_PRIORITY)
        with cache.compiling(wait=not opts.background) as holds_lock:
            if holds_lock and not cache.is_compiled(wanted):
                _compile(common.console, cache, wanted, 1 if opts.background else usable_cores())
    _report(common.console, cache, wanted)


def _compile(console: Console, cache: KernelCache, wanted: KernelSet, cores: int) -> None:
    """Compile by playing all scenes that are not compiled yet.

    Raises:
        InputError: the environment disables the compiler.
    """
    switch = os.environ.get("NUMBA_DISABLE_JIT", "0")
    if switch not in ("", "0"):
        raise InputError("NUMBA_DISABLE_JIT", switch, "0, so that the kernels compile")
    from stretto.cli.kernels.scenes import SCENES

    cache.forget_stale()
    sets = [each for each in SCENES if each in (KernelSet.FIRST, wanted)]
    missing = {each: set(SCENES[each]) for each in sets if not cache.is_compiled(each)}
    scenes = [(each, name) for each in missing for name in SCENES[each]]
    started = console.clock.monotonic()
    processes = min(cores, workers.MOST)
    with console.progress("compiling kernels", len(scenes)) as progress:
        progress.update(0, f"processes: {processes}")
        ended = workers.play_scenes(scenes, processes)
        for number, (each, name) in enumerate(ended, start=1):
            progress.update(number, name)
            missing[each].remove(name)
            if not missing[each]:
                cache.mark_compiled(each)
    seconds = console.clock.monotonic() - started
    console.note(f"compiled in {seconds:.0f} s")


def _report(console: Console, cache: KernelCache, wanted: KernelSet) -> None:
    """Write the state of the kernels.

    Raises:
        CheckFailedError: the wanted kernels are not compiled.
    """
    import msgspec

    from stretto.cli.output.documents import KernelDocument

    found = {each.value: cache.is_compiled(each) for each in KernelSet}
    console.json(SCHEMA, msgspec.to_builtins(KernelDocument(found, str(cache.folder))))
    names = "the kernels of a first run" if wanted is KernelSet.FIRST else "all kernels"
    if not found[wanted.value]:
        reason = f"{names} are not compiled"
        raise CheckFailedError("the check of the kernels", reason, "run stretto kernels")
    console.data(f"{names} are compiled, in {cache.folder}")
