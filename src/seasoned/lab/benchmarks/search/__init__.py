"""What HotpotQA and FEVER share: files, pages to search (on disk, or Wikipedia), and the environment.

Always holds: no name of either stands here; what is right, the benchmark's own judge says.
"""
