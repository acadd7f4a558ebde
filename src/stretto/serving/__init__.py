"""HTTP servers: sockets, the one configuration of uvicorn, certificates and keys as files.

Here: what every program that serves HTTP shares. Not here: applications and who may use them.
"""
