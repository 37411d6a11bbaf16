// A disk that takes SLOW_MS milliseconds for each array, and is stuck from the STUCK_AT-th one on.

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t n) {
    typedef ssize_t F(int, const void *, size_t);
    static F *next = reinterpret_cast<F *>(dlsym(RTLD_NEXT, "write"));
    static const char *ms = getenv("SLOW_MS"), *stuck = getenv("STUCK_AT");
    static long written = 0;
    if (fd >= 512 && n > 4096) {  // the recorder's
        if (stuck && ++written >= atol(stuck))
            for (;;) pause();
        if (ms) usleep(1000 * atoi(ms));
    }
    return next(fd, bytes, n);
}
