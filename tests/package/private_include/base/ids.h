// Installed.
