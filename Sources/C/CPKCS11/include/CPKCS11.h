// PKCS #11 2.40 as p11-kit's header has it; pkcs11.h is its file of version 0.24.1, unchanged, with its own licence at its head.
#pragma once

#include "pkcs11.h"
