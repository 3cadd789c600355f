#include "CWithoutFoundation.h"
#include <sysexits.h>
#include <unistd.h>

static _Noreturn void refuse(void) {
    static const char text[] = "error: the released command writes no JSON; build it without Scripts/release\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(EX_UNAVAILABLE);
}

/// A function of Foundation, by its mangled name, that ends the process.
#define REFUSED(name, symbol)                                            \
    __attribute__((weak, noreturn)) void name(void) __asm__(symbol);     \
    void name(void) { refuse(); }

// JSONEncoder: its metadata, its initialiser, and two of its `outputFormatting`.
REFUSED(encoder_metadata, "$s20FoundationEssentials11JSONEncoderCMa")
REFUSED(encoder_init, "$s20FoundationEssentials11JSONEncoderCACycfc")
REFUSED(encoder_pretty_printed, "$s20FoundationEssentials11JSONEncoderC16OutputFormattingV13prettyPrintedAEvau")
REFUSED(encoder_sorted_keys, "$s20FoundationEssentials11JSONEncoderC16OutputFormattingV10sortedKeysAEvau")
// String(data:encoding:) and String.Encoding.utf8.
REFUSED(string_from_data, "$sSS20FoundationEssentialsE4data8encodingSSSgAA4DataVh_SSAAE8EncodingVtcfC")
REFUSED(encoding_utf8, "$sSS20FoundationEssentialsE8EncodingV4utf8ACvau")

// The descriptor of a protocol LocalizedError without requirements, as the compiler writes it: flags (3: a protocol; 0x40:
// unique; 0x10000: not only for classes), the module, the name, and two counts and a list of names, all zero. References are
// relative to themselves. The module's descriptor before it: flags (0: a module), no parent, its name.
__asm__(
    ".pushsection .rodata, \"a\", %progbits\n"
    ".balign 4\n"
    ".Lmodule: .long 0, 0, .Lmodule_name - .\n"
    ".weak \"$s20FoundationEssentials14LocalizedErrorMp\"\n"
    ".type \"$s20FoundationEssentials14LocalizedErrorMp\", %object\n"
    "\"$s20FoundationEssentials14LocalizedErrorMp\":\n"
    ".long 0x10043, .Lmodule - ., .Lprotocol_name - ., 0, 0, 0\n"
    ".size \"$s20FoundationEssentials14LocalizedErrorMp\", 24\n"
    ".Lmodule_name: .asciz \"FoundationEssentials\"\n"
    ".Lprotocol_name: .asciz \"LocalizedError\"\n"
    ".popsection\n"
);
