"""One candidate that trains nothing, one in closed form, one by gradient."""

import json
from pathlib import Path

import numpy as np

from plumbline.contract.records import Learner


def build_learner(params, candidate: str, examples: Path) -> Learner:
    from tasks.line.data import read_points

    kind = params.candidates[candidate].kind
    train = read_points(examples, "train")
    if kind == "gradient":
        return _gradient(params, candidate, train, read_points(examples, "validation"))
    weights = {"slope": 0.0, "intercept": float(train["y"].mean())}

    def solve() -> None:
        if kind == "least_squares":
            weights["slope"], weights["intercept"] = map(
                float, np.polyfit(train["x"], train["y"], 1)
            )

    return Learner(save=lambda folder: _save(folder, weights), solve=solve)


def compare_export(params, candidate: str, folder: Path, columns):
    return []  # the predictor reads the weights


def _gradient(params, candidate, train, validation) -> Learner:
    import torch

    chosen = params.candidates[candidate]

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(1, 1)

        def _loss(self, batch):
            return torch.nn.functional.mse_loss(self.line(batch["x"]), batch["y"])

        def training_step(self, batch):
            return self._loss(batch)

        def validation_step(self, batch):
            return {"loss": self._loss(batch) * len(batch["x"])}

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=chosen.learning_rate), None

    class Points:
        def train_dataloader(self):
            return _batches(train)

        def val_dataloader(self):
            return _batches(validation)

    torch.manual_seed(params.seed)
    module = Line()

    def save(folder: Path) -> None:
        weights = {"slope": module.line.weight.item(), "intercept": module.line.bias.item()}
        _save(folder, weights)

    return Learner(
        save, module=module, data=Points(), max_epochs=chosen.max_epochs, patience=chosen.max_epochs
    )


def _batches(table):
    import torch

    rows = torch.tensor(table[["x", "y"]].to_numpy(), dtype=torch.float32)
    return torch.utils.data.DataLoader(
        [{"x": row[:1], "y": row[1:]} for row in rows], batch_size=32
    )


def _save(folder: Path, weights: dict[str, float]) -> None:
    (folder / "weights.json").write_text(json.dumps(weights), encoding="utf-8")
