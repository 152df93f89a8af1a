from app.domain.documents import BaseDocument, SectionRecord, StoredDocument
from app.domain.working_memory.sections import SECTIONS


def record(number: int) -> SectionRecord:
    section = SECTIONS[number]
    return SectionRecord(section, f"- {section}", tokens=number, bullets=1, requested_op="UPDATE", applied_op="UPDATE",
                         changed=True)  # fmt: skip


def test_a_document_gives_its_bodies_in_the_order_of_the_sections() -> None:
    document = StoredDocument(1, 0, 9, {SECTIONS[n]: record(n) for n in reversed(range(7))})
    assert list(document.bodies) == list(SECTIONS)
    assert document.bodies[SECTIONS[3]] == f"- {SECTIONS[3]}"
    assert document.tokens == sum(range(7))


def test_before_the_first_document_nothing_is_covered() -> None:
    assert BaseDocument() == BaseDocument(archive_no=0, revision=0, last_seq=0)
