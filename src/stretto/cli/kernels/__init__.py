"""Compilation of the kernels: ahead, in the background of a first run, or before a measurement."""
