"""Spark: the session of a command, and the engine that runs functions of rows on it.

This package alone imports pyspark. Executors need the same Python with plumbline.
"""
