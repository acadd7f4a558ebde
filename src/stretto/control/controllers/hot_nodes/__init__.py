"""Moves pods from nodes with a high measured load to nodes with a low one, in rounds.

This folder contains the loads of pools of nodes, the detector of hot nodes, and the plan of a
round. It contains no evictions: the rescheduler executes the moves.
"""
