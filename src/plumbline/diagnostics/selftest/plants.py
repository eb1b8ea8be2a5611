"""The faults that are planted, each with the gate that has to name it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RefusedError
from plumbline.contract.params import load_yaml
from plumbline.diagnostics.selftest.disguises import disguise, exchange, misquantise
from plumbline.diagnostics.selftest.ground import CANDIDATE, settings
from plumbline.quality import runner
from plumbline.registry import champion_pin, promotion
from plumbline.registry.package import packaging
from plumbline.stages.evaluate import evaluate
from plumbline.stages.register import register
from plumbline.stages.train import train

if TYPE_CHECKING:
    import pandas as pd

NO_GATE, EDITED = "none", "was edited"


@dataclass(frozen=True)
class Plant:
    """A fault, and what must come of it: the gate that fails and the verdict, or a word of the error's message."""

    name: str
    gate: str
    verdict: str
    put: Callable[[], None]


@dataclass(frozen=True)
class Outcome:
    """What came of a plant."""

    name: str
    gate: str  # that had to name it
    verdict: str
    failed: tuple[str, ...]  # gates; of an error its message
    caught: bool


def watched(plant: Plant) -> Outcome:
    """Put the fault into the checkout in the cwd, run evaluate and register over it, and see what they say of it."""
    plant.put()
    try:
        evaluate(*settings())
        if plant.gate == EDITED:
            _edit_verdict()
        register(*settings())
    except RefusedError:
        pass
    except PlumblineError as error:
        caught = plant.verdict == "error" and plant.gate in str(error) and not _registered()
        return Outcome(plant.name, plant.gate, "error", (str(error).splitlines()[0],), caught)
    evidence = layout.read_json(layout.EVIDENCE)
    failed = tuple(gate["name"] for gate in evidence["gates"] if gate["status"] == "fail")
    named = plant.gate in failed if plant.gate != NO_GATE else not failed
    promoted = evidence["verdict"] == "promote"
    caught = named and evidence["verdict"] == plant.verdict and promoted == _registered()
    return Outcome(plant.name, plant.gate, evidence["verdict"], failed, caught)


def _registered() -> bool:
    """Whether the challenger in the cwd stands where it could be promoted."""
    from plumbline.registry import model_versions

    holder = model_versions.holder(
        model_versions.client(), settings()[0].registry.model, model_versions.CHALLENGER
    )
    return holder is not None and str(holder.version) != "1"


def _read(split: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(layout.EXAMPLES / f"{split}.parquet")


def _truth(split: str) -> dict[str, str]:
    rows = _read(split)
    return dict(zip(rows["text"], rows["label"], strict=True))


def _disguised(**told: Any) -> Callable[[], None]:
    return lambda: disguise(settings()[1], CANDIDATE, **told)


def _knows_test() -> None:
    disguise(settings()[1], CANDIDATE, answers=_truth("test"))


def _wrong_scale() -> None:
    misquantise(settings()[1], CANDIDATE)


def _control_knows_test() -> None:
    disguise(settings()[1], layout.control(CANDIDATE), answers=_truth("test"))


def _shuffled() -> None:
    exchange(CANDIDATE, layout.bundle(layout.control(CANDIDATE)))


def _majority() -> None:
    label = str(_read("train")["label"].mode()[0])
    disguise(settings()[1], CANDIDATE, always=label, sure=True)


def _one_group() -> None:
    rows = _read("test")
    group = rows["variant"].value_counts().index[1]
    disguise(settings()[1], CANDIDATE, wrong=rows.loc[rows["variant"] == group, "text"].tolist())


def _champion_again() -> None:
    exchange(CANDIDATE, packaging.folder(f"models:/{settings()[0].registry.model}/1"))


def _edit_params(old: str, new: str) -> None:
    text = layout.PARAMS.read_text(encoding="utf-8")
    if old not in text:
        raise LookupError(f"{layout.PARAMS} holds no {old!r}")
    layout.PARAMS.write_text(text.replace(old, new), encoding="utf-8")


def _slow() -> None:
    disguise(settings()[1], CANDIDATE, seconds=0.15)


def _edit_verdict() -> None:
    """What somebody does who wants a refused model through: say that it passed."""
    evidence = layout.read_json(layout.EVIDENCE)
    gates = [gate | {"status": "pass"} for gate in evidence["gates"]]
    layout.write_json(layout.EVIDENCE, evidence | {"verdict": "promote", "gates": gates})


def _copied_into_train(change: Callable[[str], str]) -> Callable[[], None]:
    """A tenth of the test texts also stand in train; validation is made to look away, and the model learns them."""

    def put() -> None:
        import pandas as pd

        test, train_rows, manifest = _read("test"), _read("train"), pd.read_parquet(layout.MANIFEST)
        leaked = test.iloc[::10].copy()
        leaked["text"] = leaked["text"].map(change)
        leaked["id"] = "copy:" + leaked["id"]
        rows = manifest.set_index("id").loc[test["id"].iloc[::10]].reset_index()
        rows["id"], rows["split"] = leaked["id"].to_numpy(), "train"
        pd.concat([train_rows, leaked]).to_parquet(layout.EXAMPLES / "train.parquet", index=False)
        pd.concat([manifest, rows]).to_parquet(layout.MANIFEST, index=False)
        _wave_through()
        train(*settings(), CANDIDATE)

    return put


def _one_class() -> None:
    import pandas as pd

    test, manifest = _read("test"), pd.read_parquet(layout.MANIFEST)
    gone = set(test.loc[test["label"] != test["label"].iloc[0], "id"])
    _without(gone, manifest)


def _own_answers_as_truth() -> None:
    """The test split says whatever the model says of it."""
    from plumbline import bundle

    test = _read("test")
    test["label"] = bundle.load(layout.bundle(CANDIDATE)).predict({"text": test["text"].tolist()})[
        "label"
    ]
    test.to_parquet(layout.EXAMPLES / "test.parquet", index=False)


def _longer_plan() -> None:
    planned = settings()[0].evaluation.planned_looks
    _edit_params(f"planned_looks: {planned}", f"planned_looks: {2 * planned}")


def _few_rows() -> None:
    import pandas as pd

    test, manifest = _read("test"), pd.read_parquet(layout.MANIFEST)
    kept = set(test.groupby("label")["id"].head(2))
    _without(set(test["id"]) - kept, manifest)
    _edit_params("min_slice_rows: 30", "min_slice_rows: 2")


def _without(gone: set[str], manifest: "pd.DataFrame") -> None:
    test = _read("test")
    test[~test["id"].isin(gone)].to_parquet(layout.EXAMPLES / "test.parquet", index=False)
    manifest[~manifest["id"].isin(gone)].to_parquet(layout.MANIFEST, index=False)
    _wave_through()


def _wave_through() -> None:
    """Let validation.json say of these data what it said of others."""
    digests = {
        "manifest": layout.digest(layout.MANIFEST),
        "examples": layout.digest(layout.EXAMPLES),
    }
    layout.write_json(layout.VALIDATION, layout.read_json(layout.VALIDATION) | digests)


def _truncated_suite() -> None:
    import pandas as pd

    params, task = settings()
    checks = task.expectations(params, pd.read_parquet(layout.MANIFEST))[:-6]
    found = layout.read_json(layout.VALIDATION)
    names = {check.name for check in checks}
    kept = [check for check in found["checks"] if check["name"] in names]
    layout.write_json(layout.VALIDATION, found | {"suite": runner.digest(checks), "checks": kept})


def _worn_out() -> None:
    """The planned uses of this test split are spent on other questions."""
    name, planned = settings()[0].registry.model, settings()[0].evaluation.planned_looks
    first = next(entry for entry in promotion.history(name) if entry.action == "look")
    for number in range(planned):
        promotion.look(name, f"question {number}", first.evidence, first.reason)


def _lost_champion() -> None:
    champion_pin.write(settings()[0].registry.model, champion_pin.Pointer("7", "0" * 64))


def _other_champion() -> None:
    champion_pin.write(settings()[0].registry.model, champion_pin.Pointer("1", "0" * 64))


def _nothing() -> None:
    load_yaml(layout.PARAMS)


PLANTS = (
    Plant("nothing: a sound challenger", NO_GATE, "promote", _nothing),
    Plant("an expectation suite with its end cut off", "accepted", "refuse", _truncated_suite),
    Plant(
        "test labels replaced by the model's answers", "accepted", "refuse", _own_answers_as_truth
    ),
    Plant("a test split of one class", "coverage", "refuse", _one_class),
    Plant("test rows copied into train", "leakage", "refuse", _copied_into_train(str)),
    Plant(
        "test rows nearly copied into train",
        "leakage",
        "refuse",
        _copied_into_train(lambda text: f"{text.upper()} !!"),
    ),
    Plant("a model of shuffled labels", "baselines", "refuse", _shuffled),
    Plant("the majority class, dressed up as a model", "baselines", "refuse", _majority),
    Plant("a score above the ceiling of the data", "bounds", "refuse", _knows_test),
    Plant(
        "a model of shuffled labels that knows the answers",
        "control",
        "refuse",
        _control_knows_test,
    ),
    Plant("the champion once more", "champion", "keep", _champion_again),
    Plant("one group broken", "slices", "refuse", _one_group),
    Plant("a model that is always sure", "calibration", "refuse", _disguised(sure=True)),
    Plant("a model that capitals throw off", "behaviour", "refuse", _disguised(shaken=True)),
    Plant("a slow model", "budget", "refuse", _slow),
    Plant("an int8 form with its table off by a row", "parity", "refuse", _wrong_scale),
    Plant(
        "a package that answers otherwise than measured",
        "replay",
        "refuse",
        _disguised(two_faced=True),
    ),
    Plant("a package that answers anything", "replay", "refuse", _disguised(anything=True)),
    Plant("a test split that is worn out", "power", "refuse", _worn_out),
    Plant("more uses of a test split than were planned", "power", "refuse", _longer_plan),
    Plant("a test split too small to tell", "power", "refuse", _few_rows),
    Plant("evidence edited by hand", EDITED, "error", _majority),
    Plant("a champion that the registry does not have", "selftest/7", "error", _lost_champion),
    Plant(
        "a champion with other files than those that were promoted",
        "is not the bundle",
        "error",
        _other_champion,
    ),
)
