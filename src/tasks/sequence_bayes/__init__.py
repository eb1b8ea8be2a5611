"""Predict the next symbol of a short sequence, measured against the exact Bayesian answer."""
