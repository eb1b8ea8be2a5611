"""An engine that does as executors do, in this process."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle

from plumbline.contract.errors import PlumblineError


class BackwardEngine:
    """Works on copies of all items, from the last to the first, before it returns anything."""

    def __init__(self, *, is_local: bool = True) -> None:
        self.is_local = is_local
        self.num_items = 0

    def run(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Yield what `work` returns for each item, in their order."""
        outcomes = []
        for item in reversed(items):
            own_work, own_item = cloudpickle.loads(cloudpickle.dumps((work, item)))
            self.num_items += 1
            try:
                outcomes.append((cloudpickle.dumps(own_work(own_item)), None))
            except PlumblineError as error:
                outcomes.append((b"", error))
        for result, error in reversed(outcomes):
            if error is not None:
                raise error
            yield cloudpickle.loads(result)

    def make_folder(self) -> Path:
        """Make a new folder for temporary files."""
        return Path(tempfile.mkdtemp(prefix="plumbline-"))
