"""Rows of token ids in batches of like length, prepared ahead of the GPU."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Ints = np.ndarray[Any, np.dtype[np.int64]]


def batches(lengths: Ints, tokens: int, draw: random.Random | None) -> Iterator[Ints]:
    """Neighbours in length together, at most `tokens` with padding; with `draw`, in drawn order."""
    order = np.arange(len(lengths))
    if draw:
        np.random.default_rng(draw.getrandbits(32)).shuffle(order)
    chunk = 40_000 if draw else max(len(order), 1)
    for start in range(0, len(order), chunk):
        part = order[start : start + chunk]
        part = part[np.argsort(lengths[part], kind="stable")]
        made: list[list[int]] = [[]]
        for place in part:
            if (len(made[-1]) + 1) * (lengths[place] + 7) > tokens and made[-1]:
                made.append([])
            made[-1].append(int(place))
        if draw:
            draw.shuffle(made)
        yield from (np.array(rows) for rows in made if rows)


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
