"""Controllers: hands that act on what has happened, beside the walk of a pod.

Lives here: kept places as Reservation objects, and the rescheduler that defragments.
Must not: decide where a pending pod goes (a shard does), or import the dispatcher,
the scheduler or the binder; they are handed what they need.
"""
