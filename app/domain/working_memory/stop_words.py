"""Words that say nothing about a subject, chosen by us: English function words and the vocabulary of sessions."""

from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, for lists that are easier to read as text."""
    return frozenset(text.split())


# No names, also when a sentence begins with them: articles, pronouns, prepositions, conjunctions, auxiliaries, and
# the words of our own headers.
NO_NAMES: Final = word_set(
    """
    a about after again against all also although am an and another any are as at be because been before being below
    between both but by can cannot could did do does down during each either every few for from further had has have
    having he her here hers him his how however i if in into is it its just may me might more most must my neither new
    no nor not now of off on once one only or other our ours out over own same she should since so some still such than
    that the their theirs them then there therefore these they this those though through thus to too under until up
    upon us very was we were what when where whether which while who whom whose why will with within without would yet
    you your yours
    key facts fact decisions session working memory
    """
)
# Words that say nothing about a subject: those, and what is only a way of speaking.
FUNCTION_WORDS: Final = NO_NAMES | word_set(
    """
    above doing else even get gets got herself himself instead itself let like made make many maybe much myself often ok
    okay old others ourselves per perhaps please quite rather re several shall soon themselves today together tomorrow
    toward towards use used using via vs whatever whenever wherever whoever yes yesterday yourself
    """
)

# What a title may share with every other title. Two-letter words count here unless they are listed.
TITLE_WORDS: Final = word_set(
    """
    a an and as at be by for from in is it my of on or our the to up us vs we with
    session sessions title memory memories note notes plan plans working
    """
)
TITLE_CJK: Final = (
    "工作记忆", "会话", "會話", "标题", "標題", "记忆", "記憶", "笔记", "筆記", "记录", "記錄", "計画", "计划", "計劃",
    "关于", "關於", "に関する", "について", "のための", "ための", "における", "セッション", "タイトル",
    "メモリ", "メモ",
    "的", "和", "与", "與", "及", "了", "の", "と", "を", "へ", "年", "月", "日", "号", "號", "第",
)  # fmt: skip

# Decisions and reasons, folded. Other forms of these verbs say too little.
DECISION_WORDS: Final = frozenset({"because", "decided", "chose", "committed", "agreed", "resolved"})
DECISION_CJK: Final = (
    "决定", "決定", "因为", "因為", "选择", "選擇", "选定", "選定", "采用", "採用", "同意", "商定",
    "承诺", "承諾", "解决", "解決", "由于", "由於", "決めた", "選択", "選んだ", "合意", "約束", "理由",
)  # fmt: skip

# Hiragana between other letters that only ties them together.
JAPANESE_GRAMMAR: Final = word_set(
    """
    について において における によって により として とする としての している していた しており されて された
    されている しました します しない すること であり である ではない でした ました ません から まで ために ための
    ように ような こと もの これ それ ここ まだ すでに および または
    """
)
