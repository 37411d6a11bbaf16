// The library that called an interposer, and the number of its calls in all processes of a program.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// The file of an address; "" for the program itself. It takes no lock and no memory.
static const char *object_of(const void *address) {
    dl_find_object found;
    if (_dl_find_object(const_cast<void *>(address), &found)) return "";
    return found.dlfo_link_map->l_name;
}

// FAIL_COUNT: a file of eight bytes. FAIL_NTH: the call that fails, from 1; 0 for none. FAIL_FOR_EVER:
// all calls after it fail, too.
static bool fails_now() {
    static std::atomic<uint64_t> *calls = nullptr;
    static uint64_t nth = 0;
    static bool for_ever = false;
    if (!calls) {
        const char *path = getenv("FAIL_COUNT"), *number = getenv("FAIL_NTH");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *shared = mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd < 0 || shared == MAP_FAILED) _exit(99);
        close(fd);
        nth = number ? strtoull(number, nullptr, 10) : 0;
        for_ever = getenv("FAIL_FOR_EVER") != nullptr;
        calls = static_cast<std::atomic<uint64_t> *>(shared);
    }
    uint64_t now = calls->fetch_add(1) + 1;
    return nth && (now == nth || (for_ever && now > nth));
}
