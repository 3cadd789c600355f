#!/usr/bin/env python3
"""Writes Sources/C/CFrequentWords/words.txt.

    pip install zxcvbn==4.5.0 && Scripts/passcode-words/generate.py

The frequency lists are zxcvbn's (MIT, see NOTICE): leaked passwords, Wikipedia, film and television, names. own.txt
beside this script adds words in other languages, teams, heroes, runs of digits. A word has the best of its ranks; only
letters a to z and digits are kept, because case and look-alikes are folded when a passcode is checked. Of the words of two
letters only frequent ones are kept, because nearly every pair of letters is listed somewhere.
"""
import math
import os
import re

from zxcvbn.frequency_lists import FREQUENCY_LISTS

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "../../Sources/C/CFrequentWords/words.txt")
BITS = "!#$%&'()*+,-./:;"
BLOCK = 16
OWN_RANK = 1000
TEXTS = ["english_wikipedia", "us_tv_and_film"]
MOST_FREQUENT = 300

ranks = {}


def add(word, rank, shortest=3):
    if shortest <= len(word) <= 25 and re.fullmatch(r"[a-z0-9]+", word):
        ranks[word] = min(rank, ranks.get(word, rank))


for name, words in FREQUENCY_LISTS.items():
    for index, word in enumerate(words):
        add(word.lower(), index + 1, 2 if name in TEXTS and index < MOST_FREQUENT and word.isalpha() else 3)
with open(os.path.join(HERE, "own.txt")) as own:
    for word in own.read().split():
        add(word, OWN_RANK, 2)

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
    target.write("\n".join(lines) + "\n")
print(f"{len(words)} words")
