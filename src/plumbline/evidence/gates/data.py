"""Gates on the data: was it accepted, does it cover what it should, does it leak?"""

from plumbline.contract.task import SPLITS
from plumbline.evidence.gates.facts import Facts, Finding
from plumbline.statistics import intervals


def accepted(facts: Facts) -> Finding:
    """Pass if validation accepted the very manifest that was scored, by the very suite that params ask for."""
    if facts.validation["manifest"] != facts.manifest_digest:
        return Finding(
            "fail", "data/manifest.parquet is not the one that was validated; run `dvc repro`"
        )
    if facts.validation["examples"] != facts.examples_digest:
        return Finding("fail", "data/examples is not what was validated; run `dvc repro`")
    if facts.validation["suite"] != facts.suite:
        return Finding(
            "fail",
            "validation did not ask all that params.yaml asks for; run `dvc repro -f validate`",
        )
    blocked = [
        c["name"]
        for c in facts.validation["checks"]
        if not c["passed"] and c["severity"] == "blocking"
    ]
    if facts.validation["accepted"] is not True or blocked:
        return Finding("fail", "validation rejected this data; see reports/validation.html")
    return Finding("pass", "validation accepted exactly these data")


def coverage(facts: Facts) -> Finding:
    """Pass if every split holds every class, and the test split more than one."""
    held = {split: set(rows["label"]) for split, rows in facts.manifest.groupby("split")}
    classes = set().union(*held.values())
    missing = [
        f"{label} in {split}"
        for split in SPLITS
        for label in sorted(classes - held.get(split, set()))
    ]
    if len(held.get("test", set())) < 2:
        return Finding(
            "fail",
            "the test split holds fewer than two classes: any constant answer is perfect there",
        )
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return Finding("fail", f"no examples of {', '.join(missing[:3])}{more}", len(missing), 0)
    return Finding("pass", f"all {len(classes)} classes stand in every split", 0, 0)


def leakage(facts: Facts) -> Finding:
    """Pass if no more of a held-out split than allowed also stands in a split before it."""
    if not facts.leaks:
        raise ValueError("the task looked for no leak")
    limits = facts.limits.max_leakage.model_dump()
    worst = max(facts.leaks, key=lambda leak: leak.num_leaked / leak.num_rows - limits[leak.kind])
    share, limit = worst.num_leaked / worst.num_rows, limits[worst.kind]
    found = intervals.proportion(worst.num_leaked, worst.num_rows, facts.limits.confidence)
    kinds = {
        "exact": "stand word for word",
        "near": "nearly stand",
        "group": "have others of their group",
    }
    said = f"{worst.num_leaked:,} of {worst.num_rows:,} {worst.split} examples {kinds[worst.kind]} in a split before it"
    if share > limit:
        return Finding("fail", f"{said}: {'; '.join(worst.examples[:3])}", share, limit, found)
    return Finding("pass", said, share, limit, found)
