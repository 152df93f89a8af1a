"""Which language a conversation is in, and the rules' own few words in it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_KANA: Final = re.compile(r"[\u3041-\u30ff]")
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD: Final = re.compile(r"[A-Za-zÀ-ÿ]+")
CJK: Final = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class Language(StrEnum):
    """A language the rules can write their own words in; English also stands for all others."""

    ENGLISH = "en"
    CHINESE = "zh"
    JAPANESE = "ja"


@dataclass(frozen=True, slots=True)
class Wording:
    """The rules' own words. Placeholders are filled by str.format."""

    user: str
    assistant: str
    conjunction: str
    comma: str
    talk_of: str
    state: str
    last_words: str
    next_step: str
    first_request: str
    people: str
    picture: str
    no_files: str
    no_errors: str
    no_issues: str
    no_facts: str
    no_goals: str
    asked: str
    talk: str
    no_day: str
    empty: str


WORDINGS: Final = {
    Language.ENGLISH: Wording(
        user="User",
        assistant="Assistant",
        conjunction=" and ",
        comma=", ",
        talk_of="{people}: {topics}",
        state="As of {day}, after {count} more messages: {topics}.",
        last_words="{who} said last: {text}",
        next_step="Next: {who}: {text}",
        first_request="First request: {text}",
        people="People in this conversation: {people}",
        picture="{who} shared a picture: {text}",
        no_files="*No files or links mentioned as of {day}.*",
        no_errors="*No errors or corrections noted as of {day}.*",
        no_issues="*No open issues as of {day}.*",
        no_facts="*No facts worth noting as of {day}.*",
        no_goals="*No goal stated as of {day}.*",
        asked="{who} asked: {text}",
        talk="Conversation about {topics}",
        no_day="an unknown day",
        empty="Conversation without words",
    ),
    Language.CHINESE: Wording(
        user="用户",
        assistant="助手",
        conjunction="和",
        comma="、",
        talk_of="{people}：{topics}",
        state="截至 {day}，又有 {count} 条消息：{topics}。",
        last_words="{who}最后说：{text}",
        next_step="下一步：{who}：{text}",
        first_request="最初的请求：{text}",
        people="对话参与者：{people}",
        picture="{who}分享了图片：{text}",
        no_files="*截至 {day} 没有提到文件或链接。*",
        no_errors="*截至 {day} 没有记录到错误或更正。*",
        no_issues="*截至 {day} 没有未决问题。*",
        no_facts="*截至 {day} 没有值得记录的事实。*",
        no_goals="*截至 {day} 没有说明目标。*",
        asked="{who}问：{text}",
        talk="关于{topics}的对话",
        no_day="日期不明",
        empty="没有文字的对话",
    ),
    Language.JAPANESE: Wording(
        user="ユーザー",
        assistant="アシスタント",
        conjunction="と",
        comma="、",
        talk_of="{people}：{topics}",
        state="{day} 時点、新たに {count} 件のメッセージ：{topics}。",
        last_words="{who}の最後の発言：{text}",
        next_step="次にすること：{who}：{text}",
        first_request="最初の依頼：{text}",
        people="会話の参加者：{people}",
        picture="{who}が画像を共有：{text}",
        no_files="*{day} 時点でファイルやリンクの言及はありません。*",
        no_errors="*{day} 時点で誤りや訂正の記録はありません。*",
        no_issues="*{day} 時点で未解決の問題はありません。*",
        no_facts="*{day} 時点で特記すべき事実はありません。*",
        no_goals="*{day} 時点で目標は述べられていません。*",
        asked="{who}の質問：{text}",
        talk="{topics}についての会話",
        no_day="日付不明",
        empty="言葉のない会話",
    ),
}


def language_of(texts: Iterable[str]) -> Language:
    """Return the language that most of the text is in, judged by its script."""
    kana = han = words = 0
    for text in texts:
        kana += len(_KANA.findall(text))
        han += len(_HAN.findall(text))
        words += len(_WORD.findall(text))
    # Two characters of Chinese or Japanese carry about as much as a word of English.
    if kana + han <= 2 * words:
        return Language.ENGLISH
    return Language.JAPANESE if kana * 5 > han else Language.CHINESE
