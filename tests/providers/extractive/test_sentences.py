"""What is read as a sentence, and what is not."""

import pytest

from app.providers.extractive.language import WORDINGS, Language, language_of
from app.providers.extractive.sentences import length, read_sentences, shortened
from tests.support.model_requests import conversation

ENGLISH = WORDINGS[Language.ENGLISH]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One thing. Another thing! A third?", ["One thing.", "Another thing!", "A third?"]),
        (
            "Dr. Lee uses version 2.1, e.g. for tides. It works.",
            ["Dr. Lee uses version 2.1, e.g. for tides.", "It works."],
        ),
        ("第一句。第二句！还有吗？", ["第一句。", "第二句！", "还有吗？"]),
        ("一つ目です。二つ目ですか？", ["一つ目です。", "二つ目ですか？"]),
        ("- first item\n- second item\n3) third item", ["First item", "Second item", "Third item"]),
        ("Before.\n```python\nimport os\n```\nAfter.", ["Before.", "After."]),
        ("Yeah, we moved to Porto.", ["We moved to Porto."]),
        ("scripts/tides.py runs nightly.", ["scripts/tides.py runs nightly."]),
        ("{'a': 1};\n======\n12345 67890", []),
        ("Fine.\n[tool ls: completed]\noutput: We never said this.", ["Fine."]),
    ],
)
def test_a_message_is_read_as_the_sentences_a_person_sees(text: str, sentences: list[str]) -> None:
    assert [sentence.text for sentence in read_sentences(conversation(("user", text)), ENGLISH)] == sentences


def test_tools_and_systems_do_not_speak() -> None:
    assert read_sentences(conversation(("tool", "We decided."), ("system", "Be kind.")), ENGLISH) == []


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("Who owns it?", True),
        ("备份由谁负责呢", True),
        ("好了吗？", True),
        ("明日ですか。", True),
        ("I know who owns it.", False),
        ("好了。", False),
    ],
)
def test_questions_are_known_in_three_languages(text: str, is_question: bool) -> None:
    (sentence,) = read_sentences(conversation(("user", text)), ENGLISH)
    assert sentence.is_question is is_question


def test_what_follows_a_question_of_somebody_else_is_an_answer() -> None:
    sentences = read_sentences(
        conversation(("user", "Which port? I forgot."), ("assistant", "It is 5433."), ("user", "Good.")), ENGLISH
    )
    assert [sentence.answers for sentence in sentences] == [False, False, True, False]


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["We use Postgres."], Language.ENGLISH),
        (["我们决定使用 PostgreSQL 数据库。"], Language.CHINESE),
        (["データベースは PostgreSQL を使います。"], Language.JAPANESE),
        ([], Language.ENGLISH),
        (["Привет, как дела?"], Language.ENGLISH),
    ],
)
def test_the_language_is_the_one_most_of_the_text_is_in(texts: list[str], language: Language) -> None:
    assert language_of(texts) is language


@pytest.mark.parametrize("text", ["word " * 100, "字" * 200, "word字 " * 100])
def test_a_shortened_text_says_so_and_is_short(text: str) -> None:
    short = shortened(text, 20)
    assert short.endswith("…")
    assert length(short) <= 22
    assert shortened(short, 30) == short
