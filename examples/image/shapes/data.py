"""Pictures are drawn and divided; for files of your own, replace `draw_pictures`."""

import hashlib

import numpy as np
import pandas as pd

from plumbline.contract.errors import explain_damage
from plumbline.contract.task import SPLITS
from shapes.predictor import SIZE

SHAPES = ("circle", "cross", "square", "triangle")


def draw_shape(shape, x, y, radius):
    """Draw one shape without noise, of full brightness: [SIZE, SIZE], from 0 to 1."""
    down, right = np.mgrid[:SIZE, :SIZE] - np.array([y, x])[:, None, None]
    inside = {
        "circle": down**2 + right**2 <= radius**2,
        "cross": (np.minimum(abs(down), abs(right)) < 1) & (abs(down) + abs(right) <= radius),
        "square": np.maximum(abs(down), abs(right)) <= 0.85 * radius,
        "triangle": (abs(right) <= (down + radius) / 2) & (down <= radius),
    }
    return inside[shape].astype(float)


def draw_pictures(data, seed):
    """Return pictures [n, SIZE, SIZE] of whole numbers, and their labels [n]."""
    random = np.random.default_rng(seed)
    labels = np.resize(SHAPES, data.num_pictures)
    places = random.uniform(SIZE / 3, SIZE * 2 / 3, (len(labels), 2))
    radii = random.uniform(SIZE / 5, SIZE / 3, len(labels))
    pictures = np.stack(
        [
            draw_shape(label, *place, radius)
            for label, place, radius in zip(labels, places, radii, strict=True)
        ]
    )
    pictures = 80 + 100 * pictures + random.normal(0, data.noise, pictures.shape)
    return pictures.clip(0, 255).astype(np.uint8), labels


def ingest(params, examples, manifest):
    pictures, labels = draw_pictures(params.data, params.seed)
    place = np.random.default_rng(params.seed).choice(3, len(labels), p=[0.5, 0.2, 0.3])
    for number, split in enumerate(SPLITS):
        rows = place == number
        write_split(examples, split, pictures[rows], labels[rows])
    parts = [list_rows(examples, split).assign(split=split) for split in SPLITS]
    pd.concat(parts).to_parquet(manifest, index=False)
    return {"pictures": len(labels)}


def write_split(folder, split, pictures, labels):
    np.savez(folder / f"{split}.npz", pictures=pictures, labels=labels)


def read_split(examples, split):
    """Return pictures [n, SIZE, SIZE] and labels [n]; DataError for a damaged file."""
    path = examples / f"{split}.npz"
    with explain_damage(path), np.load(path) as file:
        return file["pictures"], file["labels"]


def list_rows(examples, split):
    pictures, labels = read_split(examples, split)
    ids = [f"{split}-{row}" for row in range(len(labels))]
    digests = [hashlib.sha256(picture.tobytes()).hexdigest()[:16] for picture in pictures]
    contrast = pictures.std(axis=(1, 2))
    columns = {"id": ids, "label": labels, "length": 1, "digest": digests, "contrast": contrast}
    return pd.DataFrame(columns)


def read_inputs(examples, split):
    return {"pixels": read_split(examples, split)[0].tolist()}


def shuffle_labels(examples, target, seed, max_rows):
    for split in ("train", "validation"):
        pictures, labels = read_split(examples, split)
        labels = np.random.default_rng(seed).permutation(labels[:max_rows])
        write_split(target, split, pictures[:max_rows], labels)
