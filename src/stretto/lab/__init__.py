"""Where Stretto is put to the test by measuring: benches and the fault simulator.

Lives here: the engine bench, the chaos runs, and later the conformance runner
and the real control plane that it starts and stops.
Must not: be imported by anything but the command line, or hold product logic.
"""
