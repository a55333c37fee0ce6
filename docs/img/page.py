#!/usr/bin/env python3
"""Takes a drawing out of a page that `tributary report` wrote, as a file of its own: page.py PAGE NUMBER > DRAWING."""
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
drawings = re.findall(r"<svg (.*?)</svg>", page, re.S)
style = "".join(re.findall(r"<style>(.*?)</style>", page, re.S))
width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawings[int(sys.argv[2])]).groups()
attributes, body = drawings[int(sys.argv[2])].split(">", 1)
print(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {attributes}>'
    f"<style>{style}</style>"
    f'<rect width="{width}" height="{height}" fill="#fff"/>{body}</svg>'
)
