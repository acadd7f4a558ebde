"""The language CEL as Kubernetes has it: syntax, types, functions, costs and evaluation."""
