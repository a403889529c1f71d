"""The fixtures of the command line, for these tests too."""

from command_line import *  # noqa: F403
