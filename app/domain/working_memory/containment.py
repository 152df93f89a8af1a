"""Which texts stand whole inside which others, at word boundaries, for all of them in one pass.

An Aho-Corasick automaton over words: the cost grows with the total length of the texts, not with their product.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.working_memory.wording import tokens


@dataclass(slots=True)
class _Node:
    next: dict[str, int] = field(default_factory=dict)
    suffix: int = 0
    needle: int = -1
    """The needle that ends here, -1 for none."""
    report: int = 0
    """The nearest node, this one or along the suffixes, whose needle is still looked for; 0 for none."""


class _Automaton:
    def __init__(self, needles: Sequence[Sequence[str]]) -> None:
        self.nodes = [_Node()]
        self.needle_nodes = [self._add(words, index) for index, words in enumerate(needles)]
        self._link()

    def _add(self, words: Sequence[str], index: int) -> int:
        at = 0
        for word in words:
            following = self.nodes[at].next.get(word)
            if following is None:
                following = len(self.nodes)
                self.nodes[at].next[word] = following
                self.nodes.append(_Node())
            at = following
        if at and self.nodes[at].needle < 0:
            self.nodes[at].needle = index
        return at

    def _link(self) -> None:
        queue = deque(self.nodes[0].next.values())
        while queue:
            at = queue.popleft()
            node = self.nodes[at]
            node.report = at if node.needle >= 0 else self.nodes[node.suffix].report
            for word, following in node.next.items():
                self.nodes[following].suffix = self.step(node.suffix, word)
                queue.append(following)

    def step(self, at: int, word: str) -> int:
        while at and word not in self.nodes[at].next:
            at = self.nodes[at].suffix
        return self.nodes[at].next.get(word, 0)

    def wanted(self, at: int, done: set[int]) -> int:
        """Return the nearest node with a needle that is not done, shortening the way for the next caller."""
        way: list[int] = []
        while (found := self.nodes[at].report) and found in done:
            way.append(at)
            at = self.nodes[found].suffix
        for passed in way:
            self.nodes[passed].report = found
        return found


def find_containing(needles: Sequence[str], haystacks: Sequence[str], *, most: int = 1) -> Mapping[int, list[int]]:
    """Return, by the index of a needle, the first `most` haystacks it stands in; all texts are normalised.

    Empty needles and needles that stand nowhere are left out.
    """
    automaton = _Automaton([tokens(needle) for needle in needles])
    places: dict[int, list[int]] = {}
    done: set[int] = set()
    for index, haystack in enumerate(haystacks):
        at = 0
        for word in tokens(haystack):
            at = automaton.step(at, word)
            found = automaton.wanted(at, done)
            while found:
                hits = places.setdefault(found, [])
                if not hits or hits[-1] != index:
                    hits.append(index)
                if len(hits) >= most:
                    done.add(found)
                found = automaton.wanted(automaton.nodes[found].suffix, done)
    by_needle = ((index, places.get(node)) for index, node in enumerate(automaton.needle_nodes))
    return {index: hits for index, hits in by_needle if hits}
