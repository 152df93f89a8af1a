"""Use case: a person puts a section right."""

from dataclasses import replace

from app.domain.documents import SectionRecord, StoredDocument
from app.domain.errors import InvalidInput, PreconditionFailed, StaleDocument, session_not_found
from app.domain.scope import Scope
from app.domain.tokens import TokenCounter
from app.domain.working_memory.document import abstract
from app.domain.working_memory.incoming import sanitised_body
from app.domain.working_memory.sections import Section, find_section
from app.domain.working_memory.sizes import size_of
from app.storage import archives, sessions, working_memory
from app.storage.transaction import Database

MOST_CHARACTERS = 200_000
_TRIES = 3
"""How often a correction is made again when an update puts a newer document on top meanwhile."""

BY_HAND = "CORRECT"


class Corrections:
    """Replace one section of the newest document; recorded as a revision of it, guarded by nothing."""

    def __init__(self, database: Database, count_tokens: TokenCounter) -> None:
        self._database = database
        self._count_tokens = count_tokens

    async def correct(self, scope: Scope, session_name: str, section_name: str, body: str) -> StoredDocument:
        """Return the document as it now stands. An update that was being prepared is merged again, into this one.

        Raises: NotFound, InvalidInput for a section nobody knows or a body too long, PreconditionFailed while there is
        no document yet.
        """
        section = find_section(section_name)
        if section is None:
            raise InvalidInput(f"Unknown section {section_name!r}; one of: {', '.join(Section)}.", {"field": "section"})
        if len(body) > MOST_CHARACTERS:
            raise InvalidInput(f"A section holds at most {MOST_CHARACTERS} characters.", {"field": "content"})
        for tries_left in reversed(range(_TRIES)):
            try:
                return await self._correct(scope, session_name, section, body)
            except StaleDocument:
                if not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _correct(self, scope: Scope, session_name: str, section: Section, body: str) -> StoredDocument:
        async with self._database.transaction(scope) as tx:
            session = await sessions.lock(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            base = await working_memory.base_document(tx, scope, session.id)
            document = await working_memory.get(tx, scope, session.id, base)
            if document is None or document.legacy is not None:
                raise PreconditionFailed(
                    f"Session {session_name} has no working memory of seven sections yet; commit it first.",
                    {"resource": session_name},
                )
            revised = replace(base, revision=base.revision + 1)
            records = self._corrected(document, section, sanitised_body(section, body))
            bodies = {name: record.body for name, record in records.items()}
            await archives.revise_document(tx, scope, session.id, base, abstract=abstract(bodies))
            # The row was perhaps waited for, while an update put a newer document on top: only a look from after the
            # wait can tell, and a correction of the one below would be seen by nobody.
            if await working_memory.base_document(tx, scope, session.id) != revised:
                raise StaleDocument("The working memory moved while it was corrected; send the correction again.")
            await working_memory.save(tx, scope, session.id, base.archive_no, records, revision=revised.revision)
            return StoredDocument(revised.archive_no, revised.revision, revised.last_seq, records)

    def _corrected(self, document: StoredDocument, section: Section, body: str) -> dict[Section, SectionRecord]:
        records = {
            name: replace(
                record,
                requested_op="KEEP",
                applied_op="KEEP",
                guard=None,
                reason=None,
                changed=False,
                tokens_before=record.tokens,
                bullets_before=record.bullets,
            )
            for name, record in document.sections.items()
        }
        size = size_of(section, body, self._count_tokens)
        records[section] = replace(
            records[section],
            body=body,
            tokens=size.tokens,
            bullets=size.bullets,
            requested_op=BY_HAND,
            applied_op=BY_HAND,
            reason="by_hand",
            changed=body != document.bodies[section],
        )
        return records
