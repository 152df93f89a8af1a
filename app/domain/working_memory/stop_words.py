"""Words that say nothing about a subject, chosen by us: English function words and the vocabulary of sessions."""

from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, for lists that are easier to read as text."""
    return frozenset(text.split())


# No name and no content: articles, pronouns, prepositions, conjunctions, auxiliaries, common openers of a sentence.
FUNCTION_WORDS: Final = word_set(
    """
    a about above after again against all also although am an and another any are as at be because been before being
    below between both but by can cannot could did do does doing done down during each either else even every few for
    from further get gets got had has have having he her here hers herself him himself his how however i if in instead
    into is it its itself just let like made make many may maybe me might more most much must my myself neither new no
    nor not note now of off often ok okay old on once one only or other others our ours ourselves out over own per
    perhaps please quite rather re same several shall she should since so some soon still such than that the their
    theirs them themselves then there therefore these they this those though through thus to today together tomorrow
    too toward towards under until up upon us use used using very via vs was we well were what whatever when whenever
    where whether which while who whoever whom whose why will with within without would yes yesterday yet you your
    yours yourself
    key facts fact decisions session working memory
    """
) - {"well", "done"}

# What a title may share with every other title. Two-letter words count here unless they are listed.
TITLE_WORDS: Final = word_set(
    """
    a an and as at be by for from in into is it of off on onto or our out the their this to up vs via with your my we
    session sessions title memory memories note notes plan plans planning working work wip new update updates
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
