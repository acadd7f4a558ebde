"""Object stores behind one contract.

This folder contains the contract and what all stores share; each implementation has its own folder.
A store handles objects and versions, not scheduling.
"""
