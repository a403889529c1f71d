"""The fixtures of the page, for these tests too."""

from page import *  # noqa: F403
