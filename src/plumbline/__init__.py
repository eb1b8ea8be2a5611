"""plumbline: data goes in, a model that can be trusted comes out."""

from plumbline.contract import cut_bytecode

cut_bytecode.remove_when_met()  # here: any module that is imported from now on may be cut off
