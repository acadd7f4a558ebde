"""Controllers that act in a run of a scenario, in its own time.

Here belongs what moves nodes in a run. Trials on a copy of a state do not (``sim.fitting``).
"""
