"""Resource use of simulated pods and their nodes. Scheduling does not belong here."""
