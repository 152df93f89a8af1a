"""Which sentences are worth keeping: a score from cues, and the best few without near-repeats."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from app.providers.extractive import cues
from app.providers.extractive.language import CJK
from app.providers.extractive.sentences import Sentence, length, normalised

WORTH_KEEPING: Final = 2.5
_NEAR_REPEAT: Final = 0.6

_WEIGHTS: Final = (
    (cues.DECISION, 3.0),
    (cues.PREFERENCE, 2.5),
    (cues.IDENTITY, 2.0),
    (cues.EVENT, 1.5),
    (cues.TIME, 1.5),
    (cues.NUMBER, 1.5),
    (cues.QUOTED, 1.0),
    (cues.REASON, 0.5),
)
_WORD: Final = re.compile(r"[a-z0-9À-ɏЀ-ӿ][\w'.-]{2,}")


def fact_score(sentence: Sentence) -> float:
    """Return how much a sentence says that one may want to look up later; below WORTH_KEEPING it is chatter.

    What the user states weighs more than what an unnamed assistant explains, unless it is the answer to a question.
    """
    text = sentence.text
    words = length(text)
    if words < 4 or sentence.is_question:
        return 0.0
    score = sum(weight for cue, weight in _WEIGHTS if cue.search(text))
    score += min(2, len(set(cues.NAME.findall(text)))) * 1.0
    if cues.SMALL_TALK.match(text):
        score -= 2.5
    if cues.VAGUE_START.match(text):
        score -= 1.5
    if cues.UNKNOWN.search(text):
        score -= 1.5
    if words > 45:
        score -= 1.0
    if sentence.named or score <= 0:
        return score
    return score + 1.0 if sentence.by_user else (score + 1.5 * sentence.answers) * 0.8


def best(
    sentences: Iterable[Sentence], score: Callable[[Sentence], float], limit: int, known: Collection[str] = ()
) -> list[Sentence]:
    """Return the highest scoring sentences above WORTH_KEEPING, at most limit, in the order they were said.

    known are texts that are written down already: neither they nor near-repeats of a better sentence are chosen.
    """
    ranked = sorted(((score(sentence), -sentence.position, sentence) for sentence in sentences), reverse=True)
    chosen: list[Sentence] = []
    taken = [features(text) for text in known]
    for points, _, sentence in ranked:
        if points < WORTH_KEEPING or len(chosen) >= limit:
            break
        own = features(sentence.text)
        if not any(repeats(own, other) for other in taken):
            chosen.append(sentence)
            taken.append(own)
    return sorted(chosen, key=lambda sentence: sentence.position)


def features(text: str) -> frozenset[str]:
    """Return what a text is compared by: its longer words, and the pairs of characters of Chinese and Japanese."""
    folded = normalised(text)
    pairs = (folded[i : i + 2] for i in range(len(folded) - 1) if CJK.match(folded[i]) and CJK.match(folded[i + 1]))
    return frozenset(_WORD.findall(folded)) | frozenset(pairs)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the smaller set that both have, 0 when either is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def repeats(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether a text says nearly nothing that the other does not."""
    return bool(one) and len(one & other) >= _NEAR_REPEAT * len(one) and len(one & other) >= 2


def topics(sentences: Sequence[Sentence], people: Collection[str], limit: int) -> list[str]:
    """Return the words a stretch of talk is about, most telling first."""
    counts: dict[str, float] = {}
    skip = {part.casefold() for name in people for part in name.split()}
    for sentence in sentences:
        for term in set(_terms(sentence.text)):
            if term.casefold() not in skip and not any(person.startswith(term.casefold()) for person in skip):
                counts[term] = counts.get(term, 0) + (1.0 if " " not in term else 1.6)
    chosen: list[str] = []
    for term in sorted(counts, key=lambda term: (-counts[term], term)):
        if counts[term] < 2 or len(chosen) == limit:
            break
        fuller = _fuller(term, counts)
        if not any(set(fuller.split()) & set(other.split()) or fuller in other or other in fuller for other in chosen):
            chosen.append(fuller)
    return chosen


def _fuller(term: str, counts: Mapping[str, float]) -> str:
    """Return the pair of words that a word mostly stands in, or the word itself."""
    pairs = [other for other in counts if " " in other and term in other.split()]
    commonest = max(pairs, key=lambda pair: (counts[pair], pair), default=term)
    return commonest if counts[commonest] >= max(3.2, 0.5 * counts[term]) else term


def _terms(text: str) -> Iterable[str]:
    content: list[str] = []
    for found in re.finditer(r"[A-Za-z][A-Za-z'+#-]{2,}", text):
        word = found.group()
        content.append(word if word.isupper() or found.start() else word.lower())
    for i, word in enumerate(content):
        if _tells_nothing(word):
            continue
        yield word
        if i + 1 < len(content) and not _tells_nothing(content[i + 1]) and (word + content[i + 1]).islower():
            yield f"{word} {content[i + 1]}"
    yield from _cjk_terms(text)


def _tells_nothing(word: str) -> bool:
    return word.lower() in STOP_WORDS or "'" in word


def _cjk_terms(text: str) -> Iterable[str]:
    for run in re.findall(r"[\u4e00-\u9fff\u30a1-\u30ff]{2,}", text):
        for piece in re.split(
            r"[的了是在我你他她它们和与就都也要把被很这那有不个上下中吗呢吧啊会能想说去来到对为从以及或让用给]", run
        ):
            if 2 <= len(piece) <= 6:
                yield piece


STOP_WORDS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    the and for are but not you all any can had her was one our out day get has him his how man new now old see two way
    who boy did its let put say she too use yes yeah yep hey wow that this with have from they will would there their
    what about which when make like time just know take people into year your good some could them than then look only
    come over think also back after work first well even want because these give most really great awesome amazing cool
    nice thanks thank glad love loved much many more very been being was were does doing done went going gonna got
    getting things thing something anything everything lot lots always never ever still sure right okay feel feels felt
    feeling need needs made makes making keep keeps keeping help helps helped helping hope sounds sound looks looking
    seeing saw seen tell told talk talking here where why how's that's it's i'm soon last next week weekend month today
    tomorrow yesterday recently lately super pretty definitely totally absolutely important special inspiring happy
    excited proud let's life person friend friends each other both kind sort enjoy enjoyed fun best better part show
    shows start started take took taking try tried trying way ways long little big bit hard easy mean means please
    can't don't won't didn't isn't wasn't doesn't yourself myself ourselves everyone someone anyone nothing such same
    own off while before between through during without within again once another around until since bring brings
    brought find found hear heard believe guess seem seems stuff guys wish using used user assistant should must might
    may shall cannot says said saying ask asked asking answer question wonderful incredible beautiful sweet perfect
    chat days years hours minutes moments moment world whole real true truly every few less least far away across
    along against among under above below down per via than though although however maybe perhaps probably actually
    quite rather almost already yet anyway besides especially exactly simply wants change changed added add adds file
    """,
    )
)
