"""Serve a verified, registered model over HTTP; needs neither MLflow nor torch."""
