"""Reading a body of JSON lines that may be far larger than memory: to a file first, then line by line."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import BinaryIO, Final

from fastapi import Request
from pydantic import ValidationError

from app.api.body import body_chunks, limits_of, looks_unstorable, refuse_unstorable
from app.api.schemas.transfer import LINE, LINE_TAGS
from app.domain.errors import InvalidInput, TooLarge
from app.domain.transfer import Record

_IN_MEMORY_BYTES: Final = 4 * 1024 * 1024
_BATCH_LINES: Final = 200
_BATCH_BYTES: Final = 2 * 1024 * 1024
_SHOWN_FAULTS: Final = 5


@asynccontextmanager
async def spooled(request: Request) -> AsyncIterator[BinaryIO]:
    """Yield the whole body as a file, so that nobody waits for the network while a transaction is open.

    Raises: TooLarge, TooSlow.
    """
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as file:
        async for chunk in body_chunks(request, limits_of(request).import_bytes):
            await asyncio.to_thread(file.write, chunk)
        file.seek(0)
        yield file  # type: ignore[misc]


def batches(file: BinaryIO, longest_line: int) -> Iterator[Sequence[Record]]:
    """Yield the records of a file, some at a time. Raises: InvalidInput or TooLarge naming the line."""
    batch: list[Record] = []
    size = 0
    for number, raw in _lines(file, longest_line):
        batch.append(_record(number, raw))
        size += len(raw)
        if len(batch) == _BATCH_LINES or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _lines(file: BinaryIO, longest_line: int) -> Iterator[tuple[int, bytes]]:
    number = 0
    while raw := file.readline(longest_line + 1):
        number += 1
        if len(raw) > longest_line:
            raise TooLarge(
                f"line {number}: must not be larger than {longest_line} bytes",
                {"field": f"line {number}", "limit_bytes": longest_line},
            )
        if raw.strip():
            yield number, raw


def _record(number: int, raw: bytes) -> Record:
    try:
        if looks_unstorable(raw):
            refuse_unstorable(raw)
        return LINE.validate_json(raw).record()
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(item) for item in fault['loc'] if item not in LINE_TAGS)}: {fault['msg']}".lstrip(": ")
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        message = f"line {number}: {'; '.join(faults[:_SHOWN_FAULTS])}"
        raise InvalidInput(message, {"line": number}) from None
    except InvalidInput as error:
        raise InvalidInput(f"line {number}: {error.message}", {**error.details, "line": number}) from None
