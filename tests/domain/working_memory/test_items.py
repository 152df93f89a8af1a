"""What counts as one item of a section."""

import pytest

from app.domain.working_memory.items import bullet, count_bullets, item_of, read_items


@pytest.mark.parametrize(
    ("body", "items"),
    [
        pytest.param("+ oak\n• elm\n– ash\n— yew\n· fir", ["oak", "elm", "ash", "yew", "fir"], id="marks"),
        pytest.param("1. oak\n22) elm\n999. ash", ["oak", "elm", "ash"], id="numbers"),
        pytest.param("一、桦树\n2、松树\n（三）柏树\n３．杉", ["桦树", "松树", "柏树", "杉"], id="enumerators"),
        pytest.param("・梅\n• 桜", ["・梅", "桜"], id="katakana dot is text"),
        pytest.param("2031. was wet\n1000) x", ["2031. was wet", "1000) x"], id="a year is no number"),
        pytest.param("-oak\n1.elm", ["-oak", "1.elm"], id="a mark needs white space"),
        pytest.param("- [ ] oak\n- [x] elm", ["[ ] oak", "[x] elm"], id="boxes stay"),
        pytest.param("---\n***\n- \n*\n2.", [], id="rules and lone marks"),
        pytest.param("# Trees\n#7 oak\n## More\n#elm", ["#7 oak", "#elm"], id="a heading needs white space"),
        pytest.param("- oak\n  old tree\n  - two birds\n- elm", ["oak\n  old tree\n  - two birds", "elm"], id="blocks"),
        pytest.param("- oak\n\n  second part\n\n- elm", ["oak\n\n  second part", "elm"], id="blank lines inside"),
        pytest.param("- oak\n - elm", ["oak", "elm"], id="one column is no nesting"),
        pytest.param("  - oak\n  - elm\n    wet", ["oak", "elm\n    wet"], id="an indented list"),
        pytest.param("- log:\n```\n- no item\n```\n- elm", ["log:\n```\n- no item\n```", "elm"], id="fence"),
        pytest.param("- ```\n  code\n  ```\n- elm", ["```\n  code\n  ```", "elm"], id="fence as item"),
        pytest.param("- oak\n<!-- hidden -->\n- elm", ["oak\n<!-- hidden -->", "elm"], id="comment"),
        pytest.param("_Trees only._\n- oak\n_elm_", ["oak", "_elm_"], id="only the first italic line is a hint"),
        pytest.param("- None.\n无\n特になし。\nN/A\n- oak", ["oak"], id="fillers"),
        pytest.param("- None of them grow", ["None of them grow"], id="a sentence with none is no filler"),
        pytest.param("a\fb\u2028c", ["a\fb\u2028c"], id="only line feeds separate"),
    ],
)
def test_an_item_is_a_bullet_with_all_that_hangs_on_it(body: str, items: list[str]) -> None:
    assert [item.text for item in read_items(body)] == items


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("- a\n  - b\n    * c\n- d", 4),
        ("- a\n  wrapped\n  again\n- d", 2),
        ("```\na\nb\n```", 0),
        ("plain\nlines", 2),
        ("_hint_ line_\n- a", 1),
        ("", 0),
    ],
)
def test_nested_bullets_count_and_wrapped_lines_do_not(body: str, count: int) -> None:
    assert count_bullets(body) == count


@pytest.mark.parametrize(
    "others",
    [
        [
            "- Pump  ONE leaks.",
            "pump one **leaks**",
            "* _Pump one leaks_",
            "１. Ｐｕｍｐ one leaks!",
            "`Pump` one\n  leaks",
        ],
        ["- 水泵反转。", "水泵反转", "**水泵**反转！", "• 水泵反转…"],
        ["- ポンプが逆転した。", "ﾎﾟﾝﾌﾟが逆転した", "「ポンプが逆転した」"],
    ],
)
def test_markup_case_and_outer_signs_make_no_difference(others: list[str]) -> None:
    keys = {item.key for other in others for item in read_items(other)}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("use pytest", "use py"),
        ("pump 1", "pump 10"),
        ("foo_bar fails", "foobar fails"),
        ("call __init__", "call x__init__"),
        ("price 5%", "price 5"),
        (".env is secret", "env is secret"),
        ("2*3 grid", "23 grid"),
        ("write C#", "write C"),
        ("阀门", "阀门编号"),
    ],
)
def test_different_facts_are_not_equal(one: str, two: str) -> None:
    assert read_items(f"- {one}")[0].key != read_items(f"- {two}")[0].key


@pytest.mark.parametrize(
    ("item", "lines"),
    [
        ("one", "- one"),
        ("one\ntwo", "- one\n  two"),
        ("one\n  - two\n    - three", "- one\n  - two\n    - three"),
        ("one\n\n two", "- one\n\n  two"),
        ("one\n\ttwo", "- one\n\ttwo"),
    ],
)
def test_later_lines_of_an_item_are_indented(item: str, lines: str) -> None:
    assert bullet(item) == lines


@pytest.mark.parametrize(
    "offered",
    [
        "one",
        "- one",
        "1. one\ntwo",
        "```\ncode\n```",
        "one\n\n  two",
        "None\nreal text",
        "x <!-- a -->",
        "# head",
        "x\n```\ny\n```",
    ],
)
def test_an_offered_item_says_in_the_document_what_it_said_before(offered: str) -> None:
    item = item_of(offered)
    assert item is not None
    assert [read.key for read in read_items(f"- before\n{bullet(item.text)}\n- after")] == ["before", item.key, "after"]


@pytest.mark.parametrize("offered", ["", "  ", "---", "-", "None.", "无", "なし"])
def test_an_offered_item_may_say_nothing(offered: str) -> None:
    assert item_of(offered) is None
