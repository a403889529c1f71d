"""The page: a person reads and corrects what was learned, in a browser, on this machine (extra `web`)."""
