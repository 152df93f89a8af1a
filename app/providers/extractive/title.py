"""The title: the first request in a few words; it stays as it is for as long as the conversation lasts."""

import re
from collections.abc import Iterator
from typing import Final

from app.domain.working_memory.operations import KEEP, SectionOp, Update
from app.providers.extractive.conversation import Conversation
from app.providers.extractive.cues import IMPERATIVE, REQUEST
from app.providers.extractive.items import items_of
from app.providers.extractive.language import CJK
from app.providers.extractive.ranking import best, fact_score, topics
from app.providers.extractive.sentences import Sentence, length

_MOST_WORDS: Final = 10
_FEWEST_WORDS: Final = 5
_SEARCHED: Final = 12
_PREFACE: Final = re.compile(
    r"(?:(?:hi|hello|hey)(?: [\w]+)?[,!.]?\s+|(?:can|could|would|will) you (?:please )?|please |kindly |"
    r"(?:i|we)(?:'d| would) (?:like|love) (?:you )?(?:to )?(?:have )?|(?:i|we) (?:want|need|have) (?:you )?(?:to )?|"
    r"help (?:me|us) (?:to |with )?|let's |how (?:do|can|should) (?:i|we) |你好[，,!！]?|您好[，,!！]?|麻烦(?:你|您)?|"
    r"请(?:你|您)?(?:帮我|帮忙)?|帮我(?:们)?|我(?:们)?(?:想要|想|要|需要)(?:请?(?:你|您))?|能不能|能否|可以|こんにちは[、。]?)",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(
    r"(?:を?(?:書いて|作って|直して|教えて|作成して|して)(?:ください|下さい)|をお願いします|お願いします|ですか|吗|呢|，?谢谢|"
    r",? please|,? thanks)$",
    re.IGNORECASE,
)
_DANGLING: Final = re.compile(
    r"(?: (?:and|or|but|the|a|an|to|of|for|with|in|on|at|so|that|from|by|after|when|while|if|as|is|are|they|we|i|"
    r"you|it|my|our|"
    r"your|their|its|this|which|who|not|be|can|will))+$",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"[,;:，；：、—]\s?| (?=because |so that |and then |which |but )")


def session_title(conversation: Conversation, old: str) -> SectionOp:
    """Return KEEP where there is a title, else one made of the first request, or of who talks about what."""
    if items_of(old):
        return KEEP
    request = next((sentence for sentence in _early(conversation) if _asks(sentence)), None)
    return Update(_headline(conversation, request) if request else _talk(conversation))


def first_request(conversation: Conversation) -> Sentence | None:
    """Return the sentence with which the user set the task; None where people just talk."""
    return next((sentence for sentence in _early(conversation) if _asks(sentence)), None)


def _early(conversation: Conversation) -> Iterator[Sentence]:
    by_user = [sentence for sentence in conversation.sentences if sentence.by_user]
    return iter(by_user[:_SEARCHED])


def _asks(sentence: Sentence) -> bool:
    if length(sentence.text) < 3 or sentence.is_small_talk:
        return False
    if REQUEST.search(sentence.text) or IMPERATIVE.match(sentence.text):
        return True
    return sentence.is_question and not sentence.named and length(sentence.text) > 3


def _headline(conversation: Conversation, request: Sentence) -> str:
    text = _short(_bare(request.text))
    following = [s for s in conversation.sentences if s.seq == request.seq and s.position > request.position]
    for sentence in following:
        if length(text) >= _FEWEST_WORDS:
            break
        text = _cut(f"{text}{_colon(text)}{_bare(sentence.text)}")
    return text[0].upper() + text[1:]


def _bare(text: str) -> str:
    bare = text.strip().rstrip(".!?。！？…")
    for _ in range(3):
        bare = _PREFACE.sub("", bare, count=1) if _PREFACE.match(bare) else bare
    return _ENDING.sub("", bare).strip(" ,，、") or text.strip()


def _short(text: str) -> str:
    """Return the first clauses that make at least five words, cut to ten."""
    clauses: list[str] = []
    start = 0
    for end in _CLAUSE.finditer(text):
        clauses.append(text[start : end.end()])
        start = end.end()
    clauses.append(text[start:])
    kept = ""
    for clause in clauses:
        if length(kept) >= _FEWEST_WORDS:
            break
        kept += clause
    return _cut(kept.strip(" ,;:，；：、—"))


def _cut(text: str) -> str:
    if length(text) <= _MOST_WORDS:
        return text
    pieces = re.findall(r"[A-Za-z0-9_./:+#-]+\s*|.\s*", text) if CJK.search(text) else re.findall(r"\S+\s*", text)
    kept = ""
    for piece in pieces:
        if length(kept + piece) > _MOST_WORDS:
            break
        kept += piece
    return _DANGLING.sub("", kept.strip(" ,;:，；：、—"))


def _colon(text: str) -> str:
    return "：" if CJK.search(text) else ": "


def _talk(conversation: Conversation) -> str:
    wording = conversation.wording
    about = topics(conversation.sentences, conversation.people, 3)
    told = wording.comma.join(about)
    named = [name for name in conversation.people if name not in {wording.user, wording.assistant}]
    if named and about:
        return wording.talk_of.format(people=wording.conjunction.join(named[:3]), topics=told)
    if about:
        return wording.talk.format(topics=told)
    telling = best(conversation.sentences, fact_score, 1) or [s for s in conversation.sentences if not s.is_small_talk]
    first = next(iter([*telling, *conversation.sentences]), None)
    return _short(_bare(first.text)) if first else wording.empty
