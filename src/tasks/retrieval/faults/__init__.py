"""What `plumbline selftest` plants in a search, and the small pipeline it does so in."""

from functools import partial
from pathlib import Path

import pandas as pd

from plumbline.contract import layout
from plumbline_selftest.protocol import Fault, FaultSite
from tasks.retrieval.data.storage import read_queries, write_queries

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
WEAKER = {"max_epochs: 2": "max_epochs: 1"}


def _plant_leaked_queries(site: FaultSite) -> None:
    """Give train a tenth of the queries of test, in capitals."""
    leaked = read_queries(layout.EXAMPLES, "test").head(30)
    leaked = leaked.assign(id="copy of " + leaked["id"], query=leaked["query"].str.upper() + "!")
    train = pd.concat([read_queries(layout.EXAMPLES, "train"), leaked], ignore_index=True)
    write_queries(layout.EXAMPLES, "train", train)
    site.renew_manifest()
    site.accept_data()


def _plant_answers(change: str, site: FaultSite) -> None:
    """Change every answer in the way of this name."""
    site.wrap_predictor(HERE / "faulty_predictor.py", {"change": change})


FAULTS = (
    Fault("queries of test in train, in capitals", "leakage", "refuse", _plant_leaked_queries),
    Fault("one passage for every query", "behaviour", "refuse", partial(_plant_answers, "same")),
    Fault("the best passages last", "behaviour", "refuse", partial(_plant_answers, "reversed")),
)
