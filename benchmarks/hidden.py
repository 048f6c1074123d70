"""Drafts built from hostile pieces: text that a reader sees or that only software sees, and markup
that moves one into the other."""

from __future__ import annotations

from random import Random

HIDDEN = "quxberrian"
"""A word that is hidden: it stands in comments, attributes, addresses and reasoning."""
SAID = "zorblaxian"
"""A word in statements that a reader sees and no document supports."""
TRUE = "Eligible employees may work remotely up to 3 days per week. [1]"

PIECES = (
    TRUE,
    f"Every {SAID} employee works remotely 17 days per week. [1]",
    "You may work remotely 3 days per week [1].",
    f"<!-- {HIDDEN} 17 days -->",
    f"<!--{HIDDEN}",
    "-->",
    "<!-->",
    f'<img src=x onerror="{HIDDEN}()">',
    f'<iframe srcdoc="{HIDDEN}"></iframe>',
    f"<script>{SAID}()</script>",
    f'<a href="javascript:{HIDDEN}">',
    "</a>",
    f'<p title="{HIDDEN}">',
    "<b>",
    "</b>",
    "<br>",
    "<sup>2</sup>",
    "<b",
    '<a b="',
    "<",
    ">",
    f"<{SAID}-name>",
    "List<int>",
    f"[1](https://example.com/{HIDDEN}-17-days)",
    f"[Handbook](javascript:{HIDDEN}())",
    f'![chart](https://example.com/?q={HIDDEN} "{HIDDEN}")',
    f"[{SAID}](https://example.com)",
    f"[1]: https://example.com/{HIDDEN}\n",
    f"\n[note]: /{HIDDEN} 'title'\n",
    "[",
    "]",
    "](",
    ")",
    "![",
    "]:",
    "[1]",
    f"【1†{HIDDEN} says 17 days】",
    "`",
    "``",
    "\n```\n",
    f"\n```python {HIDDEN} x=1\n",
    "\n~~~\n",
    f"`{SAID}`",
    "&#49;7 days",
    "&lt;script&gt;",
    "&amp;lt;b&amp;gt;",
    "&",
    "&#",
    "lt;",
    "\\",
    "".join(chr(0xE0000 + ord(char)) for char in HIDDEN),
    "\ufe0f\ufe00\ufe01\U000e0100\U000e0101",
    "\u202e17\u202c",
    "\u200b",
    "⚠\ufe0f",
    "\x00\x07",
    "\r",
    "\u2028",
    f"\n## {SAID} leave\n",
    f"\n## 17 {SAID} points\n",
    "\n# Remote work\n",
    "\n1. ",
    "\n- ",
    "\n> ",
    "\n    ",
    "\n\n",
    "\n",
    " ",
    f"\n| Days | {SAID} |\n|---|---|\n| 3 | |\n",
    "| a | b |",
    f"Is it true that {SAID} people get 17 days?",
    "I hope this helps!",
    "**",
    "$",
    f"<think>{HIDDEN}</think>",
    f"<THINK>{HIDDEN}</THINK>",
    "<?php",
    "<![CDATA[",
    "]]>",
)


def hostile_draft(random: Random, most: int = 12) -> str:
    """A draft of a true sentence and hostile pieces."""
    pieces = [random.choice(PIECES) for _ in range(random.randint(1, most))]
    pieces.insert(random.randrange(len(pieces) + 1), f" {TRUE} ")
    return "".join(pieces)
