"""What HotpotQA and FEVER share: files, pages to search (on disk, or Wikipedia), and the environment.

Always holds: nothing here depends on either benchmark's name; the benchmark's own judge decides what is right.
"""
