// A program that loads a PKCS #11 module and calls it as its first argument says; the tests read what it writes.
#pragma once

#include "CPKCS11.h"

#include <stdbool.h>

extern CK_FUNCTION_LIST *p11;

// Loads the module and gets its table; ends the program if that fails.
void load(const char *path);
// The same, and the second one unloads it.
void *loaded(void);

// Writes "NAME CODE" and returns the code, in hexadecimal.
CK_RV say(const char *name, CK_RV code);

CK_SESSION_HANDLE open_session(void);
// The first object of a class with a label, or any label for NULL; 0 for none.
CK_OBJECT_HANDLE find(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, const char *label);
// Signs 32 bytes with the key; a signature of 64 bytes is written.
CK_RV sign(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key, CK_BYTE signature[64]);

// Calls every function of the table with bad arguments (`arguments.c`).
void call_all(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key);
