"""Object stores behind one contract.

The contract and what every store shares stand in this folder; each implementation has a folder
of its own. A store knows objects and versions and nothing about scheduling.
"""
