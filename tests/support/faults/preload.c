/* Fails, or ends, the process that first works below a folder, at its k-th call of one kind.

   PLUMBLINE_FAULT = FOLDER|TOKEN|KIND|NUMBER|ACTION
   TOKEN is a file that the first process creates: its children, and what runs beside it, are spared.
   KIND is rename, unlink, fsync or write; ACTION is kill, EIO (this call) or ENOSPC (this and all later
   writes, fsyncs and renames). With the action `count` each call is written to TOKEN as a line; with
   the others the call that met its fault. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    pid_t pid;
    int is_chosen, is_full;
    long number, seen;
    char folder[PATH_MAX], token[PATH_MAX], kind[16], action[16];
} fault;

static int is_chosen(void) {
    if (fault.pid == getpid()) return fault.is_chosen;
    memset(&fault, 0, sizeof fault);
    const char *text = getenv("PLUMBLINE_FAULT");
    if (!text) return 0; /* asked again: a forked process gets its environment later */
    fault.pid = getpid();
    if (sscanf(text, "%4095[^|]|%4095[^|]|%15[^|]|%ld|%15s", fault.folder, fault.token, fault.kind,
               &fault.number, fault.action) != 5) return 0;
    int file = syscall(SYS_openat, AT_FDCWD, fault.token, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file >= 0) syscall(SYS_close, file);
    return fault.is_chosen = file >= 0;
}

static int is_below(const char *path) {
    size_t length = strlen(fault.folder);
    return !strncmp(path, fault.folder, length) && (path[length] == '/' || !path[length]);
}

static int is_path_below(int folder, const char *path) {
    char link[64], base[PATH_MAX];
    if (path[0] == '/') return is_below(path);
    if (folder == AT_FDCWD) return getcwd(base, sizeof base) && is_below(base);
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
    return is_below(base);
}

static void note(const char *kind, const char *path) {
    int file = syscall(SYS_openat, AT_FDCWD, fault.token, O_APPEND | O_WRONLY, 0600);
    dprintf(file, "%s %s\n", kind, path);
    syscall(SYS_close, file);
}

/* Returns the error to give to the caller, or 0 to let the call happen. */
static int meet(const char *kind, const char *path) {
    if (!strcmp(fault.action, "count")) {
        note(kind, path);
        return 0;
    }
    if (fault.is_full) return strcmp(kind, "unlink") ? ENOSPC : 0;
    if (strcmp(kind, fault.kind) || ++fault.seen != fault.number) return 0;
    note(kind, path);
    if (!strcmp(fault.action, "kill")) kill(getpid(), SIGKILL);
    fault.is_full = !strcmp(fault.action, "ENOSPC");
    return fault.is_full ? ENOSPC : EIO;
}

static int meet_path(const char *kind, int folder, const char *path) {
    return is_chosen() && is_path_below(folder, path) ? meet(kind, path) : 0;
}

static int meet_file(const char *kind, int file) {
    char link[64], path[PATH_MAX];
    if (!is_chosen()) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path) && strcmp(path, fault.token) ? meet(kind, path) : 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define GUARD(check) { int number = (check); if (number) { errno = number; return -1; } }

int rename(const char *from, const char *to) {
    GUARD(meet_path("rename", AT_FDCWD, to));
    return NEXT(rename)(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    GUARD(meet_path("rename", b, to));
    return NEXT(renameat)(a, from, b, to);
}
int unlink(const char *path) {
    GUARD(meet_path("unlink", AT_FDCWD, path));
    return NEXT(unlink)(path);
}
int unlinkat(int folder, const char *path, int flags) {
    GUARD(meet_path("unlink", folder, path));
    return NEXT(unlinkat)(folder, path, flags);
}
int fsync(int file) {
    GUARD(meet_file("fsync", file));
    return NEXT(fsync)(file);
}
int fdatasync(int file) {
    GUARD(meet_file("fsync", file));
    return NEXT(fdatasync)(file);
}
ssize_t write(int file, const void *bytes, size_t size) {
    GUARD(meet_file("write", file));
    return NEXT(write)(file, bytes, size);
}
ssize_t writev(int file, const struct iovec *parts, int number) {
    GUARD(meet_file("write", file));
    return NEXT(writev)(file, parts, number);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t place) {
    GUARD(meet_file("write", file));
    return NEXT(pwrite64)(file, bytes, size, place);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t place) {
    GUARD(meet_file("write", file));
    return NEXT(pwrite)(file, bytes, size, place);
}
