"""How text is counted. One exact counter everywhere; tests may inject another."""

from collections.abc import Callable
from typing import TypeAlias

TokenCounter: TypeAlias = Callable[[str], int]
"""Maps text to its number of tokens in the configured encoding; total, never negative, 0 for ''."""
