// Nothing: CMake needs a source to make the tests' precompiled headers for.
