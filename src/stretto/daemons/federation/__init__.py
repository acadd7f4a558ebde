"""The controllers of a federation as a process: elected, probed, measured and stopped in order."""
