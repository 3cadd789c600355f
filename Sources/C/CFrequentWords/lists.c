#include "CFrequentWords.h"

// The assembler copies the files: as literals in a source they cost the compiler seconds. It searches for them where headers are
// searched for.
#define LIST(name, file)                       \
    __asm__(".pushsection .rodata\n"           \
            #name "_begin:\n"                  \
            ".incbin \"" file "\"\n"           \
            #name "_end:\n"                    \
            ".popsection\n");                  \
    extern const unsigned char name##_begin[]; \
    extern const unsigned char name##_end[];   \
    cfrequentwords_list cfrequentwords_##name(void) { return (cfrequentwords_list){name##_begin, (size_t)(name##_end - name##_begin)}; }

LIST(words, "words.txt")
LIST(phrases, "phrases.txt")
