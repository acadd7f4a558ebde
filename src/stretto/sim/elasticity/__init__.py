"""Controllers that act in a run of a scenario, in its own time.

This package contains controllers that move nodes and replicas in a run. Trials on a copy of a state
are in ``sim.fitting``.
"""
