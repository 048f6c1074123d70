"""BERT as it is trained here: the same numbers as the reference, without padding.

The rows of a batch lie end to end, and attention stays inside each row. Trained in bf16 with fp32
masters. The names of the parameters are BERT's own, so that a base loads
and the export reads them. MPNet is BERT with a bias for each distance between two tokens, which is
read from the base and not trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.nn.attention.varlen import varlen_attn

LONGEST = 512
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def within_rows(bounds: Tensor) -> Attend:
    """Each row attends to itself; `bounds` says where the rows begin, and the end of the last."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.is_cuda:
            return varlen_attn(query, key, value, bounds, bounds, LONGEST, LONGEST)
        return _row_by_row(query, key, value, bounds, None)

    return attend


def with_distances(bounds: Tensor, places: Tensor, table: Tensor) -> Attend:
    """The same with a bias: `table` holds one for each head and distance, from -511 to 511."""
    if not bounds.is_cuda:
        return lambda query, key, value: _row_by_row(query, key, value, bounds, table)
    owner = torch.repeat_interleave(bounds.diff(), output_size=len(places))

    def same_row(batch: Tensor, head: Tensor, at: Tensor, to: Tensor) -> Tensor:
        return owner[at] == owner[to]

    def biased(score: Tensor, batch: Tensor, head: Tensor, at: Tensor, to: Tensor) -> Tensor:
        return score + table[head, places[to] - places[at] + LONGEST - 1]

    size = len(places)
    mask: BlockMask = create_block_mask(same_row, None, None, size, size, device=places.device)

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        three = [one.transpose(0, 1)[None] for one in (query, key, value)]
        found: Any = flex_attention(*three, score_mod=biased, block_mask=mask)
        flat: Tensor = found[0].transpose(0, 1)
        return flat

    return attend


def _row_by_row(
    query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, table: Tensor | None
) -> Tensor:
    sizes = bounds.diff().tolist()
    parts = zip(*(one.split(sizes) for one in (query, key, value)), strict=True)
    seen = []
    for size, part in zip(sizes, parts, strict=True):
        place = torch.arange(size)
        away = place[None, :] - place[:, None] + LONGEST - 1
        bias = None if table is None else table[:, away]
        heads = [one.transpose(0, 1) for one in part]
        seen.append(F.scaled_dot_product_attention(*heads, attn_mask=bias).transpose(0, 1))
    return torch.cat(seen)


class Attention(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.self = nn.ModuleDict({n: nn.Linear(hidden, hidden) for n in ("query", "key", "value")})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(hidden, hidden), "LayerNorm": nn.LayerNorm(hidden, eps=1e-12)}
        )


class Layer(nn.Module):
    def __init__(self, hidden: int, inner: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(hidden)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(hidden, inner)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(inner, hidden), "LayerNorm": nn.LayerNorm(hidden, eps=1e-12)}
        )
        self.heads, self.dropout = heads, dropout

    def forward(self, states: Tensor, attend: Attend) -> Tensor:
        own = self.attention.self
        parts = [own["query"], own["key"], own["value"]]
        weight = torch.cat([part.weight for part in parts])
        bias = torch.cat([part.bias for part in parts])
        three = F.linear(states, weight, bias).view(len(states), 3, self.heads, -1)
        query, key, value = three.unbind(1)
        flat = attend(query, key, value).flatten(1)
        states = self._added(self.attention.output, flat, states)
        wide = F.gelu(self.intermediate["dense"](states))
        return self._added(self.output, wide, states)

    def _added(self, output: Any, value: Tensor, residual: Tensor) -> Tensor:
        dropped = F.dropout(output["dense"](value), self.dropout, self.training)
        normed: Tensor = output["LayerNorm"](residual + dropped)
        return normed


class Bert(nn.Module):
    """Token states of every layer but those that nobody reads: the last two."""

    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(config["vocab_size"], hidden),
                "position_embeddings": nn.Embedding(config["max_position_embeddings"], hidden),
                "token_type_embeddings": nn.Embedding(config["type_vocab_size"], hidden),
                "LayerNorm": nn.LayerNorm(hidden, eps=config["layer_norm_eps"]),
            }
        )
        heads, layers = config["num_attention_heads"], config["num_hidden_layers"]
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(Layer(hidden, inner, heads, dropout) for _ in range(layers))}
        )
        self.dropout = dropout
        relative = torch.zeros(heads, 2 * LONGEST - 1) if config.get("relative") else None
        self.register_buffer("relative", relative)

    def forward(
        self, ids: Tensor, types: Tensor, places: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The states after the last layer but one, and after the last."""
        tables = self.embeddings
        summed = (
            tables["word_embeddings"](ids)
            + tables["position_embeddings"](places)
            + tables["token_type_embeddings"](types)
        )
        states = F.dropout(tables["LayerNorm"](summed), self.dropout, self.training)
        attend = (
            within_rows(bounds)
            if self.relative is None
            else with_distances(bounds, places, self.relative)
        )
        before = states
        for layer in self.encoder["layer"]:
            before, states = states, layer(states, attend)
        return before, states


class Masters:
    """The fp32 weights behind a bf16 model: gradients go up to them, weights come down."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.exact = [p.detach().clone().float() for p in model.parameters()]
        model.to(dtype)
        self.half = list(model.parameters())
        for one in self.exact:
            one.grad = torch.zeros_like(one)

    def take_gradients(self) -> None:
        """Gradients in fp32, clipped to a norm of one; those of the model are gone."""
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.half]
        torch._foreach_copy_([one.grad for one in self.exact], grads)
        for one in self.half:
            one.grad = None
        nn.utils.clip_grad_norm_(self.exact, 1.0)

    @torch.no_grad()
    def give_weights(self) -> None:
        torch._foreach_copy_(self.half, self.exact)

    @torch.no_grad()
    def load(self, model: nn.Module) -> None:
        """The model in fp32 with the masters' weights."""
        model.float()
        for one, exact in zip(model.parameters(), self.exact, strict=True):
            one.copy_(exact)
