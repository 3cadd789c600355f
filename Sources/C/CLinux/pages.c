#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

size_t clinux_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void *clinux_pages_map(size_t length) {
    void *region = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) return NULL;
    // Dump and fork flags are set before the first page exists; mlock(2) then faults every page in.
    if (madvise(region, length, MADV_DONTDUMP) == 0 && madvise(region, length, MADV_WIPEONFORK) == 0
        && mlock(region, length) == 0) {
        return region;
    }
    int reason = errno;
    munmap(region, length);
    errno = reason;
    return NULL;
}

int clinux_pages_unmap(void *region, size_t length) {
    explicit_bzero(region, length);
    return munmap(region, length);
}

int clinux_pages_out(int pidfd, uint64_t address, size_t length) {
    struct iovec region = {(void *)(uintptr_t)address, length};
    return syscall(SYS_process_madvise, pidfd, &region, 1, MADV_PAGEOUT, 0) < 0 ? -1 : 0;
}
