"""`python -m app.cli` is the same as `cairn`."""

from app.cli import main

main()
