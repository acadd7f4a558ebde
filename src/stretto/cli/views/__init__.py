"""Layout of results for people: tables, lists and plots."""
