"""HTTP servers: sockets, the one configuration of uvicorn, certificates and keys as files.

This folder contains what every program that serves HTTP shares. It contains no applications and no
access control.
"""
