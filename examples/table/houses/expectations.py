"""Which data are refused, and which test rows are copies."""

import pandas as pd

from houses.data import read_rows
from houses.predictor import INPUTS
from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from plumbline.contract.task import SPLITS


def build_table(params, examples, manifest, facts):
    rows = pd.concat([read_rows(examples, split) for split in SPLITS])
    return manifest.read().merge(rows[["id", *INPUTS]], on="id")


def build_checks(params, table):
    least, checks = 1 - params.validation.max_gaps, []
    remedy = "repair the source, or raise validation.max_gaps"
    for name in INPUTS:
        filled = expect("expect_column_values_to_not_be_null", column=name, mostly=least)
        checks.append(Check(f"gaps_{name}", filled, "blocking", f"{name} is known", remedy))
    return checks


def find_leaks(params, examples):
    leaks, earlier = [], set()
    for split in SPLITS:
        rows = read_rows(examples, split)
        found = rows.loc[rows["digest"].isin(earlier), "id"]
        leaks.append(Leak("exact", split, len(found), len(rows), tuple(found[:5])))
        earlier.update(rows["digest"])
    return leaks[1:]
