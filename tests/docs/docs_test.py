#!/usr/bin/env python3
"""The checks of the pages: their findings, and the pages that they accept."""

import pathlib
import tempfile
import unittest

import check_examples
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


class ExamplesTest(unittest.TestCase):

    def test_finds_commands_and_what_they_print(self):
        page = ("Text\n\n    $ spillway models --json \\\n        x.json   # now\n"
                "    alexnet  512\n\n    lenet  32\n\nMore\n    lines\n"
                "    $ ./dev demo\n    $ build/release/bin/spillway help\n")
        found = check_examples.examples(page)
        self.assertEqual(
            [("spillway models --json x.json", "alexnet  512\nlenet  32\n", 3),
             ("spillway help", "", 12)],
            [(each.command, each.output, each.line) for each in found])

    def test_numbers_of_another_machine_may_be_any(self):
        page = ("<!-- numbers of another machine -->\n\n    $ spillway profile\n"
                "    3 GB\n\nText\n\n    $ spillway models\n")
        found = check_examples.examples(page)
        self.assertEqual([check_examples.FREE_NUMBERS, "Text"],
                         [each.mark for each in found])
        self.assertTrue(check_examples.matches("3 GB", "99 GB", True))

    def test_numbers_may_differ_a_little(self):
        self.assertTrue(check_examples.matches("peak 2.5 GiB (100 bytes)",
                                               "peak 2.4 GiB (109 bytes)\n"))
        self.assertFalse(check_examples.matches("peak 2.5 GiB", "peak 2 GiB"))
        self.assertFalse(check_examples.matches("130.0 images",
                                                "-130.0 images"))

    def test_times_may_be_any(self):
        self.assertTrue(check_examples.matches("in 3 ms, 5.5 % above",
                                               "in 900 ms, 0.1 % above"))
        self.assertTrue(check_examples.matches("time 6.05 ms", "time 890 us"))

    def test_words_may_not_differ(self):
        self.assertFalse(check_examples.matches("peak 1 MiB", "floor 1 MiB"))
        self.assertFalse(check_examples.matches("peak", "peak 1"))

    def test_three_points_stand_for_anything(self):
        self.assertTrue(check_examples.matches("a ... z", "a b c z"))
        self.assertTrue(check_examples.matches("a ... z", "a z"))
        self.assertTrue(check_examples.matches("(... bytes)", "(12 bytes)"))
        self.assertFalse(check_examples.matches("a ... z", "a b c"))

    def test_checksums_may_differ(self):
        self.assertTrue(check_examples.matches("checksum 0123456789abcdef",
                                               "checksum fedcba9876543210"))

    def test_long_examples_are_shortened(self):
        example = check_examples.Example("spillway profile", "x", 1, "")
        self.assertIn("--num_batches=1", example.shortened())
        example = check_examples.Example("spillway bench", "x", 1, "")
        self.assertEqual("spillway bench", example.shortened())


if __name__ == "__main__":
    unittest.main()
