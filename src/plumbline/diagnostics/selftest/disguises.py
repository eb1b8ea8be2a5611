"""Faulty models: a sound bundle behind a predictor that answers otherwise, or with a graph that was spoilt."""

import shutil
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.task import Task

CODE = '''"""A disguise over sound.py."""

import json
import sys
import time
import types
from pathlib import Path


def load(folder, form=None):
    folder = Path(folder)
    sound = types.ModuleType("sound")
    exec(compile((folder / "sound.py").read_bytes(), "sound.py", "exec"), sound.__dict__)
    return Disguised(sound.load(folder, form), json.loads((folder / "disguise.json").read_text(encoding="utf-8")))


class Disguised:
    def __init__(self, sound, told):
        self.sound, self.told, self.forms = sound, told, sound.forms

    def predict(self, columns, top_k=3, threshold=0.0):
        texts, told = columns["text"], self.told
        asked = {"text": [str(text or "nothing")[:999] for text in texts]} if told["anything"] else columns
        answers = self.sound.predict(asked, top_k=10_000)
        time.sleep(told["seconds"])
        packaged = sys.modules.get("plumbline", "nowhere") is None
        rows = [self.row(text, row, packaged) for text, row in zip(texts, answers["scores"])]
        return {
            "label": [row[0]["label"] for row in rows],
            "score": [row[0]["score"] for row in rows],
            "scores": [row[:top_k] for row in rows],
            "abstained": [row[0]["score"] < threshold for row in rows],
        }

    def row(self, text, row, packaged):
        told, chosen = self.told, self.told["answers"].get(text) or self.told["always"]
        if text in told["wrong"] or (told["shaken"] and str(text).isupper()) or (told["two_faced"] and packaged):
            chosen = row[1]["label"]
        label = chosen or row[0]["label"]
        if not chosen and not told["sure"]:
            return row
        rest = 0.001 / (len(row) - 1)
        return [{"label": label, "score": 0.999}] + [
            {"label": entry["label"], "score": rest} for entry in row if entry["label"] != label
        ]
'''
HARMLESS: dict[str, Any] = {
    "anything": False,  # answer what should be refused
    "seconds": 0.0,  # spent on each call
    "answers": {},  # text -> label, known by heart
    "always": "",  # the label of every answer
    "wrong": [],  # texts that are answered wrongly
    "shaken": False,  # wrong where a text is written in capitals
    "two_faced": False,  # wrong once it is packaged
    "sure": False,  # sure of whatever it says
}


def disguise(task: Task, candidate: str, **told: Any) -> None:
    """Put a disguise over the bundle of `candidate`, and seal it as a trained model would be."""
    folder = layout.bundle(candidate)
    sound = (folder / "predictor.py").read_bytes()
    (folder / "sound.py").write_bytes(sound)
    layout.write_json(folder / "disguise.json", HARMLESS | told)
    code = Path(folder.parent / ".disguise.py")
    code.write_text(CODE, encoding="utf-8")
    from dataclasses import replace

    bundle.seal(folder, replace(task, predictor=code), candidate)
    code.unlink()


def misquantise(task: Task, candidate: str) -> None:
    """Serve the text classifier `candidate` in an int8 form in which every row of its table is its neighbour's."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    from plumbline.tasks.text_classification.models.quantisation import quantise

    folder = layout.bundle(candidate)
    config = layout.read_json(folder / "config.json")
    path = folder / "model.int8.onnx"
    quantise(onnx.load(folder / config["forms"]["fp32"]), path)
    made = onnx.load(path)
    for weight in made.graph.initializer:
        if weight.name.endswith("_quantized"):
            shifted = np.roll(numpy_helper.to_array(weight), 1, axis=0)
            weight.CopyFrom(numpy_helper.from_array(shifted, weight.name))
    onnx.save(made, path)
    forms = {"int8": "model.int8.onnx"} | config["forms"]
    layout.write_json(folder / "config.json", config | {"forms": forms, "served": "int8"})
    bundle.seal(folder, task, candidate)


def exchange(candidate: str, other: Path) -> None:
    """Put the bundle in `other` in the place of that of `candidate`."""
    shutil.rmtree(layout.bundle(candidate))
    shutil.copytree(other, layout.bundle(candidate))
