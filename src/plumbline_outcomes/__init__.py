"""Outcomes: labels that come back, joined to the answers that were given, as a live score."""
