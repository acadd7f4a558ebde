"""ACCEPT: offers turn into tasks, reservations and volumes.

Here: the operations of frameworks. Not here: those of operators, and their checks.
"""
