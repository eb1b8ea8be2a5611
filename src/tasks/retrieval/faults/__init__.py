"""What `plumbline selftest` plants in a search, and the small pipeline it does so in."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.answers import NOT_FINITE
from plumbline.contract.task import SPLITS
from plumbline.process.files import read_json, write_json
from plumbline_selftest.protocol import Fault, FaultSite

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
WEAKER = {"max_epochs: 2": "max_epochs: 1"}
VECTORS, SEARCH = "vectors.safetensors", "search.json"
OTHER_PREFIXES = {"query_prefix": "passage: ", "passage_prefix": "query: "}
Change = Callable[[Any], Any]
# How answers are changed (see faulty_predictor.py), and the gate that must refuse them.
ANSWERS = {
    "one passage for every query": "behaviour",
    "the best passages last": "behaviour",
    "nothing found in upper case": "behaviour",
    "vectors of length 3": "behaviour",
    "right passages of test first": "consistency",
    "old passages first": "slices",
    "an order by chance": "replay",
    "the passage of the row's number": "replay",
    "an empty query answered": "replay",
}
# How answers are changed so that evaluate ends, and what its message says.
ERRORS = {
    "a passage answered twice": "an answer has a passage twice",
    "scores that are no numbers": NOT_FINITE,
}
NO_NUMBERS: tuple[str, Change] = (VECTORS, lambda found: found / (found > 0))
# What a file of the bundle is changed to: the gate export compares it with data, params, weights.
FILES: dict[str, tuple[str, Change]] = {
    "one vector for all passages": (VECTORS, lambda found: found * 0 + found[:1]),
    "vectors of other lengths": (VECTORS, lambda found: found * np.arange(len(found))[:, None]),
    "vectors of other passages": (VECTORS, lambda found: found[::-1].copy()),
    "prefixes exchanged": (SEARCH, lambda found: found["encoder"].update(OTHER_PREFIXES)),
    "another pooling": (SEARCH, lambda found: found["encoder"].update(pooling="first")),
    "another length": ("tokenizer.json", lambda found: found["truncation"].update(max_length=8)),
    "queries cut sooner": (SEARCH, lambda found: found.update(max_chars=8)),
    "an old text": ("corpus.json", lambda found: found["texts"].__setitem__(0, "Old.")),
}


def _copy_queries(before: str, after: str, tables: dict[str, pd.DataFrame]) -> Any:
    rows = tables["test"].head(30)
    texts = before + rows["query"].str.upper() + after
    return {"train": pd.concat([tables["train"], rows.assign(id="a " + rows["id"], query=texts)])}


def _exchange_passages(tables: dict[str, pd.DataFrame]) -> Any:
    test, places = tables["test"], np.arange(len(tables["test"]))
    order = np.where(places % 2, places, places[::-1])
    mixed = test[["passages", "grades"]].iloc[order].reset_index(drop=True)
    return {"test": test.assign(**mixed)}


def _ask_by_title(tables: dict[str, pd.DataFrame]) -> Any:
    titles = tables["corpus"].set_index("id")["text"].str.split(".").str[0]
    own = {split: tables[split]["passages"].str[0].map(titles) for split in SPLITS[1:]}
    return {split: tables[split].assign(query=texts) for split, texts in own.items()}


def _cut_pool(tables: dict[str, pd.DataFrame]) -> Any:
    named = pd.concat([tables[split]["passages"] for split in SPLITS]).explode()
    return {"corpus": tables["corpus"][tables["corpus"]["id"].isin(named)]}


def _plant_rows(change: Change, site: FaultSite) -> None:
    paths = {name: layout.EXAMPLES / f"{name}.parquet" for name in (*SPLITS, "corpus")}
    for name, table in change({name: pd.read_parquet(paths[name]) for name in paths}).items():
        table.to_parquet(paths[name], index=False)
    site.renew_manifest()
    site.accept_data()


def _plant_answers(way: str, site: FaultSite) -> None:
    test, train = (pd.read_parquet(layout.EXAMPLES / f"{name}.parquet") for name in SPLITS[::-2])
    right = dict(zip(test["query"], test["passages"].map(list), strict=True))
    known = {"right": right, "old": train["passages"].explode().unique().tolist()}
    site.wrap_predictor(HERE / "faulty_predictor.py", {"way": way, **known})


def _plant_file(name: str, change: Change, site: FaultSite) -> None:
    path = layout.locate_bundle(site.candidate) / name
    if name == VECTORS:
        save_file({"vectors": change(load_file(path)["vectors"]).astype(np.float16)}, path)
    else:
        found = read_json(path)
        change(found)
        write_json(path, found)
    bundle.seal(path.parent, site.task, site.candidate)


def _refuse(name: str, gate: str, plant: Callable[..., None], *values: Any) -> Fault:
    return Fault(name, gate, "refuse", partial(plant, *values))


# How tables of the examples are changed, and the gate that must refuse them.
ROWS: dict[str, tuple[str, Change]] = {
    "queries of test in train, in capitals": ("leakage", partial(_copy_queries, "", "!")),
    "queries of test in train, with filler": (
        "leakage",
        partial(_copy_queries, "Good morning, I wonder: ", " Thanks for any help"),
    ),
    "passages of other queries": ("consistency", _exchange_passages),
    "the title of the passage as query": ("baselines", _ask_by_title),
    "passages of no query left out": ("export", _cut_pool),
}
FAULTS = (
    *(_refuse(name, gate, _plant_rows, change) for name, (gate, change) in ROWS.items()),
    *(_refuse(way, gate, _plant_answers, way) for way, gate in ANSWERS.items()),
    *(_refuse(name, "export", _plant_file, *change) for name, change in FILES.items()),
    *(Fault(way, why, "error", partial(_plant_answers, way)) for way, why in ERRORS.items()),
    Fault("vectors that are no numbers", NOT_FINITE, "error", partial(_plant_file, *NO_NUMBERS)),
)
