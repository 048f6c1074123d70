"""A tokenizer small enough to read: one token a word, BERT's special tokens."""

from __future__ import annotations

import json

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{n}" for n in range(60)), "leave", "weeks")
TOKENIZER = json.dumps(
    {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }
)
