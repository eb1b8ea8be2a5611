"""From a table to examples: rows are divided by a hash of what the model reads."""

import numpy as np
import pandas as pd

from houses.predictor import INPUTS, NUMBERS
from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.contract.value_types import get_value_type
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, WantedColumn

PRICE = "price"


def ingest(params, examples, manifest):
    notices = []
    rows = pd.DataFrame(read_source(params.data.source, notices))
    hashes = pd.util.hash_pandas_object(rows[list(INPUTS)], index=False)
    rows["digest"] = hashes.map("{:016x}".format)
    rows["place"] = np.digitize(hashes / 2**64, [0.6, 0.8])
    num_read = len(rows)
    rows = rows.drop_duplicates("digest")
    if len(rows) < num_read:
        notices.append(f"{num_read - len(rows)} rows repeat the inputs of another one: left out")
    for number, split in enumerate(SPLITS):
        rows[rows["place"] == number].to_parquet(examples / f"{split}.parquet", index=False)
    parts = [list_rows(examples, split).assign(split=split) for split in SPLITS]
    pd.concat(parts).to_parquet(manifest, index=False)
    return {"rows_read": num_read, "notices": notices}


def read_source(source, notices):
    """Yield the rows of the files; DataError names file, row and column of a wrong cell."""
    wanted = tuple(WantedColumn(name, "", remedy="add the column") for name in (*INPUTS, PRICE))
    request = ReadRequest(wanted, refuse_encoding=True, notices=notices)
    for part in locate_parts([(None, source)], {}):
        for row in part.read_rows(request):
            place = f"{part.name}:{row.number}"
            cells = dict(zip((*INPUTS, PRICE), row.values, strict=True))
            found = {name: parse_cell(place, name, text) for name, text in cells.items()}
            if found["area"] is None or found[PRICE] is None:
                raise DataError(f"{place}: area or price is empty; complete the row, or remove it")
            yield {"id": place, **found}


def parse_cell(place, name, text):
    text = (text or "").strip()
    if not text or name not in (*NUMBERS, PRICE):
        return text or None
    try:
        return get_value_type("double").read_text(text)
    except ValueError:
        raise DataError(f"{place}: {name}: expected a number, found {text!r:.40}") from None


def read_rows(examples, split):
    return pd.read_parquet(examples / f"{split}.parquet")


def list_rows(examples, split):
    rows = read_rows(examples, split)
    district, prices = rows["district"].fillna("unknown"), rows[PRICE].map(str)
    return rows[["id", "digest"]].assign(label=district, length=1, right_answer=prices)


def read_inputs(examples, split):
    rows = read_rows(examples, split)[list(INPUTS)].astype(object)
    return rows.where(rows.notna(), None).to_dict("list")


def shuffle_labels(examples, target, seed, max_rows):
    for split in ("train", "validation"):
        table = read_rows(examples, split).head(max_rows)
        table[PRICE] = np.random.default_rng(seed).permutation(table[PRICE])
        table.to_parquet(target / f"{split}.parquet", index=False)
