"""Custom workload kinds as pods and gangs: one module for each family, and the table of all."""
