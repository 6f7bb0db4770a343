/* Input and output that fails once, at the n-th call for files whose names begin alike.

   Loaded before the C library (LD_PRELOAD); the variables are set through ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, ERROR, SHORT, FULL };

char faulty_prefix[PATH_MAX]; /* files whose names begin so; of none if it is empty */
int faulty_at;                /* the call that fails, from 1; 0: none, but calls are counted */
int faulty_kind;
int faulty_calls;
char faulty_name[32]; /* the call that failed */

static int counts(const char *path) {
    return faulty_prefix[0] && !strncmp(path, faulty_prefix, strlen(faulty_prefix));
}

static int is_target(int descriptor) {
    char link[64], path[PATH_MAX];
    if (!faulty_prefix[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return counts(path);
}

/* Reads and writes may be cut off, what takes space may find none, everything may fail. */
static int kind_of(const char *name) {
    int may_be_short = strstr(name, "read") || strstr(name, "write");
    int may_be_full = strstr(name, "write") || strstr(name, "open");
    if (++faulty_calls != faulty_at) return NONE;
    if (faulty_kind == SHORT && !may_be_short) return NONE;
    if (faulty_kind == FULL && !may_be_full) return NONE;
    strncpy(faulty_name, name, sizeof faulty_name - 1);
    return faulty_kind;
}

static long failed(int kind) {
    errno = kind == FULL ? ENOSPC : EIO;
    return -1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, #name)

#define READ(name, parameters, length, ...) \
    ssize_t name parameters { \
        REAL(ssize_t, name, int, void *, size_t, ...); \
        int kind = is_target(descriptor) ? kind_of(#name) : NONE; \
        if (kind == SHORT) return 0; \
        return kind ? failed(kind) : real(__VA_ARGS__); \
    }
READ(read, (int descriptor, void *to, size_t n), n, descriptor, to, n)
READ(pread, (int descriptor, void *to, size_t n, off_t at), n, descriptor, to, n, at)
READ(pread64, (int descriptor, void *to, size_t n, off64_t at), n, descriptor, to, n, at)

/* A short write is followed by an error, as on a disk that is full: the rest is not written. */
int faulty_was_short;
#define WRITE(name, parameters, ...) \
    ssize_t name parameters { \
        REAL(ssize_t, name, int, const void *, size_t, ...); \
        int kind = NONE; \
        if (is_target(descriptor)) { \
            if (faulty_was_short) { faulty_was_short = 0; return failed(FULL); } \
            kind = kind_of(#name); \
        } \
        if (kind == SHORT) { faulty_was_short = 1; n /= 3; kind = NONE; } \
        return kind ? failed(kind) : real(__VA_ARGS__); \
    }
WRITE(write, (int descriptor, const void *from, size_t n), descriptor, from, n)
WRITE(pwrite, (int descriptor, const void *from, size_t n, off_t at), descriptor, from, n, at)
WRITE(pwrite64, (int descriptor, const void *from, size_t n, off64_t at), descriptor, from, n, at)

#define OTHER(name, parameters, ...) \
    int name parameters { \
        REAL(int, name, int, ...); \
        int kind = is_target(descriptor) ? kind_of(#name) : NONE; \
        return kind ? (int)failed(kind) : real(__VA_ARGS__); \
    }
OTHER(fsync, (int descriptor), descriptor)
OTHER(fdatasync, (int descriptor), descriptor)
OTHER(ftruncate, (int descriptor, off_t length), descriptor, length)
OTHER(ftruncate64, (int descriptor, off64_t length), descriptor, length)
OTHER(fchmod, (int descriptor, mode_t mode), descriptor, mode)
OTHER(flock, (int descriptor, int operation), descriptor, operation)

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    int kind = counts(path) ? kind_of("unlink") : NONE;
    return kind ? (int)failed(kind) : real(path);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        int kind = counts(path) ? kind_of(#name) : NONE; \
        return kind ? (int)failed(kind) : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
