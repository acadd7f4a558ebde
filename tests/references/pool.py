"""A FIFO queue on a pool of GPUs in plain Python: jobs start in order, the head blocks."""

import heapq
from collections import deque
from collections.abc import Sequence
from math import floor
from typing import Any

from stretto.inputs.philly import PhillyJob


def run(jobs: Sequence[PhillyJob], gpus: int) -> dict[str, Any]:
    """What became of the jobs, in the words of the command; times are whole tenths of a second."""
    fitting = sorted(
        (round(job.submit_s * 10), int(job.job_id), job.gpus, round(job.duration_s * 10))
        for job in jobs
        if job.gpus <= gpus
    )
    coming, queue = deque(fitting), deque()
    running: list[tuple[int, int]] = []
    free, waits, completions, busy, last = gpus, [], [], 0, 0
    while coming or queue or running:
        times = [coming[0][0]] if coming else []
        now = min([*times, running[0][0]] if running else times)
        while running and running[0][0] == now:
            free += heapq.heappop(running)[1]
        while coming and coming[0][0] == now:
            queue.append(coming.popleft())
        while queue and queue[0][2] <= free:
            submitted, _, size, duration = queue.popleft()
            free -= size
            heapq.heappush(running, (now + duration, size))
            waits.append(now - submitted)
            completions.append(now + duration - submitted)
            busy += size * duration
            last = max(last, now + duration)
    waits.sort()
    span = last - fitting[0][0]
    return {
        "started": len(waits),
        "skipped_too_big": len(jobs) - len(fitting),
        "mean_wait_s": sum(waits) / len(waits) / 10,
        "p95_wait_s": waits[floor(0.95 * (len(waits) - 1))] / 10,
        "max_wait_s": waits[-1] / 10,
        "mean_jct_s": sum(completions) / len(completions) / 10,
        "makespan_s": span / 10,
        "gpu_util": busy / (gpus * span),
    }
