#!/usr/bin/env python3
"""Writes Sources/Ground/FrequentWords/FrequentWords+Data.swift.

    pip install zxcvbn==4.5.0 && Scripts/passcode-words/generate.py

The frequency lists are zxcvbn's (MIT, see NOTICE): leaked passwords, Wikipedia, film and television, names. own.txt
beside this script adds words in other languages, teams, heroes, runs of digits. A word has the best of its ranks; only
letters a to z and digits are kept, because case and look-alikes are folded when a passcode is checked.
"""
import math
import os
import re

from zxcvbn.frequency_lists import FREQUENCY_LISTS

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "../../Sources/Ground/FrequentWords/FrequentWords+Data.swift")
BITS = "!#$%&'()*+,-./:;"
BLOCK = 16
OWN_RANK = 1000

ranks = {}


def add(word, rank):
    if re.fullmatch(r"[a-z0-9]{3,25}", word):
        ranks[word] = min(rank, ranks.get(word, rank))


for words in FREQUENCY_LISTS.values():
    for index, word in enumerate(words):
        add(word.lower(), index + 1)
with open(os.path.join(HERE, "own.txt")) as own:
    for word in own.read().split():
        add(word, OWN_RANK)

lines = []
words = sorted(ranks)
for start in range(0, len(words), BLOCK):
    line, before = "", ""
    for word in words[start : start + BLOCK]:
        shared = len(os.path.commonprefix([before, word]))
        bits = min(len(BITS) - 1, max(0, math.ceil(math.log2(ranks[word])) - 1))
        line += chr(ord("A") + shared) + word[shared:] + BITS[bits]
        before = word
    lines.append(line)

with open(TARGET, "w") as target:
    target.write(
        "// Written by Scripts/passcode-words/generate.py: do not edit. Lists: zxcvbn 4.5.0 (MIT, see NOTICE), own.txt.\n"
        "// swift-format-ignore-file\n\n"
        "extension FrequentWords {\n"
        f"    /// {len(words)} words; the form is told at ``FrequentWords``.\n"
        '    static let text: StaticString = """\n'
    )
    for line in lines:
        target.write(f"        {line}\n")
    target.write('        """\n}\n')
