"""Decides from its automaton whether a pattern can take more than linear time in `re`.

A backtracking engine repeats work if a text that fits a loop also fits what comes before or after
the loop: the search that starts at each place (`\\s+x`), another loop (`a*b?a*c`), or another way
through the same loop (`(?:a|a)*b`). Each node of the automaton is one character of the pattern;
guards on the characters before and after a place stand for `\\b`, `^`, `$`, look-around of one
character and possessive loops. Longer look-around and atomic groups are read as if they allowed
more than they do, so a pattern without findings is linear, and one with a finding may be.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from re import _constants as op
from re import _parser as parser
from typing import Any

_BEYOND_ASCII = "éßİıſÄЖ中K\u00a0\u2028\x85–—―−‐’‘“”„«»€£¥٣²³①⁰⁴【】［］〔〕†•…\ufeff\u200b"
_CONSTANT = 150
"""A repetition of at most this many counts as a constant factor where it follows another."""
_FEW = 8
"""A repetition of at most this many counts as a constant factor where it nests."""
_LIMIT = 300_000
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_STARTS = (op.AT_BEGINNING, op.AT_BEGINNING_STRING)

Edge = tuple[frozenset[int], int]
"""The characters that may stand before a step, and the node it leads to."""


def superlinear(pattern: str, flags: int = 0, method: str = "search") -> str | None:
    """A text that a pattern reads in more than linear time if it is repeated; `None` if there is
    none. `method` is the method of `re.Pattern` by which the pattern is used."""
    if (word := _nested(_Automaton.of(pattern, flags, method, _FEW))) is not None:
        return word
    automaton = _Automaton.of(pattern, flags, method, _CONSTANT)
    if method == "search" and (word := _restarted(automaton)) is not None:
        return word
    return _in_a_row(automaton)


@dataclass
class _Automaton:
    """States are numbered characters of the pattern; sets of characters are bit masks."""

    chars: str
    method: str
    longest: int
    empty: list[list[tuple[int, int, int]]] = field(default_factory=list)
    """Steps without a character: the next place, and who may stand before and after it."""
    reads: dict[int, tuple[int, int]] = field(default_factory=dict)
    groups: dict[int, tuple[Any, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, pattern: str, flags: int, method: str, longest: int) -> _Automaton:
        tree = parser.parse(pattern, flags)
        written = {char for char in pattern if not char.isascii()}
        chars = "".join(sorted({*map(chr, range(128)), *_BEYOND_ASCII, *written}))
        self = cls(chars, method, longest)
        start = self.place()
        end = self.sequence(tree, start, tree.state.flags)
        self.link(start, end)
        return self

    # The characters of a node

    @property
    def every(self) -> int:
        return (1 << len(self.chars)) - 1

    @property
    def after(self) -> int:
        """Every character, or the end of the text; the last bit says that nothing else is asked."""
        return (1 << len(self.chars) + 2) - 1

    @property
    def sure(self) -> int:
        return 1 << len(self.chars) + 1

    def between(self, first: int, last: int, flags: int) -> int:
        return _between(self.chars, first, last, bool(flags & re.I))

    def category(self, name: Any) -> int:
        found = _category(self.chars, str(name).rpartition("_")[2])
        return self.every & ~found if "_NOT_" in str(name) else found

    def one(self, kind: Any, value: Any, flags: int) -> int | None:
        """The characters of a node that always reads one; `None` for others."""
        if kind is op.LITERAL:
            return self.between(value, value, flags)
        if kind is op.NOT_LITERAL:
            return self.every & ~self.between(value, value, flags)
        if kind is op.ANY:
            return self.every & ~(0 if flags & re.S else self.between(10, 10, 0))
        if kind is op.IN:
            found = 0
            for part, inner in value:
                if part is op.LITERAL:
                    found |= self.between(inner, inner, flags)
                elif part is op.RANGE:
                    first, last = inner
                    found |= self.between(first, last, flags)
                elif part is op.CATEGORY:
                    found |= self.category(inner)
            return self.every & ~found if value[0][0] is op.NEGATE else found
        if kind is op.SUBPATTERN:
            return self.only(value[3], (flags | value[1]) & ~value[2])
        if kind is op.ATOMIC_GROUP:
            return self.only(value, flags)
        if kind is op.BRANCH:
            return _union(self.only(branch, flags) for branch in value[1])
        return None

    def only(self, tree: Any, flags: int) -> int | None:
        if len(tree) != 1:
            return None
        kind, value = tree[0]
        return self.one(kind, value, flags)

    def last(self, tree: Any, flags: int) -> int | None:
        """The characters that can stand last; the start of the text does not count."""
        if not len(tree):
            return None
        kind, value = tree[-1]
        if kind is op.AT and value in _STARTS:
            return 0
        if kind is op.SUBPATTERN:
            return self.last(value[3], (flags | value[1]) & ~value[2])
        if kind is op.BRANCH:
            return _union(self.last(branch, flags) for branch in value[1])
        return self.one(kind, value, flags)

    # The steps of a node

    def place(self) -> int:
        self.empty.append([])
        return len(self.empty) - 1

    def step(
        self, here: int, there: int, before: int | None = None, after: int = -1, sure: bool = True
    ) -> None:
        """Allow a step. `sure`: the guards say all that the pattern asks of the text here."""
        before = self.every if before is None else before
        after = after & self.after & ~self.sure | (self.sure if sure else 0)
        self.empty[here].append((there, before, after))

    def sequence(self, tree: Any, here: int, flags: int) -> int:
        for kind, value in tree:
            here = self.node(kind, value, here, flags)
        return here

    def node(self, kind: Any, value: Any, here: int, flags: int) -> int:
        """Add a node at a place; returns the place after it."""
        there = self.place()
        read = (
            None
            if kind in (op.SUBPATTERN, op.ATOMIC_GROUP, op.BRANCH)
            else self.one(kind, value, flags)
        )
        if read is not None:
            state = self.place()
            self.step(here, state)
            self.reads[state] = read, there
        elif kind is op.SUBPATTERN:
            group, added, removed, inner = value
            flags = (flags | added) & ~removed
            self.groups[group] = inner, flags
            self.step(self.sequence(inner, here, flags), there)
        elif kind is op.GROUPREF:
            inner, flags = self.groups[value]
            self.step(self.sequence(inner, here, flags), there)
        elif kind in (op.BRANCH, op.GROUPREF_EXISTS):
            for branch in value[1:] if kind is op.GROUPREF_EXISTS else value[1]:
                start = self.place()
                self.step(here, start)
                self.step(self.sequence(branch or (), start, flags), there)
        elif kind is op.ATOMIC_GROUP:
            if len(value) == 1 and value[0][0] is op.MAX_REPEAT:
                return self.node(op.POSSESSIVE_REPEAT, value[0][1], here, flags)
            self.step(self.sequence(value, here, flags), there)
        elif kind in _REPEATS:
            self.repeat(kind, value, here, there, flags)
        elif kind is op.AT:
            self.border(value, here, there, flags)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            way, inner = value
            self.look(kind is op.ASSERT, way, inner, here, there, flags)
        else:
            raise NotImplementedError(kind)
        return there

    def repeat(self, kind: Any, value: Any, here: int, there: int, flags: int) -> None:
        least, most, inner = value
        if most <= self.longest:
            count = most if most <= 4 else 3
            for number in range(count):
                if number >= least:
                    self.step(here, there)
                here = self.sequence(inner, here, flags)
            self.step(here, there)
            return
        read = self.only(inner, flags)
        possessive = kind is op.POSSESSIVE_REPEAT and most is op.MAXREPEAT and read is not None
        beyond = ~(read or 0) if possessive else -1
        for _ in range(min(least, 4) - 1):
            here = self.sequence(inner, here, flags)
        if not least:
            self.step(here, there, after=beyond)
        body, again = self.place(), self.place()
        self.step(here, body)
        self.step(self.sequence(inner, body, flags), again)
        self.step(again, body)
        self.step(again, there, after=beyond)

    def border(self, kind: Any, here: int, there: int, flags: int) -> None:
        word, end = self.category("WORD"), 1 << len(self.chars)
        other, line = self.after & ~word, self.between(10, 10, 0)
        if kind in _STARTS:
            lines = kind is op.AT_BEGINNING and flags & re.M
            self.step(here, there, line if lines else 0)
        elif kind is op.AT_END:
            if flags & re.M:
                self.step(here, there, after=line | end)
            else:
                self.step(here, there, after=line)
                self.step(here, there, after=end)
        elif kind is op.AT_END_STRING:
            self.step(here, there, after=end)
        else:
            pairs = [(word, other), (other, word)]
            for before, after in (
                pairs if kind is op.AT_BOUNDARY else [(word, word), (other, other)]
            ):
                self.step(here, there, before & self.every, after)

    def look(self, wanted: bool, way: int, inner: Any, here: int, there: int, flags: int) -> None:
        read = self.only(inner, flags)
        if way < 0:
            before = self.last(inner, flags) if wanted else read
            allowed = before if wanted or before is None else self.every & ~before
            self.step(here, there, allowed, sure=False)
            return
        if read is not None:
            self.step(here, there, after=read if wanted else ~read)
            return
        self.step(here, there, sure=False)
        branch = self.place()
        self.step(here, branch)
        self.sequence(inner, branch, flags)

    # The automaton of states

    def link(self, start: int, end: int) -> None:
        """Join the steps between two characters, and number the characters by what sets hold
        them."""
        sources = {start, *(there for _, there in self.reads.values())}
        joined = {place: list(self.joined(place, end)) for place in sources}
        masks = {
            mask
            for steps in joined.values()
            for before, read, _ in steps
            for mask in (before, read)
        }
        kinds: dict[tuple[bool, ...], str] = {}
        for place, char in enumerate(self.chars):
            key = tuple(bool(mask >> place & 1) for mask in masks)
            kinds[key] = min(kinds.get(key, char), char, key=_plainness)
        self.letters = list(kinds.values())
        bits = [1 << self.chars.index(char) for char in self.letters]
        states = {place: number for number, place in enumerate(self.reads)}

        def edges(place: int) -> dict[int, list[Edge]]:
            found: dict[int, list[Edge]] = {}
            for before, read, state in joined[place]:
                if state in states:
                    allowed = frozenset(n for n, bit in enumerate(bits) if before & bit)
                    for number, bit in enumerate(bits):
                        if read & bit:
                            found.setdefault(number, []).append((allowed, states[state]))
            return found

        def ends(place: int, state: int) -> bool:
            """Whether a match is certain here: the pattern may end, or goes on to a place where
            it may."""
            final = [
                after for before, after, to in joined[place] if to == end and before == self.every
            ]
            if self.method == "fullmatch":
                final = [after & (self.sure | self.sure >> 1) for after in final]
            loops = [
                read for before, read, to in joined[place] if to == state and before == self.every
            ]
            return any(after | sum({0, *loops}) == self.after for after in final)

        self.start = edges(start)
        self.steps = [edges(there) for _, there in self.reads.values()]
        self.certain = [ends(there, state) for state, (_, there) in self.reads.items()]
        self.fits = [
            {n for n, bit in enumerate(bits) if read & bit} for read, _ in self.reads.values()
        ]
        self.next = [{to for found in steps.values() for _, to in found} for steps in self.steps]
        self.previous: list[set[int]] = [set() for _ in self.next]
        for state, found in enumerate(self.next):
            for to in found:
                self.previous[to].add(state)
        self.loops = _components(self.next)
        # An attempt that comes through a certain match falls back no further than to it.
        self.open = _components(
            [
                set() if self.certain[n] else {to for to in found if not self.certain[to]}
                for n, found in enumerate(self.next)
            ]
        )

    def joined(self, source: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The steps from a place to the next character: who stands before, what is read, where. A
        step to the end reads what may stand after the match."""
        stack = [(source, self.every, self.after, frozenset([source]))]
        while stack:
            place, before, after, path = stack.pop()
            if place == end:
                yield before, after, end
            elif place in self.reads and (read := self.reads[place][0] & after):
                yield before, read, place
            for there, earlier, later in self.empty[place]:
                if there not in path and (left := before & earlier) and (right := after & later):
                    stack.append((there, left, right, path | {there}))

    def looping(self, components: list[int]) -> Iterator[int]:
        for state, found in enumerate(self.next):
            if not self.certain[state] and any(components[to] == components[state] for to in found):
                yield state


Node = tuple[Any, ...]
Onward = Callable[[Node], Iterator[Node]]


def _walk(
    automaton: _Automaton, starts: list[Node], onward: Onward, found: Callable[[Node], bool]
) -> str | None:
    """The letters on the way from one of the starts to a node that is searched for. The last item
    of a node is the letter read last."""
    parents: dict[Node, Node | None] = dict.fromkeys(starts)
    queue = deque(starts)
    while queue and len(parents) < _LIMIT:
        here = queue.popleft()
        for there in onward(here):
            if there in parents:
                continue
            parents[there] = here
            if found(there):
                word, place = "", there
                while (parent := parents[place]) is not None:
                    word, place = automaton.letters[place[-1]] + word, parent
                return word
            queue.append(there)
    return "" if queue else None


def _at(*goal: int) -> Callable[[Node], bool]:
    """Whether a node begins like the goal."""
    return lambda node: node[: len(goal)] == goal


def _grouped(states: Iterable[int], part: list[int]) -> list[list[int]]:
    """The states of each strongly connected part. One walk from all states of a part tells that no
    state of it has what is searched for; only else each state is asked alone."""
    groups: dict[int, list[int]] = {}
    for state in states:
        groups.setdefault(part[state], []).append(state)
    return list(groups.values())


def _nested(automaton: _Automaton) -> str | None:
    """A text that one loop reads in two ways: exponential time."""
    for group in _grouped(automaton.looping(automaton.open), automaton.open):
        onward = _twice(automaton, group[0])
        starts: list[Node] = [(n, n, False, letter) for n in group for letter in automaton.fits[n]]
        if _walk(automaton, starts, onward, lambda node: node[0] == node[1] and node[2]) is None:
            continue
        for one in group:
            starts = [(one, one, False, letter) for letter in automaton.fits[one]]
            word = _walk(automaton, starts, onward, _at(one, one, True))
            if word is not None:
                return word
    return None


def _twice(automaton: _Automaton, state: int) -> Onward:
    part, steps = automaton.open, automaton.steps

    def onward(node: Node) -> Iterator[Node]:
        one, other, apart, last = node
        for letter in steps[one].keys() & steps[other].keys():
            for n, (before, to) in enumerate(steps[one][letter]):
                for m, (earlier, beside) in enumerate(steps[other][letter]):
                    inside = part[to] == part[beside] == part[state]
                    if inside and last in before and last in earlier:
                        split = apart or to != beside or (one == other and n != m)
                        yield to, beside, split, letter

    return onward


def _restarted(automaton: _Automaton) -> str | None:
    """A text that leads the search from each of its places into one loop."""
    for group in _grouped(automaton.looping(automaton.open), automaton.open):
        onward = _from_everywhere(automaton, group[0])
        starts: list[Node] = [(-1, n, letter) for n in group for letter in automaton.fits[n]]
        if _walk(automaton, starts, onward, lambda node: node[0] == node[1]) is None:
            continue
        for state in group:
            starts = [(-1, state, letter) for letter in automaton.fits[state]]
            word = _walk(automaton, starts, onward, _at(state, state))
            if word is not None:
                return word
    return None


def _from_everywhere(automaton: _Automaton, state: int) -> Onward:
    part, steps = automaton.open, automaton.steps
    towards = _reached(automaton.previous, state)

    def onward(node: Node) -> Iterator[Node]:
        one, loop, last = node
        into = automaton.start if one < 0 else steps[one]
        for letter, edges in steps[loop].items():
            again = [to for before, to in edges if last in before and part[to] == part[state]]
            first = [to for before, to in into.get(letter, ()) if last in before and to in towards]
            for to in [-1, *first] if one < 0 else first:
                for back in again:
                    yield to, back, letter

    return onward


def _in_a_row(automaton: _Automaton) -> str | None:
    """A text that two loops of a pattern read, one after the other."""
    whole, following, fits = automaton.loops, automaton.next, automaton.fits
    loops = [n for n, to in enumerate(following) if any(whole[one] == whole[n] for one in to)]
    firsts = _grouped(loops, whole)
    for others in _grouped(automaton.looping(automaton.open), automaton.open):
        towards = _reached(automaton.previous, others[0])
        for states in firsts:
            if states[0] not in towards or whole[others[0]] == whole[states[0]]:
                continue
            onward = _from_loop_to_loop(automaton, states[0], others[0], towards)
            pairs = list(product(states, others))
            starts: list[Node] = [(s, s, o, n) for s, o in pairs for n in fits[s] & fits[o]]
            if _walk(automaton, starts, onward, lambda node: node[1] == node[2]) is None:
                continue
            for state, other in pairs:
                starts = [(state, state, other, n) for n in fits[state] & fits[other]]
                word = _walk(automaton, starts, onward, _at(state, other, other))
                if word is not None:
                    return word
    return None


def _from_loop_to_loop(automaton: _Automaton, state: int, other: int, towards: set[int]) -> Onward:
    steps, whole, part = automaton.steps, automaton.loops, automaton.open

    def onward(node: Node) -> Iterator[Node]:
        *places, last = node
        first, between, second = (steps[place] for place in places)
        for letter in first.keys() & between.keys() & second.keys():
            ways = (
                [to for before, to in found[letter] if last in before and to in towards]
                for found in (first, between, second)
            )
            for to, over, on in product(*ways):
                if whole[to] == whole[state] and part[on] == part[other]:
                    yield to, over, on, letter

    return onward


def _reached(graph: list[set[int]], start: int) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for to in graph[stack.pop()] - seen:
            seen.add(to)
            stack.append(to)
    return seen


def _components(graph: list[set[int]]) -> list[int]:
    """The number of the strongly connected part of each state."""
    order: list[int] = []
    seen: set[int] = set()
    for root in range(len(graph)):
        stack = [(root, iter(graph[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            here, rest = stack[-1]
            to = next((to for to in rest if to not in seen), None)
            if to is None:
                order.append(here)
                stack.pop()
            else:
                seen.add(to)
                stack.append((to, iter(graph[to])))
    back: list[set[int]] = [set() for _ in graph]
    for here, found in enumerate(graph):
        for to in found:
            back[to].add(here)
    parts = [-1] * len(graph)
    for root in reversed(order):
        if parts[root] < 0:
            waiting = [root]
            while waiting:
                here = waiting.pop()
                if parts[here] < 0:
                    parts[here] = root
                    waiting.extend(to for to in back[here] if parts[to] < 0)
    return parts


def _union(masks: Iterator[int | None]) -> int | None:
    found = list(masks)
    whole = 0
    for mask in found:
        if mask is None:
            return None
        whole |= mask
    return whole


def _mask(chars: str, test: Callable[[str], bool]) -> int:
    return sum(1 << place for place, char in enumerate(chars) if test(char))


@cache
def _between(chars: str, first: int, last: int, any_case: bool) -> int:
    def test(char: str) -> bool:
        cases = (char, char.lower(), char.upper()) if any_case else (char,)
        return any(len(one) == 1 and first <= ord(one) <= last for one in cases)

    return _mask(chars, test)


@cache
def _category(chars: str, kind: str) -> int:
    if kind == "WORD":
        return _mask(chars, lambda char: char.isalnum() or char == "_")
    return _mask(chars, str.isdecimal if kind == "DIGIT" else str.isspace)


def _plainness(char: str) -> tuple[bool, bool, bool, str]:
    return not char.isprintable(), not char.isascii(), not char.isalnum(), char
