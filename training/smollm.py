"""SmolLM2 as its GGUF file holds it, in PyTorch, with LoRA adapters that go back into a GGUF file.

Tensors keep llama.cpp's own names and layout (rotary pairs side by side), so what is trained here
is what llama.cpp computes, and an adapter needs no permuting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, GGUFWriter
from gguf.quants import dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from torch.nn import functional

LINEAR = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True, slots=True)
class Shape:
    layers: int
    heads: int
    groups: int
    head: int
    base: float
    epsilon: float


class Linear(nn.Module):
    """A frozen matrix and its adapter."""

    def __init__(self, weight: Tensor, rank: int) -> None:
        super().__init__()
        self.weight = nn.Buffer(weight)
        self.a = nn.Parameter(torch.empty(rank, weight.shape[1]))
        self.b = nn.Parameter(torch.zeros(weight.shape[0], rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
        self.merged = False

    def merge(self) -> None:
        """The adapter into the matrix, rounded to its precision: half the work, for reading."""
        with torch.no_grad():
            self.weight += (self.b @ self.a).to(self.weight.dtype)
        self.merged = True

    def forward(self, x: Tensor) -> Tensor:
        if self.merged:
            return functional.linear(x, self.weight)
        low = functional.linear(x, self.a.to(x.dtype))
        return functional.linear(x, self.weight) + functional.linear(low, self.b.to(x.dtype))


class Block(nn.Module):
    def __init__(self, tensors: dict[str, Tensor], shape: Shape, rank: int) -> None:
        super().__init__()
        self.shape = shape
        for name in LINEAR:
            setattr(self, name, Linear(tensors[name], rank))
        self.attn_norm = nn.Buffer(tensors["attn_norm"])
        self.ffn_norm = nn.Buffer(tensors["ffn_norm"])

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        shape, (batch, length, _) = self.shape, x.shape
        normed = _rms(x, self.attn_norm, shape.epsilon)
        q = self.attn_q(normed).view(batch, length, shape.heads, shape.head)
        k = self.attn_k(normed).view(batch, length, shape.groups, shape.head)
        v = self.attn_v(normed).view(batch, length, shape.groups, shape.head)
        each = shape.heads // shape.groups
        q = _turned(q, cos, sin).transpose(1, 2)
        k = _turned(k, cos, sin).transpose(1, 2).repeat_interleave(each, 1)
        v = v.transpose(1, 2).repeat_interleave(each, 1)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_output(seen.transpose(1, 2).reshape(batch, length, -1))
        normed = _rms(x, self.ffn_norm, shape.epsilon)
        return x + self.ffn_down(functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed))


class SmolLM(nn.Module):
    """Token ids in, logits of a few tokens at one place out. Padding stands at the end, where no
    earlier token sees it, so no mask is needed."""

    def __init__(self, reader: GGUFReader, rank: int, dtype: torch.dtype) -> None:
        super().__init__()
        tensors = {t.name: _tensor(t) for t in reader.tensors}
        self.shape = shape = _shape(reader)
        self.embedding = nn.Buffer(tensors["token_embd.weight"].to(dtype))
        self.norm = nn.Buffer(tensors["output_norm.weight"])
        self.blocks = nn.ModuleList(
            Block(
                {
                    name: tensors[f"blk.{n}.{name}.weight"].to(dtype if name in LINEAR else None)
                    for name in (*LINEAR, "attn_norm", "ffn_norm")
                },
                shape,
                rank,
            )
            for n in range(shape.layers)
        )

    def merge(self) -> None:
        for block in self.blocks:
            for name in LINEAR:
                getattr(block, name).merge()

    def forward(self, ids: Tensor, last: Tensor, labels: Tensor) -> Tensor:
        x = self.embedding[ids]
        half = torch.arange(0, self.shape.head, 2, device=ids.device) / self.shape.head
        angle = torch.arange(ids.shape[1], device=ids.device)[:, None] * self.shape.base**-half
        cos, sin = angle.cos()[:, None].to(x.dtype), angle.sin()[:, None].to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        there = x[torch.arange(len(ids), device=ids.device), last]
        there = _rms(there, self.norm, self.shape.epsilon)
        return there.float() @ self.embedding[labels].float().T


def _rms(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon) * weight).to(x.dtype)


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def _tensor(held: Any) -> Tensor:
    return torch.from_numpy(np.array(dequantize(held.data, held.tensor_type), np.float32))


def _shape(reader: GGUFReader) -> Shape:
    def value(name: str) -> Any:
        return reader.fields[f"llama.{name}"].contents()

    heads = value("attention.head_count")
    return Shape(
        value("block_count"),
        heads,
        value("attention.head_count_kv"),
        value("embedding_length") // heads,
        value("rope.freq_base"),
        value("attention.layer_norm_rms_epsilon"),
    )


def tokenizer_of(reader: GGUFReader) -> Tokenizer:
    """The file's own vocabulary; no special token is read out of text."""
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    digits = pre_tokenizers.Digits(individual_digits=True)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, level])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def averaged(model: SmolLM, adapters: Sequence[Path]) -> None:
    """Gives the model the mean of what several adapters add. Side by side, theirs are one adapter
    of the sum of their ranks, which is exactly that mean."""
    held = [{t.name: _tensor(t) for t in GGUFReader(str(path)).tensors} for path in adapters]
    for number, block in enumerate(model.blocks):
        for name in LINEAR:
            linear, place = getattr(block, name), f"blk.{number}.{name}.weight.lora_"
            device = linear.a.device
            linear.a.data = torch.cat([one[f"{place}a"] for one in held]).to(device)
            both = torch.cat([one[f"{place}b"] for one in held], 1) / len(held)
            linear.b.data = both.contiguous().to(device)


def write_adapter(model: SmolLM, path: Path) -> None:
    """The adapters as a GGUF file that llama.cpp loads beside the base."""
    writer = GGUFWriter(str(path), "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    rank = model.blocks[0].attn_q.a.shape[0]
    writer.add_float32("adapter.lora.alpha", float(rank))
    for number, block in enumerate(model.blocks):
        for name in LINEAR:
            linear = getattr(block, name)
            for part in ("a", "b"):
                value = getattr(linear, part).detach().cpu().numpy().astype(np.float16)
                writer.add_tensor(f"blk.{number}.{name}.weight.lora_{part}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
