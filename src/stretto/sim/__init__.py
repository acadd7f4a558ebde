"""Virtual time over a real plane: scenarios, traces, comparisons and reports."""
