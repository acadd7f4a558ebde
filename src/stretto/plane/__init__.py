"""The composition root: the parts of a scheduler joined over one store, and the order of a step.

Only this folder joins the parts. It decides nothing about scheduling.
"""
