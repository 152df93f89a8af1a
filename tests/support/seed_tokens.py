"""The token estimate of the system that the handed vectors come from. Only for tests: Cairn counts exactly."""

_HEAVY = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2EBEF),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0xAC00, 0xD7AF),
    (0x1100, 0x11FF),
    (0x3130, 0x318F),
    (0xFF00, 0xFFEF),
    (0x3000, 0x303F),
)


def seed_tokens(text: str) -> int:
    """Return the estimate: a quarter token per character, more for East Asian and astral ones, rounded up."""
    return -(-sum(map(_quarters, map(ord, text))) // 4)


def _quarters(code: int) -> int:
    if any(first <= code <= last for first, last in _HEAVY):
        return 6
    return 8 if code > 0xFFFF else 1
