// A writer that waits a second where it wants to wait a millisecond, as on a busy machine.

#include <dlfcn.h>
#include <pthread.h>

extern "C" __attribute__((visibility("default"))) int pthread_cond_timedwait(
    pthread_cond_t *condition, pthread_mutex_t *mutex, const timespec *until) {
    typedef int F(pthread_cond_t *, pthread_mutex_t *, const timespec *);
    static F *next = reinterpret_cast<F *>(dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
    timespec later = *until;
    later.tv_sec++;
    return next(condition, mutex, &later);
}
