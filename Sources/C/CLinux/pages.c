#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <link.h>
#include <malloc.h>
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

static int release_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    (void)context;
    size_t page = clinux_page_size();
    for (size_t index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        // Only what is as in the file. A segment that could be written contains variables or relocated pointers.
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0) continue;
        uintptr_t start = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_memsz + page - 1) & ~(page - 1);
        madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void clinux_code_release(void) { dl_iterate_phdr(release_code, NULL); }

void clinux_heap_release(void) { malloc_trim(0); }

void clinux_heap_share(void) { mallopt(M_ARENA_MAX, 1); }
