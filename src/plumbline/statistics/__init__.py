"""Intervals, power, calibration and agreement: pure functions of numbers."""
