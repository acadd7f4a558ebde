"""The fault simulator: one seed draws a cluster, its work and its faults, and runs the real plane.

Lives here: what a seed draws (world), what befalls it (fate), the run in virtual time, the truth
that the laws are checked against, traces, the shrinking of failures, reports.
Must not: be imported by product code, mock a part of the product, or hold a planted bug.
"""
