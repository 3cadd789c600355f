#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void clinux_wipe_vector_registers(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx")) {
        __asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                         "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    }
    // AES with AVX-512 keeps round keys in registers 16 to 31, which `vzeroall` does not clear; functions compiled
    // without AVX-512, as all of ours are, do not use them.
    if (__builtin_cpu_supports("avx512f")) {
#define CLEAR(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
        __asm__ volatile(CLEAR(16) CLEAR(17) CLEAR(18) CLEAR(19) CLEAR(20) CLEAR(21) CLEAR(22) CLEAR(23) CLEAR(24)
                             CLEAR(25) CLEAR(26) CLEAR(27) CLEAR(28) CLEAR(29) CLEAR(30) CLEAR(31) "vzeroupper" ::);
#undef CLEAR
    }
#endif
}

__attribute__((noinline)) void clinux_wipe_stack(size_t length) {
    clinux_wipe_vector_registers();
    char room[length > 0 ? length : 1];
    explicit_bzero(room, sizeof room);
}

struct clinux_stack {
    unsigned char *region;
    size_t length;
    size_t guard;
};

clinux_stack *clinux_stack_make(size_t length) {
    size_t page = clinux_page_size();
    clinux_stack *stack = malloc(sizeof *stack);
    if (stack == NULL) return NULL;
    unsigned char *region = mmap(NULL, page + length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (region == MAP_FAILED) {
        free(stack);
        return NULL;
    }
    // The lowest page stays inaccessible: a stack overflow faults there.
    unsigned char *room = region + page;
    if (mprotect(room, length, PROT_READ | PROT_WRITE) == 0 && madvise(room, length, MADV_DONTDUMP) == 0
        && madvise(room, length, MADV_WIPEONFORK) == 0 && mlock(room, length) == 0) {
        *stack = (clinux_stack){ .region = region, .length = length, .guard = page };
        return stack;
    }
    int reason = errno;
    munmap(region, page + length);
    free(stack);
    errno = reason;
    return NULL;
}

void clinux_stack_free(clinux_stack *stack) {
    explicit_bzero(stack->region + stack->guard, stack->length);
    munmap(stack->region, stack->guard + stack->length);
    free(stack);
}

struct job {
    void (*body)(void *);
    void *context;
};

static void *run(void *argument) {
    struct job *job = argument;
    job->body(job->context);
    clinux_wipe_vector_registers();
    return NULL;
}

int clinux_stack_run(clinux_stack *stack, void (*body)(void *), void *context) {
    struct job job = { body, context };
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    result = pthread_attr_setstack(&attributes, stack->region + stack->guard, stack->length);
    pthread_t thread;
    if (result == 0) {
        sigset_t all, previous;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &previous);
        result = pthread_create(&thread, &attributes, run, &job);
        pthread_sigmask(SIG_SETMASK, &previous, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (result != 0) return result;
    pthread_join(thread, NULL);
    explicit_bzero(stack->region + stack->guard, stack->length);
    return 0;
}
