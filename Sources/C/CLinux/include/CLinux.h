// The Linux calls that Swift cannot make itself: variadic ones, macros, and what the optimiser must not drop.
//
// Unless its comment says otherwise, a function returns -1 and sets `errno` when it fails.
// Includes no header of the system but these three: glibc's own look different under _GNU_SOURCE, and Swift refuses
// two forms of one type (`fd_set`). Process and user numbers are therefore plain integers of the same size.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// MARK: wipe.c

/// explicit_bzero(3): a wipe the optimiser may not remove. `buffer` may be null when `length` is 0.
void clinux_wipe(void *_Nullable buffer, size_t length);

/// memmove(3) of what is secret, which then wipes the vector registers, as `clinux_wipe_vector_registers` does: it copies
/// through them, and they keep its last pieces (all of a key) until something else is copied.
///
/// Both may be null when `length` is 0.
void clinux_copy_secret(void *_Nullable to, const void *_Nullable from, size_t length);

// MARK: random.c

/// getrandom(2) until `length` bytes are filled; waits for the kernel's generator at early boot. 0 or -1.
int clinux_random(void *_Nullable buffer, size_t length);

// MARK: environment.c

/// Whether the program runs with more rights than its caller: `AT_SECURE` of getauxval(3).
bool clinux_is_secure(void);

/// secure_getenv(3): null where the program runs with more rights than its caller (set-id, capabilities).
const char *_Nullable clinux_secure_getenv(const char *name);

// MARK: pages.c

/// The size of a page, sysconf(3) `_SC_PAGESIZE`.
size_t clinux_page_size(void);

/// `length` bytes (a multiple of the page size) of zeros from mmap(2) that are never swapped (mlock(2)), never
/// dumped (`MADV_DONTDUMP`) and zero in a forked child (`MADV_WIPEONFORK`).
///
/// Null and `errno` when any of these four steps fails; nothing stays mapped then.
void *_Nullable clinux_pages_map(size_t length);

/// Wipes the region that `clinux_pages_map` returned, then munmap(2). 0 or -1.
int clinux_pages_unmap(void *region, size_t length);

/// process_madvise(2) `MADV_PAGEOUT` (Linux 5.10): has the system take pages of a process, whose pidfd it is, to the swap
/// file or drop them where a file has them. 0 or -1; `EINVAL` where the region is locked.
int clinux_pages_out(int pidfd, uint64_t address, size_t length);

// MARK: stack.c

/// Zeros the vector registers: ciphers leave round keys there, copying leaves text, and whatever stack comes next may get
/// them (lazy binding of a symbol, a signal's frame).
void clinux_wipe_vector_registers(void);

/// Overwrites `length` bytes of the caller's thread's stack, below the caller's frame, and the vector registers: what
/// functions that returned left there.
void clinux_wipe_stack(size_t length);

/// A stack for a thread, locked as by `clinux_pages_map`, with a closed page below it.
typedef struct clinux_stack clinux_stack;

/// `length` bytes (a multiple of the page size). Null and `errno` when they cannot be had.
clinux_stack *_Nullable clinux_stack_make(size_t length);

/// Wipes the stack and unmaps it.
void clinux_stack_free(clinux_stack *stack);

/// Runs `body` on a thread with this stack, all signals blocked, waits for its end and wipes all of the stack.
///
/// One at a time. 0, or why there is no thread: the `errno` of pthread_create(3); `body` is not called then.
int clinux_stack_run(clinux_stack *stack, void (*body)(void *context), void *context);

// MARK: process.c

/// prctl(2) `PR_SET_DUMPABLE` 0: no core, no ptrace, no `/proc/PID/mem` for the same user. execve(2) resets it.
int clinux_process_forbid_dump(void);

/// setrlimit(2) `RLIMIT_CORE` to 0, hard and soft. A core_pattern pipe ignores it: forbid dumps as well.
int clinux_process_forbid_core(void);

/// prctl(2) `PR_SET_MDWE` with `PR_MDWE_REFUSE_EXEC_GAIN`: no page ever becomes executable later.
///
/// Best effort: -1 with `EINVAL` on a kernel before 6.3. It cannot be taken back and children inherit it.
int clinux_process_refuse_exec_gain(void);

/// Gives all signals their default action but those of `ignored`, and blocks none.
void clinux_process_begin_signals(const int *ignored, size_t count);

/// setrlimit(2) `RLIMIT_NOFILE`, soft, to what the hard limit allows, at most `most`; as it was where that fails.
void clinux_process_allow_descriptors(uint64_t most);

/// prctl(2) `PR_SET_NO_NEW_PRIVS`: execve(2) grants nothing any more. pam_unix stops working after it.
int clinux_process_no_new_privileges(void);

// MARK: peer.c

/// Who connected, as the kernel recorded it at connect(2).
typedef struct {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
} clinux_peer;

/// getsockopt(2) `SO_PEERCRED` of a connected Unix socket. 0 or -1.
int clinux_peer_credentials(int socket, clinux_peer *peer);

/// getsockopt(2) `SO_PEERPIDFD` (Linux 6.5): a close-on-exec pidfd of the very process that connected, or -1.
int clinux_peer_pidfd(int socket);

/// setsockopt(2) `SO_PASSCRED`: each message comes with the process that sent it. 0 or -1.
int clinux_pass_credentials(int socket);

/// recvmsg(2) of at most `count` bytes, all sent by one process, whose number goes to `sender`; 0 where it is not told.
///
/// Descriptors that come with them are discarded by the kernel: there is no room for any. As recv(2), with its `errno`.
intptr_t clinux_receive(int socket, void *_Nullable buffer, size_t count, int flags, int32_t *_Nonnull sender);

/// pidfd_open(2), close-on-exec: a pidfd or -1. A number may have been reused: prefer `clinux_peer_pidfd`.
int clinux_pidfd_open(int32_t pid);

/// pidfd_send_signal(2): signal 0 asks whether the process still runs. 0 or -1.
int clinux_pidfd_signal(int pidfd, int signal);

// MARK: spawn.c

/// vfork(2) and execve(2) a helper with nothing of ours but three descriptors; its pid, or -1.
///
/// The child has default signal handlers, an empty signal mask, a session of its own (setsid(2)) and the given
/// descriptors as 0, 1 and 2 (-1 stands for `/dev/null`); every other descriptor is closed (close_range(2)).
/// The group of a set-gid program is given up first.
/// It is killed when the *thread* that called this function ends (prctl(2) `PR_SET_PDEATHSIG` follows the thread,
/// not the process): call from a thread that lives as long as the helper should. A set-id helper loses that.
/// Failure in the child, including execve(2)'s, is returned here as `errno`. Reap the child with waitpid(2).
int32_t clinux_spawn(
    const char *path,
    char *_Nullable const *_Nonnull argv,
    char *_Nullable const *_Nonnull envp,
    int stdin_fd,
    int stdout_fd,
    int stderr_fd
);

// MARK: start.c

/// Blocks signals and makes a descriptor that they are read from (signalfd(2), close-on-exec and non-blocking).
///
/// What they were blocked by before is kept for the programs of `clinux_start`. Once in a process: a descriptor or -1.
int clinux_hold_signals(const int *numbers, size_t count);

/// Reads a signal from the descriptor of `clinux_hold_signals`: its number, or 0 when there is none.
///
/// `from_terminal` says whether the kernel sent it, to all processes in the foreground, as for Ctrl-C.
int clinux_next_signal(int descriptor, bool *from_terminal);

/// Reads all held signals away, closes the descriptor and blocks them no more.
void clinux_release_signals(int descriptor);

/// vfork(2) and execve(2) a program beside this one; its pid, or -1 with execve(2)'s `errno`.
///
/// It has the given descriptors as 0, 1 and 2 (-1 leaves the one that is there), what else is open and not
/// close-on-exec, default actions for all signals that are not ignored, and the signal mask of before
/// `clinux_hold_signals`.
int32_t clinux_start(
    const char *path,
    char *_Nullable const *_Nonnull argv,
    char *_Nullable const *_Nonnull envp,
    int stdin_fd,
    int stdout_fd,
    int stderr_fd
);

/// What a session is made of; all three numbers are above 2.
typedef struct {
    /// The terminal that it gets: standard input and output of the program.
    int terminal;
    /// The program's standard error.
    int errors;
    /// Standard output of the process that leads the session.
    int report;
} clinux_session;

/// `clinux_start` in a session of its own, as the foreground of a terminal: the program's pid, or -1 and `errno`.
///
/// The session is led by this same program, started anew with `leader_argv`, whose only child the program is: it can be
/// stopped by a key, which nobody's child cannot (POSIX.1, orphaned process groups). The leader has nothing of ours but
/// terminal and report. Reap it with waitpid(2).
int32_t clinux_start_session(
    const char *path,
    char *_Nullable const *_Nonnull argv,
    char *_Nullable const *_Nonnull envp,
    const clinux_session *session,
    char *_Nullable const *_Nonnull leader_argv
);

// MARK: pty.c

/// posix_openpt(3), grantpt(3), unlockpt(3), ptsname_r(3): a close-on-exec primary and its secondary's name.
///
/// 0 or -1. Does not become anybody's controlling terminal (`O_NOCTTY`).
int clinux_openpty(int *primary, char *name, size_t length);

// MARK: descriptors.c

/// eventfd(2), close-on-exec and non-blocking: a descriptor or -1.
int clinux_eventfd(unsigned int value);

/// memfd_create(2), close-on-exec and sealable: a descriptor or -1.
int clinux_memfd(const char *name);

/// Closes all descriptors above 2 (close_range(2)), and opens `/dev/null` in the place of those below that are closed.
///
/// For the start of a program whose caller may not be its friend. 0 or -1.
int clinux_keep_standard_descriptors(void);

/// accept4(2), close-on-exec: the connection or -1.
int clinux_accept(int socket);

/// statx(2), the length alone, and no link followed: the bytes of a file, or -1.
///
/// stat(2) asks for the times too: the next write then takes a new one, and the flush after it writes the inode.
int64_t clinux_length(int directory, const char *name);

/// statfs(2): whether the files of a directory are kept in memory (tmpfs or ramfs).
bool clinux_is_in_memory(const char *directory);

// MARK: flags.c: what glibc shows under _GNU_SOURCE only

/// `O_PATH`: a descriptor that names a place and gives no access to the content.
extern const int CLINUX_O_PATH;

// MARK: daemonize.c

/// fork(2) into the background, before there is any thread: returns in the daemon alone.
///
/// The daemon has a session of its own without a terminal and `/` as working directory; its standard descriptors
/// stay until it reports. The program that was started waits for the report and exits with its status.
/// Returns the descriptor to report on, or -1.
int clinux_daemonize(void);

/// Reports how the start went on the descriptor of `clinux_daemonize` and closes it; 0 means ready, and lets the
/// standard descriptors go to `/dev/null` first. 0 or -1.
int clinux_daemon_report(int report, unsigned char status);

/// clearenv(3): 0, or not 0 when it failed.
int clinux_clear_environment(void);

/// Executes this program anew, with its arguments and descriptors, unless all its variables are among `names`, which
/// end in null; only those are kept. Returns 0 when there are no others, or -1.
int clinux_restart_with_variables(const char *_Nullable const *_Nonnull names);

// MARK: broker.c

/// capset(2) and `PR_CAPBSET_DROP`: of all capabilities only CAP_SYS_PTRACE stays, in the permitted, effective and bounding
/// sets; the user stays as it is. 0 or -1; needs CAP_SETPCAP.
int clinux_keep_capability_ptrace(void);

/// What is told of a file.
typedef struct {
    uint64_t device;
    uint64_t inode;
    uint32_t owner;
    uint32_t mode;
    uint32_t links;
} clinux_file;

/// statx(2) of an open descriptor, with what the kernel knows already: a file system of a user's is not asked. 0 or -1.
int clinux_look_at(int descriptor, clinux_file *file);

/// recvmsg(2) of one packet without waiting, with at most one descriptor, close-on-exec; -1 where none came.
///
/// As recv(2), and `EMSGSIZE` for a packet that is longer or brought more descriptors: they are closed.
intptr_t clinux_receive_packet(int socket, void *_Nonnull buffer, size_t count, int *_Nonnull descriptor);

/// sendmsg(2) of one packet without waiting, with a descriptor; -1 for none. As send(2).
intptr_t clinux_send_packet(int socket, const void *_Nonnull buffer, size_t count, int descriptor);

#pragma clang assume_nonnull end
