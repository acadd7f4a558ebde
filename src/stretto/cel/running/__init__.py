"""Evaluation of checked expressions with a bounded cost. No types of schemas belong here."""
