"""Registered versions, read and verified without MLflow."""
