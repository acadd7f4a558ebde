"""Virtual time over the real plane.

Lives here: the engine of events, the published protocols, comparison of
policies, and the report with its tables and plots.
Must not: have a scheduler of its own. It drives a real plane with a manual
clock, so what it measures is what runs.
"""
