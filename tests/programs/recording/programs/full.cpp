// A disk that is full after FULL_AFTER bytes, for the descriptors that the recorder uses.

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" ssize_t write(int fd, const void * bytes, size_t length) {
    static auto next = reinterpret_cast<ssize_t (*)(int, const void *, size_t)>(dlsym(RTLD_NEXT, "write"));
    static size_t left = atol(getenv("FULL_AFTER") ? getenv("FULL_AFTER") : "1000000000");
    if (fd < 512) return next(fd, bytes, length);
    if (left == 0) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t n = next(fd, bytes, length < left ? length : left);
    if (n > 0) left -= static_cast<size_t>(n);
    return n;
}
