"""Which texts stand inside which others, at word boundaries."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.working_memory.containment import find_containing
from app.domain.working_memory.wording import tokens

words = st.lists(st.sampled_from(["a", "b", "ab", "a b", "阀", "门", "。", "1", "10"]), min_size=1, max_size=4).map(
    " ".join
)


def stands_in(needle: str, haystack: str) -> bool:
    part, whole = tokens(needle), tokens(haystack)
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


@settings(deadline=None)
@given(st.lists(words, max_size=5), st.lists(words, max_size=5), st.integers(1, 3))
def test_the_same_is_found_as_by_comparing_each_with_each(needles: list[str], haystacks: list[str], most: int) -> None:
    expected = {
        index: [place for place, haystack in enumerate(haystacks) if stands_in(needle, haystack)][:most]
        for index, needle in enumerate(needles)
    }
    assert find_containing(needles, haystacks, most=most) == {index: hits for index, hits in expected.items() if hits}


def test_words_are_not_cut_and_characters_are_words_in_chinese_and_japanese() -> None:
    found = find_containing(
        ["pump 1", "阀门", "更新", "", "x"], ["pump 10", "检查阀门编号", "料金表を更新する", "pump 1 leaks"]
    )
    assert found == {0: [3], 1: [1], 2: [2]}
