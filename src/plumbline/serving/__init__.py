"""Answering over HTTP and from files, with a registered model that was verified; needs no MLflow and no torch."""
