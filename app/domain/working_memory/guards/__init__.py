"""One file per section rule: what a request may do to a section that already holds something."""
