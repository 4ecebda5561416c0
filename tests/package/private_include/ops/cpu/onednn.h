// Not installed.
