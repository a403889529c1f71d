"""`python -m seasoned`: the command line, if its script is not on the path."""

from seasoned.cli import main

if __name__ == "__main__":
    main()
