"""Intervals, power, calibration, similar texts: pure functions of numbers and of texts."""
