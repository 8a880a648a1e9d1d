"""Thresholds on measures: k-anonymity, l-diversity, t-closeness and their kin."""
