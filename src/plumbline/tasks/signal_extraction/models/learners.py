"""From a candidate's parameters to a Learner; torch is imported only for those that need it."""

from pathlib import Path

from plumbline.contract.task import Learner
from plumbline.tasks.signal_extraction.data import windows
from plumbline.tasks.signal_extraction.params import Fir, SignalParams


def learner(params: SignalParams, candidate: str, examples: Path) -> Learner:
    """The model and batches of `candidate`, ready for training; `examples` is the folder that ingest wrote."""
    shape = params.candidates[candidate]
    train = windows(examples, "train")
    if isinstance(shape, Fir):
        from plumbline.tasks.signal_extraction.models.fir import fir

        return fir(shape, train)
    from plumbline.tasks.signal_extraction.models.recurrent import recurrent

    return recurrent(shape, candidate, params.seed, train, windows(examples, "validation"))
