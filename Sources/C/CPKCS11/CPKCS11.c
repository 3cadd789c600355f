// The package manager needs a source; the target is its headers.
#include "CPKCS11.h"
