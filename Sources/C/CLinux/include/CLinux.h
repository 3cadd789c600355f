// Linux calls that Swift cannot make itself: variadic functions, macros, and calls that the optimiser must not drop.
//
// Unless its comment says otherwise, a function returns -1 and sets `errno` when it fails.
// Includes only these three system headers: glibc's own look different under _GNU_SOURCE, and Swift rejects two
// definitions of one type (`fd_set`). Process and user numbers are therefore plain integers of the same size.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// MARK: wipe.c

/// explicit_bzero(3): a wipe the optimiser may not remove. `buffer` may be null when `length` is 0.
void clinux_wipe(void *_Nullable buffer, size_t length);

/// memmove(3) for secrets: wipes the vector registers afterwards (`clinux_wipe_vector_registers`), because memmove
/// copies through them and they would keep the last bytes (all of a key) until the next copy.
///
/// Both may be null when `length` is 0.
void clinux_copy_secret(void *_Nullable to, const void *_Nullable from, size_t length);

// MARK: random.c

/// getrandom(2) until `length` bytes are filled; waits for the kernel's generator at early boot. 0 or -1.
int clinux_random(void *_Nullable buffer, size_t length);

// MARK: environment.c

/// Whether the program runs with more rights than its caller: `AT_SECURE` of getauxval(3).
bool clinux_is_secure(void);

/// secure_getenv(3): null if the program runs with more rights than its caller (set-id, capabilities).
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

/// process_madvise(2) `MADV_PAGEOUT` (Linux 5.10): makes the kernel swap out pages of the process behind `pidfd`, or
/// drop those that a file backs. 0 or -1; `EINVAL` if the region is locked.
int clinux_pages_out(int pidfd, uint64_t address, size_t length);

/// Unmaps the pages of the program's and its libraries' code and constants (madvise(2) `MADV_DONTNEED`). The kernel keeps
/// their content in its cache of files; what is used again is mapped again, by one fault for each 64 KB.
void clinux_code_release(void);
/// Gives back the pages of freed memory that malloc(3) keeps.
void clinux_heap_release(void);
/// Lets all threads allocate from one arena of malloc(3); before a second thread starts.
void clinux_heap_share(void);

// MARK: stack.c

/// Zeros the vector registers: ciphers leave round keys in them and copies leave text, and both can reach the next
/// stack that is used (lazy binding of a symbol, a signal frame).
void clinux_wipe_vector_registers(void);

/// Overwrites the vector registers and `length` bytes of the calling thread's stack below the caller's frame, where
/// functions that have returned left their variables.
void clinux_wipe_stack(size_t length);

/// A stack for a thread, locked as by `clinux_pages_map`, with an inaccessible guard page below it.
typedef struct clinux_stack clinux_stack;

/// Creates a stack of `length` bytes (a multiple of the page size). Null and `errno` if the memory cannot be locked.
clinux_stack *_Nullable clinux_stack_make(size_t length);

/// Wipes the stack and unmaps it.
void clinux_stack_free(clinux_stack *stack);

/// Runs `body` on a thread with this stack and all signals blocked, joins the thread and wipes the whole stack.
///
/// One call at a time. Returns 0, or the `errno` of pthread_create(3) if no thread could be started; `body` is not
/// called then.
int clinux_stack_run(clinux_stack *stack, void (*body)(void *context), void *context);

// MARK: process.c

/// prctl(2) `PR_SET_DUMPABLE` 0: no core, no ptrace, no `/proc/PID/mem` for the same user. execve(2) resets it.
int clinux_process_forbid_dump(void);

/// setrlimit(2) `RLIMIT_CORE` to 0, hard and soft. A core_pattern pipe ignores it: forbid dumps as well.
int clinux_process_forbid_core(void);

/// prctl(2) `PR_SET_MDWE` with `PR_MDWE_REFUSE_EXEC_GAIN`: no page ever becomes executable later.
///
/// Best effort: -1 with `EINVAL` on a kernel before 6.3. It cannot be undone, and children inherit it.
int clinux_process_refuse_exec_gain(void);

/// Resets all signals to their default action except those in `ignored`, and unblocks all.
void clinux_process_begin_signals(const int *ignored, size_t count);

/// setrlimit(2) `RLIMIT_NOFILE`: sets the soft limit to the hard limit, at most `most`; on failure it stays
/// unchanged.
void clinux_process_allow_descriptors(uint64_t most);

/// prctl(2) `PR_SET_NO_NEW_PRIVS`: execve(2) no longer grants privileges. pam_unix stops working after it.
int clinux_process_no_new_privileges(void);

/// prctl(2) `PR_GET_NO_NEW_PRIVS`: whether it is set, so that a set-id bit had no effect when this program started.
bool clinux_process_has_no_new_privileges(void);

// MARK: peer.c

/// The peer's credentials, as the kernel recorded them at connect(2).
typedef struct {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
} clinux_peer;

/// getsockopt(2) `SO_PEERCRED` of a connected Unix socket. 0 or -1.
int clinux_peer_credentials(int socket, clinux_peer *peer);

/// The user of getsockopt(2) `SO_PEERCRED`, also where the peer has no pid: in a pid namespace that does not contain it, as in sandboxes.
/// 0 or -1.
int clinux_peer_uid(int socket, uint32_t *uid);

/// getsockopt(2) `SO_PEERPIDFD` (Linux 6.5): a close-on-exec pidfd of the very process that connected, or -1.
int clinux_peer_pidfd(int socket);

/// setsockopt(2) `SO_PASSCRED`: each message carries the sending process's credentials. 0 or -1.
int clinux_pass_credentials(int socket);

/// recvmsg(2) of at most `count` bytes, all from one process, whose pid is stored in `sender`; 0 if the kernel gave
/// none.
///
/// The kernel discards descriptors sent along: the control buffer has no room for them. Return value and `errno` as
/// recv(2).
intptr_t clinux_receive(int socket, void *_Nullable buffer, size_t count, int flags, int32_t *_Nonnull sender);

/// pidfd_open(2), close-on-exec: a pidfd or -1. The pid may have been reused: prefer `clinux_peer_pidfd`.
int clinux_pidfd_open(int32_t pid);

/// pidfd_send_signal(2): signal 0 tests whether the process still runs. 0 or -1.
int clinux_pidfd_signal(int pidfd, int signal);

/// pidfd_getfd(2): a close-on-exec copy of a descriptor of a process that this one may trace, or -1.
int clinux_pidfd_descriptor(int pidfd, int descriptor);

// MARK: spawn.c

/// Starts a helper by vfork(2) and execve(2) that inherits only three descriptors; its pid, or -1.
///
/// The child has default signal handlers, an empty signal mask, its own session (setsid(2)) and the given descriptors
/// as 0, 1 and 2 (-1 stands for `/dev/null`); every other descriptor is closed (close_range(2)). It first drops the
/// group of a set-gid program.
/// The kernel kills it when the *thread* that called this function ends (prctl(2) `PR_SET_PDEATHSIG` follows the
/// thread, not the process): call from a thread that lives as long as the helper should. A set-id helper loses that.
/// Failure in the child, including execve(2)'s, is returned here as `errno`. Reap the child with waitpid(2).
int32_t clinux_spawn(
    const char *path,
    char *_Nullable const *_Nonnull argv,
    char *_Nullable const *_Nonnull envp,
    int stdin_fd,
    int stdout_fd,
    int stderr_fd
);

// MARK: terminal.c

/// The foreground process group of an open terminal, whichever session's controlling terminal it is. 0 or -1.
///
/// tcgetpgrp(3) tells it only to processes of that session, and a device number in `/proc` does not tell terminals of
/// two devpts instances apart. `group` is 0 if no session has the terminal, and -1 if no process of the group is visible
/// in this PID namespace.
int clinux_terminal_foreground(int terminal, int32_t *group);

/// Blocks SIGIO for the calling thread and makes the kernel send it whenever input arrives at an open terminal, whoever
/// reads it (`O_ASYNC`). The descriptor of a signalfd(2), readable by this thread alone, or -1.
int clinux_terminal_watch_keys(int terminal);

/// Whether input arrived since the last call; `keys` is the descriptor of `clinux_terminal_watch_keys`.
bool clinux_terminal_had_keys(int keys);

/// Ends the watch and closes `keys`.
void clinux_terminal_ignore_keys(int terminal, int keys);

// MARK: start.c

/// Blocks signals and creates a descriptor to read them from (signalfd(2), close-on-exec and non-blocking).
///
/// The previous signal mask is kept for the programs of `clinux_start`. Once per process: a descriptor or -1.
int clinux_hold_signals(const int *numbers, size_t count);

/// Reads a signal from the descriptor of `clinux_hold_signals`: its number, or 0 when there is none.
///
/// `from_terminal` says whether the kernel sent it to the whole foreground process group, as for Ctrl-C.
int clinux_next_signal(int descriptor, bool *from_terminal);

/// Discards all held signals, closes the descriptor and restores the previous signal mask.
void clinux_release_signals(int descriptor);

/// Starts a program beside this one by vfork(2) and execve(2); its pid, or -1 with execve(2)'s `errno`.
///
/// It gets the given descriptors as 0, 1 and 2 (-1 keeps the current one), inherits every other descriptor that is
/// not close-on-exec, and has default actions for all signals that are not ignored and the signal mask from before
/// `clinux_hold_signals`.
int32_t clinux_start(
    const char *path,
    char *_Nullable const *_Nonnull argv,
    char *_Nullable const *_Nonnull envp,
    int stdin_fd,
    int stdout_fd,
    int stderr_fd
);

/// The descriptors of a session; all three numbers are above 2.
typedef struct {
    /// The controlling terminal: standard input and output of the program.
    int terminal;
    /// The program's standard error.
    int errors;
    /// Standard output of the session leader.
    int report;
} clinux_session;

/// `clinux_start` in its own session, in the foreground of a terminal: the program's pid, or -1 and `errno`.
///
/// The session leader is this same program, re-executed with `leader_argv`; the started program is its only child. A
/// key can therefore stop it, which an orphaned process group does not allow (POSIX.1). The leader keeps only the
/// terminal and the report descriptor. Reap it with waitpid(2).
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
/// 0 or -1. Does not become a controlling terminal (`O_NOCTTY`).
int clinux_openpty(int *primary, char *name, size_t length);

// MARK: descriptors.c

/// eventfd(2), close-on-exec and non-blocking: a descriptor or -1.
int clinux_eventfd(unsigned int value);

/// memfd_create(2), close-on-exec and sealable: a descriptor or -1.
int clinux_memfd(const char *name);

/// Closes all descriptors above 2 (close_range(2)) and opens `/dev/null` for those of 0, 1 and 2 that are closed.
///
/// For the start of a program whose caller may be hostile. 0 or -1.
int clinux_keep_standard_descriptors(void);

/// accept4(2), close-on-exec: the connection or -1.
int clinux_accept(int socket);

/// statx(2) of the size alone, without following a link: the size of a file in bytes, or -1.
///
/// stat(2) queries the times as well: the next write then updates them, and the flush after it writes the inode.
int64_t clinux_length(int directory, const char *name);

/// statx(2) of the device and inode alone (two numbers), without following a link: 0 or -1. With an empty name, of `directory` itself.
///
/// Like ``clinux_length``, it does not query the times.
int clinux_identity(int directory, const char *name, uint64_t *identity);

/// Renames an entry to a name that is free, in one step: 0 or -1, with `EEXIST` in `errno` if the name is taken.
int clinux_rename_to_free(int directory, const char *from, int new_directory, const char *to);

/// statfs(2): whether the directory is on an in-memory file system (tmpfs or ramfs).
bool clinux_is_in_memory(const char *directory);

// MARK: flags.c: constants that glibc defines under _GNU_SOURCE only

/// `O_PATH`: a descriptor that refers to a file without access to its content.
extern const int CLINUX_O_PATH;

// MARK: daemonize.c

/// fork(2) into the background, before any thread exists: returns in the daemon only.
///
/// The daemon has its own session without a terminal and `/` as working directory; its standard descriptors stay open
/// until it reports. The launching process waits for the report and exits with its status. Returns the descriptor to
/// report on, or -1.
int clinux_daemonize(void);

/// Reports the outcome of the start on the descriptor of `clinux_daemonize` and closes it. Status 0 means ready, and
/// first redirects the standard descriptors to `/dev/null`. 0 or -1.
int clinux_daemon_report(int report, unsigned char status);

/// clearenv(3): 0, or non-zero on failure.
int clinux_clear_environment(void);

/// Re-executes this program with its arguments and descriptors and only the variables in `names` (null-terminated),
/// unless it has no others. Returns 0 if there are no others, or -1.
int clinux_restart_with_variables(const char *_Nullable const *_Nonnull names);

// MARK: broker.c

/// capset(2) and `PR_CAPBSET_DROP`: drops all capabilities except CAP_SYS_PTRACE from the permitted, effective and
/// bounding sets; the user stays the same. 0 or -1; needs CAP_SETPCAP.
int clinux_keep_capability_ptrace(void);

/// The facts about a file that the broker checks.
typedef struct {
    uint64_t device;
    uint64_t inode;
    uint32_t owner;
    uint32_t mode;
    uint32_t links;
    /// The mount that it was opened through, as in the first field of mountinfo (proc(5)).
    uint64_t mount;
} clinux_file;

/// statx(2) of an open descriptor from the kernel's cached attributes: a user's own file system is not queried. 0 or
/// -1; `ENOSYS` if the kernel does not tell the mount (before Linux 5.8).
int clinux_look_at(int descriptor, clinux_file *file);

/// openat2(2) (Linux 5.12) of an absolute path without links, below the directory `root` as if by chroot(2): an `O_PATH`
/// descriptor or -1.
///
/// Resolved from the kernel's cache of names alone (`RESOLVE_CACHED`), so that no user's file system is queried and
/// nothing is waited for; `EAGAIN` if the cache does not have them.
int clinux_open_below(int root, const char *path);

/// recvmsg(2) of one packet without waiting, with at most one close-on-exec descriptor; `descriptor` is -1 if none
/// came.
///
/// Return value as recv(2), and `EMSGSIZE` for a longer packet or one with more descriptors, which are closed.
intptr_t clinux_receive_packet(int socket, void *_Nonnull buffer, size_t count, int *_Nonnull descriptor);

/// sendmsg(2) of one packet without waiting, with a descriptor (-1 for none). Return value as send(2).
intptr_t clinux_send_packet(int socket, const void *_Nonnull buffer, size_t count, int descriptor);

#pragma clang assume_nonnull end
