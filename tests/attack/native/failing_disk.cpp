// A disk that fails for the library with FAIL_OF in its name. FAIL_ERROR: the number of the error; 0:
// a write takes only a half. FAIL_HALF: a write that fails has taken a half before.
#include "caller.h"
#include <cerrno>
#include <cstdarg>
#include <pthread.h>
#include <sys/stat.h>

template <class F> static F *real(F *, const char *name) {
    return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) static auto next = real(&name, #name)
#define OURS() is_ours(__builtin_return_address(0))

static bool is_ours(const void *caller) {
    static const char *of = getenv("FAIL_OF");
    return of && strstr(object_of(caller), of);
}

static int error_now() {
    static const char *number = getenv("FAIL_ERROR");
    return fails_now() ? (number ? atoi(number) : 0) : -1;
}

// Whether a call of ours fails. errno is set.
static bool fails(bool ours) {
    int error = ours ? error_now() : -1;
    if (error <= 0) return false;
    errno = error;
    return true;
}

extern "C" {

int open(const char *path, int flags, ...) {
    REAL(open);
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return fails(OURS()) ? -1 : next(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(write);
    int error = OURS() ? error_now() : -1;
    if (error < 0) return next(fd, bytes, n);
    if (error == 0) return next(fd, bytes, (n + 1) / 2);
    if (getenv("FAIL_HALF")) next(fd, bytes, (n + 1) / 2);
    errno = error;
    return -1;
}

int fstat(int fd, struct stat *about) noexcept {
    REAL(fstat);
    return fails(OURS()) ? -1 : next(fd, about);
}

int ftruncate(int fd, off_t size) noexcept {
    REAL(ftruncate);
    return fails(OURS()) ? -1 : next(fd, size);
}

int access(const char *path, int how) noexcept {
    REAL(access);
    return fails(OURS()) ? -1 : next(path, how);
}

int close(int fd) {  // one that fails has closed
    REAL(close);
    bool now = fails(OURS());
    int result = next(fd);
    return now ? errno = EIO, -1 : result;
}

int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*work)(void *), void *given) noexcept {
    REAL(pthread_create);
    return OURS() && error_now() > 0 ? EAGAIN : next(made, how, work, given);
}

}  // extern "C"
