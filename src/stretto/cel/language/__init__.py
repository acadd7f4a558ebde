"""The language CEL: syntax, types, declared functions and the checker; no evaluation."""
