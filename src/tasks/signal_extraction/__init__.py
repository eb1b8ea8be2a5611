"""Recover each of several sinusoids from their noisy mixture."""
