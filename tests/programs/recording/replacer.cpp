// A program that gives the number of the recorder's descriptor to a file of its own, REPLACED_BY, between
// the recorder's look at it and each write.

#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>
#include <cstdlib>
#include <thread>

static sem_t asked, replaced;
static int number;

// The thread has the descriptors of the program, whatever those of the recorder are.
__attribute__((constructor)) static void start() {
    const char *path = getenv("REPLACED_BY");
    int own = open(path ? path : "", O_WRONLY | O_APPEND | O_CLOEXEC);
    if (own < 0 || sem_init(&asked, 0, 0) || sem_init(&replaced, 0, 0)) abort();
    std::thread([own] {
        while (!sem_wait(&asked)) {
            if (dup2(own, number) < 0) abort();
            sem_post(&replaced);
        }
    }).detach();
}

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t n) {
    typedef ssize_t F(int, const void *, size_t);
    static F *next = reinterpret_cast<F *>(dlsym(RTLD_NEXT, "write"));
    if (fd >= 512) {  // the recorder's
        number = fd;
        sem_post(&asked);
        sem_wait(&replaced);
    }
    return next(fd, bytes, n);
}
