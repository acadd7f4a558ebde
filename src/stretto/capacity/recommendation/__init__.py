"""Recommended requests from the use of past days, after Katalyst's resource recommender."""
