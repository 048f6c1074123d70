"""The error tree in the docstring matches the classes."""

from __future__ import annotations

import re

from suffice import errors


def drawn() -> dict[str, str]:
    """Each error of the docstring's tree with its parent."""
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([ │├└─]*)([A-Z]\w+)", line)
        if not match or not hasattr(errors, match[2]):
            continue
        depth, name = len(match[1]), match[2]
        path = [entry for entry in path if entry[0] < depth]
        parents[name] = path[-1][1] if path else ""
        path.append((depth, name))
    return parents


def test_the_drawing_is_the_tree() -> None:
    classes = {
        name: value.__mro__[1].__name__
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.SufficeError)
    }
    assert drawn() == classes | {"SufficeError": ""}


def test_an_error_carries_its_remedy() -> None:
    problem = errors.StoreBusy("It is busy.", remedy="Wait.")
    assert str(problem) == "It is busy. Wait."
    assert "suffice[strong]" in str(errors.ExtraMissing("The strong tier", "strong"))
