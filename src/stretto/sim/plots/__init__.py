"""Plots: the drawing of figures, and the plots of one run. Studies draw their own figures."""
