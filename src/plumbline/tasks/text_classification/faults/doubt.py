"""Text classifiers whose stated doubt means nothing, or that abstain by another threshold."""

import textwrap
from collections.abc import Callable
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.process.files import read_json
from plumbline.statistics.selection import THRESHOLDS
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.faults.models import change_config, plant_config
from plumbline_selftest.protocol import Fault, FaultSite

NOTHING_ASKED, RISK = "  selective: null", 0.2
PROMISE = f"  selective: {{risk: {RISK}, min_coverage: 0.2}}"
OUTPUTS = ["epistemic", "aleatoric"]


def plant_doubt(kind: str) -> Callable[[FaultSite], None]:
    """Return what plants a model with a part of its entropy as epistemic, of this kind."""

    def plant(site: FaultSite) -> None:
        change_config(site, outputs=OUTPUTS)
        plant_config(doubt=kind)(site)

    return plant


def plant_ensemble(site: FaultSite) -> None:
    """Train an ensemble of the fixture's model, that also keeps a stated risk."""
    site.edit_params(NOTHING_ASKED, PROMISE)
    _train_ensemble(site)


def plant_equal_members(site: FaultSite) -> None:
    """Give all members of an ensemble the weights of the first, in torch and in the graph."""
    import onnx
    from safetensors.numpy import load_file, save_file

    _train_ensemble(site)
    folder = layout.locate_bundle(site.candidate)
    weights = load_file(folder / "model.safetensors")
    for name in weights:
        _, _, own = name.split(".", 2)
        weights[name] = weights[f"members.0.{own}"]
    save_file(weights, folder / "model.safetensors")
    path = folder / read_json(folder / "config.json")["forms"]["fp32"]
    model = onnx.load(path)
    firsts: dict[tuple[int, ...], Any] = {}
    for weight in model.graph.initializer:
        shape = tuple(weight.dims)
        if shape in (weights["members.0.table"].shape, weights["members.0.bias"].shape):
            first = firsts.setdefault(shape, onnx.numpy_helper.to_array(weight))
            weight.CopyFrom(onnx.numpy_helper.from_array(first, weight.name))
    onnx.save(model, path)
    bundle.seal(folder, site.task, site.candidate)


def plant_threshold_of_test(site: FaultSite) -> None:
    """Seal the lowest threshold that seems to keep the risk on the test rows."""
    _train_selective(site)
    test = read_split(layout.EXAMPLES, "test", ["text", "label"]).to_pydict()
    answers = bundle.load(layout.locate_bundle(site.candidate)).predict({"text": test["text"]})
    pairs = zip(answers["label"], test["label"], strict=True)
    hits = [answer == label for answer, label in pairs]
    for threshold in THRESHOLDS:
        kept = [
            hit for hit, score in zip(hits, answers["score"], strict=True) if score >= threshold
        ]
        if kept.count(False) <= RISK * len(kept):
            break
    change_config(site, threshold=threshold)


def plant_lower_threshold(site: FaultSite) -> None:
    """Seal a threshold below the one that the validation rows give."""
    _train_selective(site)
    change_config(site, threshold=0.1)


def plant_unasked_threshold(site: FaultSite) -> None:
    """Abstain on the hard rows, though params ask for no such thing."""
    change_config(site, threshold=0.9)


def _train_selective(site: FaultSite) -> None:
    site.edit_params(NOTHING_ASKED, PROMISE)
    site.retrain()


def _train_ensemble(site: FaultSite) -> None:
    """Make the candidate an ensemble of three of what it was, and train it."""
    text = layout.PARAMS.read_text(encoding="utf-8")
    head = f"  {site.candidate}:\n"
    block = text.split(head)[1].split("training:")[0]
    members = textwrap.indent(block, "  ")
    site.edit_params(
        head + block, f"{head}    kind: ensemble\n    members: 3\n    member:\n{members}"
    )
    site.retrain()


FAULTS = (
    Fault("an epistemic doubt that is a constant", "uncertainty", "refuse", plant_doubt("none")),
    Fault("an epistemic doubt that is random", "uncertainty", "refuse", plant_doubt("random")),
    Fault(
        "an ensemble whose members are one and the same",
        "uncertainty",
        "refuse",
        plant_equal_members,
    ),
    Fault("doubt that is not the entropy", "answers", "refuse", plant_doubt("too much")),
    Fault(
        "a threshold that was chosen on the test rows",
        "selective",
        "refuse",
        plant_threshold_of_test,
    ),
    Fault(
        "a threshold below that of the validation rows",
        "selective",
        "refuse",
        plant_lower_threshold,
    ),
    Fault("a model that abstains unasked", "selective", "refuse", plant_unasked_threshold),
    Fault(
        "a threshold moved after the evaluation",
        "is not what the evidence is about",
        "error",
        plant_unasked_threshold,
        before="register",
    ),
    Fault("a sound ensemble that keeps a stated risk", "none", "promote", plant_ensemble),
)
