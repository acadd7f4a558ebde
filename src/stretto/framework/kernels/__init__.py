"""The kernels that place pods, and the choice between the compiled and the NumPy tier."""
