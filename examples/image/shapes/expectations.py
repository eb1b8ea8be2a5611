"""Which data are refused, and which test rows are copies."""

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from shapes.data import list_rows


def build_table(params, examples, manifest, facts):
    return manifest.read()


def build_checks(params, table):
    least = params.validation.min_contrast
    filled = expect("expect_column_values_to_be_between", column="contrast", min_value=least)
    remedy = "leave empty pictures out, or lower validation.min_contrast"
    return [Check("contrast", filled, "blocking", "no picture is empty", remedy)]


def find_leaks(params, examples):
    earlier, leaks = set(list_rows(examples, "train")["digest"]), []
    for split in ("validation", "test"):
        rows = list_rows(examples, split)
        found = rows.loc[rows["digest"].isin(earlier), "id"]
        leaks.append(Leak("exact", split, len(found), len(rows), tuple(found[:5])))
        earlier.update(rows["digest"])
    return leaks
