import unittest

from slugs import slug


class SlugTest(unittest.TestCase):
    def test_spaces_become_dashes(self) -> None:
        self.assertEqual(slug("Hello World"), "hello-world")
