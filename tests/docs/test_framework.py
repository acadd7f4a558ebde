"""The example of a framework runs its tasks on a master."""

import asyncio
import sys
from pathlib import Path

from stretto.base.rng import Rng
from stretto_lab.bench.offers.clients import LoadAgent
from tests.support.served_master import served

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "mesos"


async def run_example(*words: str) -> tuple[int | None, str]:
    """Exit code and output of the example, as a user runs it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLES / "batch.py"), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


def test_the_framework_prints_its_recorded_output() -> None:
    async def scene(port: int) -> None:
        agent = LoadAgent(port, 0, Rng(1))
        running = asyncio.create_task(agent.run())
        found = await run_example(f"127.0.0.1:{port}", "3", "echo done")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        agent.close()
        assert found == (0, (EXAMPLES / "batch.out").read_text(encoding="utf-8"))

    served(scene)


def test_a_call_without_arguments_explains_the_usage() -> None:
    code, output = asyncio.run(run_example())
    assert (code, output) == (1, "usage: batch.py HOST:PORT COUNT COMMAND\n")
