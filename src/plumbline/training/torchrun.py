"""torchrun with the same options, which leaves it to the processes to say why they failed.

It ends with their exit code, where torchrun ends with 1 and the traceback of its own code:
`python -P -m plumbline.training.torchrun --nproc-per-node 2 ...`.
"""

import logging
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from torch.distributed import DistError, run
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousError

SIGNALS = (signal.SIGTERM, signal.SIGINT)
MAX_CODE = 128


def main() -> int:
    """Run torchrun; return the exit code of the process that failed first."""
    # Its own handler raises at a second signal too, and would leave the processes behind.
    os.environ["TORCHELASTIC_SIGNALS_TO_HANDLE"] = "SIGHUP,SIGQUIT"
    for number in SIGNALS:
        signal.signal(number, _stop)
    logging.disable(logging.CRITICAL)
    try:
        run.run(run.parse_args(sys.argv[1:]))  # type: ignore[no-untyped-call]  # torch has no types here
    except ChildFailedError as error:
        return _find_code([failure.exitcode for failure in error.failures.values()])
    except SignalException as error:
        return MAX_CODE + error.sigval
    except (RendezvousError, DistError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        sys.stderr.write(f"torchrun: the processes did not meet: {reason}\n")
        return 1
    return 0


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise SignalException("stopped", signal.Signals(number))


def _find_code(codes: list[int]) -> int:
    """Return a shell's exit code; a process that was killed is why others failed."""
    killed = [code for code in codes if code < 0]
    return MAX_CODE - killed[0] if killed else codes[0]


if __name__ == "__main__":
    sys.exit(main())
