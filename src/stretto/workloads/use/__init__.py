"""What simulated pods and their nodes use. Scheduling does not belong here."""
