"""Networks that propose ladders."""

import itertools
import math

import numpy as np

from .ladder import Ladder, compute_limit_db, list_stop_ratios
from .search import Proposals
from .series import TOLERANCES
from .strategies import NUM_SAMPLES, Strategy, Textbook, make_seed

# In deviations of the train rows: what lies beyond them is taken for the edge, so that a proposal
# is a ladder whatever is asked.
MAX_FEATURE, MAX_COORDINATE = 4.0, 8.0


class Network(Strategy):
    """Layers that propose ladders for the features of a specification.

    A ladder of a group that no train row had comes from the textbook.
    """

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return NUM_SAMPLES ladders at most."""
        group = find_group(ladder)
        if not self.weights["known"][group]:
            return Textbook({}, {}).propose(ladder, budget)
        features = describe_ladder(ladder) - self.weights["features.mean"]
        features = np.clip(features / self.weights["features.scale"], -MAX_FEATURE, MAX_FEATURE)
        drawn = self.draw(np.tile(features.astype(np.float32), (NUM_SAMPLES, 1)), ladder)
        drawn = np.clip(np.nan_to_num(drawn), -MAX_COORDINATE, MAX_COORDINATE)
        coordinates = drawn * self.weights["scale"][group] + self.weights["mean"][group]
        return decode(ladder, coordinates.astype(float))

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates, with mean 0 and deviation 1, for features [NUM_SAMPLES, K]."""
        raise NotImplementedError

    def apply(self, name: str, units: np.ndarray) -> np.ndarray:
        """Return what the layers `name` make of units; SiLU between them."""
        last = int(self.config["layers"])
        for layer in range(last + 1):
            weight, bias = (self.weights[f"{name}.{layer}.{kind}"] for kind in ("weight", "bias"))
            units = units @ weight.T + bias
            if layer < last:
                units = units / (1 + np.exp(-units))
        return units


class Diffusion(Network):
    """Denoises random numbers into coordinates (DDIM: Song et al. 2021, arXiv:2010.02502)."""

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates [NUM_SAMPLES, NUM_COORDINATES]."""
        random = np.random.default_rng(make_seed(ladder))
        state = random.normal(size=(NUM_SAMPLES, NUM_COORDINATES)).astype(np.float32)
        times = np.linspace(1, 0, int(self.config["steps"]) + 1)
        for time, following in itertools.pairwise(times.tolist()):
            kept, left = compute_signal(time), compute_signal(following)
            embedding = np.tile(embed_time(np.array([time])), (len(state), 1))
            noise = self.apply("model", np.concatenate([features, state, embedding], axis=1))
            clean = (state - math.sqrt(1 - kept) * noise) / math.sqrt(kept)
            clean = np.clip(clean, -MAX_DEVIATION, MAX_DEVIATION)
            noise = (state - math.sqrt(kept) * clean) / math.sqrt(1 - kept)
            state = (math.sqrt(left) * clean + math.sqrt(1 - left) * noise).astype(np.float32)
        return state


class LadderGenerator(Network):
    """Turns random numbers into coordinates in one pass: the generator of a GAN."""

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates [NUM_SAMPLES, NUM_COORDINATES]."""
        random = np.random.default_rng(make_seed(ladder))
        size = (NUM_SAMPLES, int(self.config["noise"]))
        noise = random.normal(size=size).astype(np.float32)
        return self.apply("model", np.concatenate([features, noise], axis=1))


class Regression(Network):
    """One ladder for each topology."""

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return the two ladders, then those of the textbook."""
        own, textbook = super().propose(ladder, budget), Textbook({}, {}).propose(ladder, budget)
        logs = np.concatenate([own.logs[:2], textbook.logs])
        return Proposals(logs, np.append(own.topologies[:2], textbook.topologies))

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates [2, NUM_COORDINATES]: capacitors first, then inductors."""
        heads = self.apply("model", features[:1]).reshape(2, MAX_VALUES)
        return np.column_stack([heads, [-1.0, 1.0]])


NUM_GROUPS = 4  # low-pass and high-pass of order 3, 5, 7; band-pass
MAX_VALUES = 7
NUM_COORDINATES = MAX_VALUES + 1  # the last is the topology
NUM_FREQUENCIES = 8  # of the embedding of time
MAX_DEVIATION = 4.0


def find_group(ladder: Ladder) -> int:
    """Return which distribution of coordinates a ladder has: a high-pass mirrors a low-pass."""
    if ladder.per_branch > 1:
        return NUM_GROUPS - 1
    return (ladder.order - 3) // 2


def describe_ladder(ladder: Ladder) -> np.ndarray:
    """Return the features of a specification in terms of its low-pass prototype [K]."""
    spec = ladder.spec
    groups = np.eye(NUM_GROUPS)[find_group(ladder)]
    inductor, capacitor = 1 / spec.q_inductor, 1 / spec.q_capacitor
    if ladder.per_branch > 1:
        inductor = capacitor = (inductor + capacitor) / ladder.width
    slack = compute_limit_db(spec, ladder.order) - spec.min_attenuation_db
    ratio = max(min(list_stop_ratios(spec)), 1 + 1e-9)
    numbers = [
        math.log(spec.max_loss_db),
        min(max(slack, -5.0), 20.0),
        math.log(math.acosh(ratio)),
        spec.min_attenuation_db,
        inductor,
        capacitor,
        math.log(ladder.width),
        math.log(TOLERANCES[spec.series]),
    ]
    return np.concatenate([groups, numbers])


def decode(ladder: Ladder, coordinates: np.ndarray) -> Proposals:
    """Return the ladders that coordinates [S, NUM_COORDINATES] name; see `encode`."""
    arrangements = np.where(coordinates[:, -1] > 0, 0, 1)
    topologies = 1 - arrangements if ladder.spec.kind == "high-pass" else arrangements
    values = coordinates[:, : ladder.num_parts]
    if ladder.per_branch > 1:
        level, detuning = values[:, : ladder.order], values[:, ladder.order :]
        rising = ladder.rising[topologies].reshape(len(values), ladder.order, 2)
        shift = (2 * rising - 1) * ladder.width * detuning[:, :, None]
        values = (level[:, :, None] + shift).reshape(len(values), -1)
    logs = ladder.references[topologies] + ladder.signs[topologies] * values
    return Proposals(logs, topologies)


def encode(ladder: Ladder, ratios: np.ndarray, topology: int) -> np.ndarray:
    """Return the coordinates of a ladder by the logs of its parts' ratios to the textbook's [P].

    They are logs of the branches' immittances, which makes a high-pass a low-pass; of a resonator,
    of its level and its detuning over the width of the band. The last one is 1 where the first
    branch is inductive, else -1.
    """
    arrangement = 1 - topology if ladder.spec.kind == "high-pass" else topology
    values = ladder.signs[topology] * ratios
    if ladder.per_branch > 1:
        pairs = values.reshape(-1, 2)
        signs = ladder.signs[topology].reshape(-1, 2)
        detuning = (signs * pairs).sum(axis=1) / 2 / ladder.width
        values = np.concatenate([pairs.mean(axis=1), detuning])
    coordinates = np.zeros(NUM_COORDINATES)
    coordinates[: len(values)] = values
    coordinates[-1] = 1.0 - 2.0 * arrangement
    return coordinates


def compute_signal(time: float) -> float:
    """Return the share of the signal's power at a time from 0 to 1 (Nichol and Dhariwal 2021)."""
    angle = (time + 0.008) / 1.008 * math.pi / 2
    return max(math.cos(angle) ** 2, 1e-4)


def embed_time(times: np.ndarray) -> np.ndarray:
    """Return sines and cosines of times [B] at octaves [B, 2 NUM_FREQUENCIES], float32."""
    angles = times[:, None] * math.pi * 2.0 ** np.arange(NUM_FREQUENCIES)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
