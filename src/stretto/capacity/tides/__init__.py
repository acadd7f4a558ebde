"""Tidal pools: nodes that switch between online and offline pods.

Decisions here are functions of nodes, pods and a trial of the scheduler; the trial is passed in.
"""
