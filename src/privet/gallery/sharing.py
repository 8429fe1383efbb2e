"""Randomized response: everybody reports for themselves, and a neighbor has another value in one person's place."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from privet.audits import Claim, Rows
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import randomized_response
from privet.typing import Integers


def _people(kinds: int) -> Rows:
    return Rows(list(range(kinds)), neighbors="replace", most=3)


def _reports(data: Any, size: int) -> Integers:
    """Everybody's value once a draw."""
    return np.broadcast_to(np.array(data, np.int64), (size, len(data)))


def wrong_probability(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(), pick.whole(3, 6)
    generator = np.random.default_rng()

    def broken(data: Any, size: int) -> Any:
        """Randomized response among k values that keeps the truth with the probability for 2 values: the others share
        what is left, and epsilon is larger by log(k - 1)."""
        truth = _reports(data, size)
        other = (truth + generator.integers(1, kinds, truth.shape)) % kinds
        return np.where(generator.random(truth.shape) < 1 / (1 + exp(-epsilon)), truth, other)

    def fixed(data: Any, size: int) -> Any:
        """The truth is exp(epsilon) times as likely as any other value."""
        return randomized_response(_reports(data, size), categories=kinds, epsilon=epsilon)

    return pair("randomized-response-wrong-probability", Claim(epsilon=epsilon), _people(kinds), broken, fixed)


def two_bits_change(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(), pick.whole(3, 5)

    def bits(data: Any, size: int) -> Any:
        """A 1 at the value, 0 at all others, for everybody."""
        return (_reports(data, size)[:, :, None] == np.arange(kinds)).astype(np.int64).reshape(size, -1)

    def broken(data: Any, size: int) -> Any:
        """A value as one bit among k, each bit flipped at all of epsilon: another value changes two bits."""
        return randomized_response(bits(data, size), categories=2, epsilon=epsilon)

    def fixed(data: Any, size: int) -> Any:
        """Each bit has half of epsilon."""
        return randomized_response(bits(data, size), categories=2, epsilon=epsilon / 2)

    return pair("one-hot-bits-at-full-epsilon", Claim(epsilon=epsilon), _people(kinds), broken, fixed)


def asked_again(pick: Pick) -> Pair:
    epsilon, rounds, kinds = pick.epsilon(0.5, 1.2), pick.whole(2, 4), 2

    def asked(data: Any, each: Any, size: int) -> Integers:
        truth = np.tile(_reports(data, size), rounds)
        return randomized_response(truth, categories=kinds, epsilon=each)

    def broken(data: Any, size: int) -> Any:
        """The same people are asked again, with fresh coins and all of epsilon every time."""
        return asked(data, epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """The rounds share epsilon."""
        return asked(data, epsilon / rounds, size)

    return pair("asked-again-at-full-epsilon", Claim(epsilon=epsilon), _people(kinds), broken, fixed)


ITEMS: tuple[Make, ...] = (wrong_probability, two_bits_change, asked_again)
