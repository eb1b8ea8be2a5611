"""Registered versions, read and verified without MLflow."""

from plumbline.registry.reader.versions import OpenVersion, find_version, open_version

__all__ = ["OpenVersion", "find_version", "open_version"]
