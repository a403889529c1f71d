"""What HotpotQA and FEVER share: pages to search (on disk, or Wikipedia), their environment, rows, worked attempts.

Always holds: it knows of no benchmark but by the name it is given; what is right, the benchmark's own judge says.
"""
