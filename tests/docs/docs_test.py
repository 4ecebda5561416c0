#!/usr/bin/env python3
"""The checks of the pages: what they find, and what they accept."""

import pathlib
import tempfile
import unittest

import check_links
import check_tutorial
import markdown


class LinksTest(unittest.TestCase):

    def dead_links(self, text, page="docs/page.md"):
        """The dead links of a repository with two pages and a source."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/other.md").write_text("# Other page\n\n## Part, two\n")
            (root / "main.cc").write_text("")
            (root / page).write_text(text)
            return check_links.dead_links(root)

    def test_accepts_pages_anchors_and_addresses(self):
        self.assertEqual([], self.dead_links(
            "# A\n[x](other.md) [x](other.md#part-two) [x](#a) [x](https://a.b)\n"))

    def test_names_page_line_and_target_of_a_missing_file(self):
        self.assertEqual(["docs/page.md:2: none.md: does not exist"],
                         self.dead_links("# A\n[x](none.md)\n"))

    def test_finds_a_missing_anchor(self):
        found = self.dead_links("[x](other.md#part-three)\n")
        self.assertEqual(1, len(found))
        self.assertIn("other.md has no heading 'part-three'", found[0])

    def test_finds_a_link_out_of_docs(self):
        self.assertIn("leaves docs/", self.dead_links("[x](../main.cc)\n")[0])

    def test_lets_the_readme_link_to_sources(self):
        self.assertEqual([], self.dead_links("[x](main.cc)\n", "README.md"))

    def test_ignores_code(self):
        self.assertEqual([], self.dead_links(
            "`[x](none.md)`\n```\n[x](none.md)\n```\n"))

    def test_ignores_headings_in_code(self):
        self.assertEqual({"a"}, markdown.anchors("# A\n```\n# B\n```\n"))


class TutorialTest(unittest.TestCase):

    def test_numbers_sizes_and_checksums_may_differ(self):
        self.assertTrue(check_tutorial.matches(
            "peak 1.5 MiB of 2 GiB, 0123456789abcdef",
            "peak 12 KiB of 3.25 MiB, fedcba9876543210\n"))

    def test_words_may_not_differ(self):
        self.assertFalse(check_tutorial.matches("peak 1 MiB", "floor 1 MiB"))

    def test_dots_stand_for_any_text(self):
        self.assertTrue(check_tutorial.matches("a\n...\nd\n", "a\nb\nc\nd\n"))
        self.assertFalse(check_tutorial.matches("a\n...\ne\n", "a\nb\nc\nd\n"))

    def follow(self, page):
        with tempfile.TemporaryDirectory() as folder:
            check_tutorial.follow(page, pathlib.Path(folder))

    def test_keeps_folder_and_variables_between_blocks(self):
        self.follow("<!-- run -->\n```sh\nmkdir a\ncd a\nexport B=c\n```\n"
                    "<!-- file: d -->\n```\ne\n```\n"
                    "<!-- run -->\n```sh\necho $B; cat ../a/d\n```\n"
                    "<!-- output -->\n```text\nc\ne\n```\n")

    def test_refuses_another_output(self):
        with self.assertRaisesRegex(check_tutorial.Wrong, "line 6: .*another"):
            self.follow("<!-- run -->\n```sh\necho a\n```\n"
                        "<!-- output -->\n```text\nb\n```\n")

    def test_refuses_another_exit_status(self):
        with self.assertRaisesRegex(check_tutorial.Wrong, "exit status 1"):
            self.follow("<!-- run -->\n```sh\nfalse\n```\n")
        self.follow("<!-- run: exit status 1 -->\n```sh\nfalse\n```\n")

    def test_refuses_a_block_that_says_not_what_it_is(self):
        with self.assertRaisesRegex(check_tutorial.Wrong, "line 1"):
            self.follow("```sh\ntrue\n```\n")


if __name__ == "__main__":
    unittest.main()
