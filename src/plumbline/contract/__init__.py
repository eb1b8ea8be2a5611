"""What every stage and task shares: what a task is, parameters, paths, errors and lineage."""

from plumbline.contract import cut_bytecode

cut_bytecode.remove_when_met()  # here: any module that a program imports later may be cut off
