"""Text classification, with an expectation of the data and cases of behaviour of our own.

task: own_task in params.yaml names it. Each part is that of plumbline; change what you need.
"""
