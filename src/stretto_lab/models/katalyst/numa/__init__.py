"""NUMA alignment after Katalyst's plugin NodeResourceTopology: filter and score of nodes."""
