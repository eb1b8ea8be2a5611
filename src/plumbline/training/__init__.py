"""Learners trained by Lightning, resumable bit for bit."""
