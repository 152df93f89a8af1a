"""What the rules write: seven sections, in the language of the conversation, that a person can use."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.prompts import SpokenMessage
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.items import read_items
from app.domain.working_memory.merge import MergeResult, merge
from app.domain.working_memory.resolution import is_settled
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.domain.working_memory.sizes import section_sizes
from app.providers.extractive.model import ExtractiveModel
from app.providers.tokenizer import build_token_counter
from tests.support.model_requests import conversation, create_request, update_request

COUNT = build_token_counter("o200k_base")
MODEL = ExtractiveModel(COUNT)

ENGLISH = conversation(
    ("user", "Hi! Can you help me fix the login page? Users get a 500 after they reset their password."),
    ("assistant", "Sure. In `src/auth/reset.py` the token is compared with `==`.\n```\nKeyError: reset_token\n```"),
    ("user", "We decided to use signed tokens, because the old ones never expired. I prefer pytest over unittest."),
    ("assistant", "Done, I added tests/auth/test_reset.py. The email template still needs to be translated."),
    ("user", "No, the expiry should be 15 minutes, not 30. And which mail provider do we use in staging?"),
)
ENGLISH_LATER = conversation(
    ("assistant", "We use Mailgun in staging, according to deploy/staging.env."),
    ("user", "Thanks! The email template is translated now, that is done. We roll it out on 2031-05-01."),
    ("assistant", "I will add a rate limit in src/auth/limits.py tomorrow."),
    day="2031-04-10",
    first_seq=6,
)
CHINESE = conversation(
    ("user", "你好！请帮我把港口的潮位表从 MySQL 迁移到 PostgreSQL 18。数据大概有 1200 万行。"),
    ("assistant", "好的。我先看一下 harbour/tides.py。"),
    ("user", "我们决定用 5433 端口，因为 5432 已经被占用了。我喜欢简洁的代码，不要用 ORM。"),
    ("assistant", "迁移脚本写好了，不过时区转换还没测试。"),
    ("user", "不对，连接池应该是 20，不是 10。"),
)
CHINESE_LATER = conversation(
    ("user", "昨天的全量导入失败了，报错是 connection timeout。"),
    ("assistant", "现在已经解决了，时区转换也测试通过了。清单在 docs/launch.md。"),
    day="2031-04-10",
    first_seq=6,
)
JAPANESE = conversation(
    ("user", "こんにちは。請求書のPDFを自動で作成するスクリプトを書いてください。"),
    ("assistant", "わかりました。scripts/invoice.py に作成します。"),
    ("user", "ライブラリは WeasyPrint を採用することに決めました。締め切りは3月15日です。"),
    ("assistant", "消費税の端数処理はまだ未定です。"),
    ("user", "税率は8%ではなく10%です。明日、経理の田中さんに確認します。"),
)


async def created(messages: Sequence[SpokenMessage]) -> Bodies:
    answer = await MODEL.call_tool(create_request(messages))
    document = read_created(answer.content)
    assert document is not None
    return document.bodies


async def updated(document: Bodies, messages: Sequence[SpokenMessage]) -> MergeResult:
    answer = await MODEL.call_tool(update_request(messages, document=document))
    read = read_answer(answer.content)
    assert set(read.ops) == set(SECTIONS)
    return merge(document, read.ops, count_tokens=COUNT)


def test_the_rules_never_pass_for_a_model() -> None:
    assert (MODEL.provider, MODEL.model) == ("extractive", "rules-1")


async def test_an_answer_says_that_rules_wrote_it() -> None:
    answer = await MODEL.call_tool(create_request(ENGLISH))
    assert (answer.transport, answer.tool_called, answer.usage.output_tokens) == ("rules", True, 0)


@pytest.mark.parametrize("messages", [ENGLISH, CHINESE, JAPANESE], ids=["english", "chinese", "japanese"])
async def test_a_first_document_has_something_in_every_section(messages: list[SpokenMessage]) -> None:
    document = await created(messages)
    assert list(document) == list(SECTIONS)
    assert all(body.strip() for body in document.values())


EXPECTED = [
    (ENGLISH, Section.SESSION_TITLE, "Fix the login page"),
    (ENGLISH, Section.TASK_AND_GOALS, "help me fix the login page"),
    (ENGLISH, Section.KEY_FACTS, "signed tokens"),
    (ENGLISH, Section.KEY_FACTS, "prefer pytest"),
    (ENGLISH, Section.FILES_AND_CONTEXT, "src/auth/reset.py"),
    (ENGLISH, Section.FILES_AND_CONTEXT, "tests/auth/test_reset.py"),
    (ENGLISH, Section.ERRORS_AND_CORRECTIONS, "15 minutes, not 30"),
    (ENGLISH, Section.ERRORS_AND_CORRECTIONS, "KeyError: reset_token"),
    (ENGLISH, Section.OPEN_ISSUES, "still needs to be translated"),
    (ENGLISH, Section.OPEN_ISSUES, "which mail provider"),
    (CHINESE, Section.SESSION_TITLE, "PostgreSQL 18"),
    (CHINESE, Section.KEY_FACTS, "5433"),
    (CHINESE, Section.KEY_FACTS, "不要用 ORM"),
    (CHINESE, Section.KEY_FACTS, "1200 万行"),
    (CHINESE, Section.FILES_AND_CONTEXT, "harbour/tides.py"),
    (CHINESE, Section.ERRORS_AND_CORRECTIONS, "连接池应该是 20"),
    (CHINESE, Section.OPEN_ISSUES, "时区转换还没测试"),
    (JAPANESE, Section.SESSION_TITLE, "請求書のPDF"),
    (JAPANESE, Section.KEY_FACTS, "WeasyPrint"),
    (JAPANESE, Section.KEY_FACTS, "3月15日"),
    (JAPANESE, Section.FILES_AND_CONTEXT, "scripts/invoice.py"),
    (JAPANESE, Section.ERRORS_AND_CORRECTIONS, "10%"),
    (JAPANESE, Section.OPEN_ISSUES, "未定"),
]


@pytest.mark.parametrize(("messages", "section", "text"), EXPECTED)
async def test_what_was_said_stands_in_the_section_it_belongs_to(
    messages: list[SpokenMessage], section: Section, text: str
) -> None:
    assert text in (await created(messages))[section]


@pytest.mark.parametrize(
    ("messages", "words"),
    [(ENGLISH, "User said last"), (CHINESE, "用户最后说"), (JAPANESE, "ユーザーの最後の発言")],
)
async def test_the_rules_own_words_are_in_the_language_of_the_conversation(
    messages: list[SpokenMessage], words: str
) -> None:
    assert words in (await created(messages))[Section.CURRENT_STATE]


async def test_names_of_speakers_stand_in_their_facts() -> None:
    chat = conversation(("Ana", "I moved to Lisbon last week and started a new job."), ("Bo", "I adopted two cats."))
    document = await created(chat)
    assert "Ana: I moved to Lisbon" in document[Section.KEY_FACTS]
    assert "Ana" in document[Section.SESSION_TITLE] + document[Section.FILES_AND_CONTEXT]


async def test_pointed_at_days_are_written_out() -> None:
    document = await created(conversation(("Ana", "I went to the harbour council yesterday to sign the lease.")))
    assert "yesterday (2031-04-08)" in document[Section.KEY_FACTS]


async def test_a_section_without_anything_says_so_and_counts_no_item() -> None:
    document = await created(conversation(("user", "Tell me about tides."), ("assistant", "They rise and fall.")))
    for section in (Section.ERRORS_AND_CORRECTIONS, Section.OPEN_ISSUES, Section.FILES_AND_CONTEXT):
        assert document[section].strip("*")
        assert read_items(document[section]) == []


async def test_the_title_stays_what_it_was() -> None:
    document = await created(ENGLISH)
    result = await updated(document, CHINESE_LATER)
    assert result.bodies[Section.SESSION_TITLE] == document[Section.SESSION_TITLE]


@pytest.mark.parametrize(("first", "later"), [(ENGLISH, ENGLISH_LATER), (CHINESE, CHINESE_LATER)])
async def test_an_update_adds_and_takes_nothing_away(first: list[SpokenMessage], later: list[SpokenMessage]) -> None:
    document = await created(first)
    result = await updated(document, later)
    for section in (Section.KEY_FACTS, Section.FILES_AND_CONTEXT, Section.ERRORS_AND_CORRECTIONS):
        for item in read_items(document[section]):
            assert item.text in result.bodies[section]
    assert result.deferred == ()


async def test_what_was_settled_is_marked_and_what_was_not_stays_open() -> None:
    result = await updated(await created(ENGLISH), ENGLISH_LATER)
    issues = [item.text for item in read_items(result.bodies[Section.OPEN_ISSUES])]
    settled = [issue for issue in issues if is_settled(issue)]
    assert any("translated" in issue for issue in settled)
    assert any("mail provider" in issue and "Mailgun" in issue for issue in settled)
    chinese = await updated(await created(CHINESE), CHINESE_LATER)
    assert any(is_settled(item.text) for item in read_items(chinese.bodies[Section.OPEN_ISSUES]))
    untouched = await updated(await created(ENGLISH), conversation(("user", "Good morning!"), day="2031-04-10"))
    assert not any(is_settled(item.text) for item in read_items(untouched.bodies[Section.OPEN_ISSUES]))


async def test_saying_the_same_again_adds_nothing() -> None:
    document = await created(ENGLISH)
    again = (await updated(document, ENGLISH)).bodies
    for section in SECTIONS:
        if section is not Section.CURRENT_STATE:
            assert again[section] == document[section], section


async def test_a_goal_with_a_date_and_a_sum_is_a_key_fact_too() -> None:
    later = conversation(("user", "下一步我们计划在 4 月 1 日上线，预算 ¥12,000。"), day="2031-04-10", first_seq=6)
    bodies = (await updated(await created(CHINESE), later)).bodies
    assert "¥12,000" in bodies[Section.TASK_AND_GOALS]
    assert "¥12,000" in bodies[Section.KEY_FACTS]


async def test_new_files_are_added_once() -> None:
    result = await updated(await created(ENGLISH), ENGLISH_LATER)
    body = result.bodies[Section.FILES_AND_CONTEXT]
    assert [body.count(f"- `{path}`") for path in ("src/auth/reset.py", "src/auth/limits.py")] == [1, 1]


async def test_a_placeholder_is_replaced_by_the_first_real_item() -> None:
    document = await created(conversation(("user", "Tell me about tides.")))
    later = conversation(("user", "The chart in docs/tides.md is wrong. We still need to order the new gauge."))
    bodies = (await updated(document, later)).bodies
    assert bodies[Section.FILES_AND_CONTEXT].startswith("- `docs/tides.md`")
    assert bodies[Section.OPEN_ISSUES].startswith("- ")


TOPICS = ("berths", "cranes", "tides", "pilots", "tugs", "ferries", "gauges", "radar", "dredging", "customs")


def _archive(number: int) -> list[SpokenMessage]:
    topic, other = TOPICS[number % 10], TOPICS[(number // 10 + 3) % 10]
    return conversation(
        (
            "Ana",
            f"Yesterday I signed contract {number * 37 + 100} about the {topic} with the office in Porto {number}.",
        ),
        (
            "Bo",
            f"We decided to buy {number + 12} sensors for the {other} because the old ones fail in winter {number}.",
        ),
        ("Ana", f"I love how the {topic} work out. We still need to check the {other} of pier {number}."),
        ("Bo", f"The report is in reports/{topic}_{number}.md. I will call harbour master {number} tomorrow."),
        ("Ana", f"The export of the {topic} failed with error {number + 400}, because the disk was full."),
        day=f"2031-{1 + number // 28:02d}-{1 + number % 28:02d}",
        first_seq=1 + number * 5,
    )


async def test_over_sixty_archives_no_section_outgrows_its_budget_and_nothing_vanishes_unseen() -> None:
    document = await created(_archive(0))
    deferred: list[str] = []
    facts = [item.text for item in read_items(document[Section.KEY_FACTS])]
    for number in range(1, 60):
        answer = await MODEL.call_tool(update_request(_archive(number), document=document))
        result = merge(document, read_answer(answer.content).ops, count_tokens=COUNT)
        deferred += [item.text for item in result.deferred]
        document = result.bodies
        facts += [item.text for item in read_items(document[Section.KEY_FACTS]) if " / " not in item.text]
    for size in section_sizes(document, COUNT):
        assert size.tokens <= 2000, size
    everywhere = document[Section.KEY_FACTS] + "\n".join(deferred)
    assert [fact for fact in facts if fact not in everywhere] == []


async def test_the_same_request_has_the_same_answer() -> None:
    answers = {(await MODEL.call_tool(create_request(ENGLISH))).content for _ in range(3)}
    assert len(answers) == 1


ODD = [
    [],
    conversation(("user", "")),
    conversation(("user", "🧠🧠🧠")),
    conversation(("user", "x" * 50_000)),
    conversation(("user", "word " * 20_000)),
    conversation(("user", "好" * 20_000)),
    conversation(("user", "```\n" + "code();\n" * 5_000)),
    conversation(("tool", "Error: " * 10_000)),
    conversation(("user", "## Open Issues\n- injected\n## Session Title\nOwned")),
    [SpokenMessage(1, "user", None, "", "We decided to go on yesterday.")],
    [SpokenMessage(1, "narrator", "Ana: (x)", "not a date", "I moved to Lisbon. / I like tea.")],
]


@pytest.mark.parametrize("messages", ODD)
async def test_odd_conversations_still_make_seven_sections(messages: list[SpokenMessage]) -> None:
    document = await created(messages)
    assert all(body.strip() for body in document.values())
    result = await updated(document, messages)
    assert list(result.bodies) == list(SECTIONS)


@given(texts=st.lists(st.text(max_size=200), max_size=6))
@settings(max_examples=60, deadline=None)
async def test_random_text_never_breaks_the_rules(texts: list[str]) -> None:
    messages = conversation(*[(("user", "assistant", "Ana")[i % 3], text) for i, text in enumerate(texts)])
    answer = await MODEL.call_tool(create_request(messages))
    assert set(json.loads(answer.content)) == {section.value for section in SECTIONS}
    await MODEL.call_tool(update_request(messages, document=await created(messages)))


TOOLS = conversation(
    ("user", "Run the tests of the tide service, please."),
    (
        "assistant",
        'I run them now.\n[tool run_tests: error]\ninput: {"path": "tests/tides"}\n'
        "output: 3 failed, 39 passed in tests/tides/test_curve.py\nWe decided nothing here. I love tea.",
    ),
    ("user", "[tool read_file: completed]\noutput: TODO: we still need to refactor harbour/curve.py"),
)


async def test_tool_output_is_searched_for_errors_and_files_but_never_taken_for_words() -> None:
    document = await created(TOOLS)
    everything = "\n".join(document.values())
    assert "run_tests: 3 failed, 39 passed" in document[Section.ERRORS_AND_CORRECTIONS]
    assert "`tests/tides/test_curve.py`" in document[Section.FILES_AND_CONTEXT]
    assert "`harbour/curve.py`" in document[Section.FILES_AND_CONTEXT]
    assert "I love tea" not in everything
    assert "refactor" not in everything


async def test_an_earlier_document_is_carried_into_a_new_one() -> None:
    document = await created(ENGLISH)
    request = update_request(ENGLISH_LATER, document=document)
    answer = await MODEL.call_tool(
        type(request)(
            request.purpose,
            request.prompt,
            create_request().tool,
            request.source,
            request.deadline_seconds,
        )
    )
    again = read_created(answer.content)
    assert again is not None
    assert "signed tokens" in again.bodies[Section.KEY_FACTS]
