"""Tidal pools: nodes that switch between online and offline pods.

Decisions are functions of nodes, pods and a trial of the scheduler; the trial is an argument.
"""
