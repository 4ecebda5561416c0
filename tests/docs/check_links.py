#!/usr/bin/env python3
"""Checks the relative links of the pages of a repository: the file exists, the
anchor exists, and a page of docs/ links only to pages of docs/ (the site has no
other files; write their names as `code`). Exit status 1: a link is dead."""

import argparse
import pathlib
import sys

import markdown

TOP_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md",
             "benchmarks/README.md")


def problem(root, page, target):
    """What is wrong with a link of `page`, or None."""
    if target.startswith(("http://", "https://", "mailto:")):
        return None
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    docs = root / "docs"
    if not file.is_relative_to(root):
        return "leaves the repository"
    if not file.exists():
        return "does not exist"
    if page.is_relative_to(docs) and not file.is_relative_to(docs):
        return "leaves docs/: name the file as `code` instead"
    if anchor and anchor not in markdown.anchors(file.read_text()):
        return f"{file.name} has no heading '{anchor}'"
    return None


def dead_links(root):
    """One line for each dead link in the pages of `root`."""
    root = root.resolve()
    pages = [root / name for name in TOP_PAGES if (root / name).exists()]
    pages += sorted((root / "docs").rglob("*.md"))
    found = []
    for page in pages:
        for line, target in markdown.links(page.read_text()):
            wrong = problem(root, page, target)
            if wrong:
                found.append(f"{page.relative_to(root)}:{line}: {target}: {wrong}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[2])
    found = dead_links(parser.parse_args().root)
    print("\n".join(found) or "all links lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
