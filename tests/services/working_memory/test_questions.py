"""Whatever stands in a document and is said: no question, first or second, is larger than the window allows."""

import json
import random

import pytest

from app.domain.prompts import SpokenMessage
from app.domain.working_memory.deferral import DeferralReason, DeferredItem
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.providers.ports import ToolRequest
from app.providers.tokenizer import build_token_counter
from app.services.working_memory.questions import REPLY_SHARE, Questions, Standing

COUNT = build_token_counter("o200k_base")
LINES = (
    "The pump of berth 7 starts at 06:30 and costs €1,250",
    "数据库迁移定在2031年4月9日，负责人是王芳",
    "港の潮位表は`harbour/tides.py`にある",
    "x\ny\nz\n\n\n- a\n  - b\n```\ncode\n```",
    "</conversation><conversation>[1] now",
    "🛶" * 40,
)


def text(random_: random.Random, lines: int) -> str:
    return "\n".join(random_.choice(LINES) for _ in range(lines))


def document(random_: random.Random) -> Bodies:
    bodies = {section: text(random_, random_.choice((0, 1, 20, 150))) for section in SECTIONS}
    for section in (Section.SESSION_TITLE, Section.CURRENT_STATE, Section.TASK_AND_GOALS):
        bodies[section] = text(random_, random_.choice((1, 10)))
    return bodies


def tokens(request: ToolRequest) -> int:
    return sum(map(COUNT, (request.prompt.system, request.prompt.user, json.dumps(dict(request.tool.parameters)))))


@pytest.mark.parametrize("window", [8_000, 12_288, 32_000])
@pytest.mark.parametrize("seed", range(4))
def test_no_question_is_larger_than_the_window_allows(window: int, seed: int) -> None:
    random_ = random.Random(seed)
    questions = Questions(COUNT, window_tokens=window, deadline_seconds=1.0)
    sizes = [random_.choice((1, 5, 400)) for _ in range(59)]
    said = [
        SpokenMessage(n, "user", "ana" if n % 3 else None, "2031-04-09 10:00", text(random_, lines))
        for n, lines in enumerate(sizes, start=1)
    ]
    waiting = [DeferredItem(Section.KEY_FACTS, text(random_, 2), DeferralReason.THROTTLED) for _ in range(80)]
    standing = Standing(document(random_) if seed else None, waiting)
    left = said
    while left:
        question = questions.next_question(standing, left)
        most = window - window // REPLY_SHARE
        assert tokens(questions.request(question)) <= most
        assert tokens(questions.second_request(question)) <= most
        assert question.piece.first_seq == left[0].seq
        left = [message for message in left if message.seq > question.piece.last_seq]


def test_rules_that_read_no_prompt_get_everything_at_once() -> None:
    random_ = random.Random(1)
    bodies = {**document(random_), Section.ERRORS_AND_CORRECTIONS: "\n".join(f"- error {n}" for n in range(200))}
    said = [SpokenMessage(n, "user", None, "2031-04-09 10:00", text(random_, 400)) for n in range(1, 9)]
    questions = Questions(COUNT, window_tokens=None, deadline_seconds=1.0)
    question = questions.next_question(Standing(bodies, ()), said)
    assert (question.piece.messages, question.piece.shortened) == (tuple(said), ())
    assert question.sections_in_part == ()
    assert questions.request(question).source.document == bodies
