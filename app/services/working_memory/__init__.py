"""The second half of a commit, and reading what came of it."""
