"""The parts of a Markdown page that the checks need: links, anchors, blocks."""

import dataclasses
import re

FENCE = re.compile(r"^ *```")
MARK = re.compile(r"^<!-- *(.*?) *-->$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]*)\)")


@dataclasses.dataclass
class Block:
    """A fenced block, and the comment on the line before it ("": no
    comment)."""

    mark: str
    text: str
    line: int  # of the opening fence, from 1


def blocks(page):
    """The fenced blocks of a page, in order."""
    lines = page.split("\n")
    found = []
    at = 0
    while at < len(lines):
        if FENCE.match(lines[at]):
            begin = at
            at += 1
            while not FENCE.match(lines[at]):
                at += 1
            mark = MARK.match(lines[begin - 1]) if begin > 0 else None
            found.append(Block(mark[1] if mark else "",
                               "\n".join(lines[begin + 1:at]) + "\n", begin + 1))
        at += 1
    return found


def prose(page):
    """The page without fenced and indented code and code spans; the number of
    lines stays the same."""
    result = []
    in_fence = False
    for line in page.split("\n"):
        if FENCE.match(line):
            in_fence = not in_fence
            line = ""
        elif in_fence or line.startswith("        "):
            line = ""
        result.append(line)
    text = "\n".join(result)
    return re.sub(r"`[^`]+`", lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def links(page):
    """(line, target) of every link of a page."""
    return [(number, target)
            for number, line in enumerate(prose(page).split("\n"), 1)
            for target in LINK.findall(line)]


def anchors(page):
    """The names that headings have on GitHub and on the site."""
    found = set()
    in_fence = False
    for line in page.split("\n"):
        if FENCE.match(line):
            in_fence = not in_fence
        heading = re.match(r"#+ +(.*)", line)
        if heading and not in_fence:
            text = re.sub(r"[^\w\s-]", "", heading[1].strip().lower())
            found.add(re.sub(r"\s", "-", text))
    return found
