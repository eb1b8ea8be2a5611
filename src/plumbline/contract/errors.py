"""Every error that a user can get, in one tree; each says what was found and what to do.

PlumblineError            exit 1   something went wrong that the message explains
├── ParamsError           exit 2   params.yaml (or an argument) is wrong; nothing was started
├── DataError             exit 1   a source or an example cannot be used as it is
│   └── RejectedError     exit 1   a blocking expectation failed
├── TrainingError         exit 1   a candidate did not train
├── BundleError           exit 1   a trained model on disk is not what its seal says
├── RegistryError         exit 1   the tracking server or registry cannot be used, or refuses
│   ├── AbsentVersionError    the registry answered that it has no such model, alias or version
│   └── JournalError      exit 1   the journal of decisions cannot be used, or was changed
│       └── JournalIntegrityError  the journal was changed, is gone, or disagrees with the registry
├── EvidenceError         exit 1   reports/evidence.json is missing, edited, or of other inputs
├── BusyError             exit 1   another process is at work in this checkout
└── RefusedError          exit 20  the verdict is refuse: a blocking gate failed
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PlumblineError(Exception):
    """An error that the user can act on; its text is shown without a traceback."""

    exit_code = 1


class ParamsError(PlumblineError):
    """Wrong configuration, found before any work is done."""

    exit_code = 2


class DataError(PlumblineError):
    """A source or an example cannot be used as it is."""


class RejectedError(DataError):
    """A blocking expectation failed."""


class TrainingError(PlumblineError):
    """A candidate did not train."""


class BundleError(PlumblineError):
    """A trained model on disk is not what its seal says."""


class RegistryError(PlumblineError):
    """The tracking server or the registry cannot be used."""


class AbsentVersionError(RegistryError):
    """The registry answered that it has no such model, alias or version: it is not unreachable."""


class JournalError(RegistryError):
    """The journal of decisions cannot be used, or is not what was written."""


class JournalIntegrityError(JournalError):
    """The journal was changed, is gone, or disagrees with the registry.

    Nobody may go on as if it were unreachable.
    """


class EvidenceError(PlumblineError):
    """The evidence is missing, edited, or not about the files here."""


class BusyError(PlumblineError):
    """Another process is at work in this checkout."""


class RefusedError(PlumblineError):
    """The verdict is refuse: a blocking gate failed."""

    exit_code = 20


@contextmanager
def explain_damage(path: Path, remedy: str = "run `dvc repro ingest`") -> Iterator[None]:
    """Raise DataError, with what to do, where the block cannot read the file `path`."""
    try:
        yield
    except (OSError, ValueError, TypeError, LookupError, RuntimeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {remedy}") from None
