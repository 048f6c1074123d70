"""Rows of token ids in batches, prepared ahead of the GPU."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .bert import LONGEST
from .encoded import UNKNOWN

ROWS = 1024
"""The most rows of a batch."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Ints = np.ndarray[Any, np.dtype[np.int64]]


def batches(
    lengths: Ints, tokens: int, draw: random.Random | None, rows: int = ROWS
) -> Iterator[Ints]:
    """At most so many tokens and rows together; with `draw`, in drawn order."""
    order = np.arange(len(lengths))
    if draw:
        np.random.default_rng(draw.getrandbits(32)).shuffle(order)
    ends = np.cumsum(lengths[order])
    start = 0
    while start < len(order):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + tokens, side="right"))
        stop = max(start + 1, min(stop, start + rows))
        yield order[start:stop]
        start = stop


def filled(arrays: Sequence[Any], tokens: int) -> list[Any]:
    """A batch filled up with empty rows to one size, so that a training step is compiled once."""
    ids, types, marks, places, bounds = arrays
    missing = tokens - len(ids)
    empty = np.zeros(missing, np.int64)
    slots = ROWS + tokens // LONGEST + 1 - (len(bounds) - 1)
    more = np.minimum(bounds[-1] + LONGEST * np.arange(1, slots + 1), tokens)
    return [
        np.concatenate([ids, empty]),
        np.concatenate([types, empty]),
        np.concatenate([marks, np.full(missing, UNKNOWN, marks.dtype)]),
        np.concatenate([places, np.arange(missing) % LONGEST]),
        np.concatenate([bounds, more.astype(bounds.dtype)]),
    ]


def ahead(chosen: Iterator[Ints], make: Callable[[Ints], Any], depth: int = 8) -> Iterator[Any]:
    """What `make` gives for each batch, computed by another thread."""
    waiting: queue.Queue[Any] = queue.Queue(depth)

    def work() -> None:
        for rows in chosen:
            waiting.put((rows, make(rows)))
        waiting.put(None)

    threading.Thread(target=work, daemon=True).start()
    while (item := waiting.get()) is not None:
        yield item


def support_loss(support: Tensor, label: Tensor) -> Tensor:
    """Cross entropy a row; "not supported" counts the other two classes together."""
    three = support.log_softmax(-1)
    exact = three.gather(1, label.clamp(max=2)[:, None])[:, 0]
    return -torch.where(label == 3, three[:, 1:].logsumexp(-1), exact)


class Pace:
    """The learning rate's share of its peak: up over the first steps, then down in a line to
    nothing at the last step, or at a time on the clock where the machine is lent until then and
    that comes first."""

    def __init__(self, steps: int, until: float = 0.0, warm: int = 60) -> None:
        self.steps, self.until, self.warm = steps, until, min(warm, max(1, steps // 20))
        self.begun, self.step = time.time(), 0

    def done(self) -> float:
        """From 0 to 1. The clock starts after the warm-up, which pays for compiling too."""
        if self.until:
            if self.step <= self.warm:
                self.begun = time.time()
            lent = (time.time() - self.begun) / max(1e-9, self.until - self.begun)
            return min(1.0, max(lent, self.step / self.steps))
        return self.step / self.steps

    def next(self, optimizer: torch.optim.Optimizer, peak: float) -> bool:
        """Sets the rate for the next step; False when it is time to stop."""
        self.step += 1
        done = self.done()
        rate = peak * min(self.step / self.warm, max(0.01, 1 - done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        return done < 1
