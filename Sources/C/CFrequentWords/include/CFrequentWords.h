// Lists of words and phrases that guessers try first: data of the program.
#pragma once

#include <stddef.h>

#pragma clang assume_nonnull begin

/// A list, as the bytes of its file. Neither is terminated by NUL.
typedef struct {
    const unsigned char *bytes;
    size_t count;
} cfrequentwords_list;

/// `words.txt`, written by `Scripts/passcode-words/generate.py`; its form is told at `FrequentWords`.
cfrequentwords_list cfrequentwords_words(void);

/// `phrases.txt`: a phrase in each line, lower-case letters, digits and spaces.
cfrequentwords_list cfrequentwords_phrases(void);

#pragma clang assume_nonnull end
