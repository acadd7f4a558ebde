"""Custom workload kinds as pods and gangs: one module for each family, and a table of all."""
