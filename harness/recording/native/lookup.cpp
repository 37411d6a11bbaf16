// The functions of libllama that stand behind the recorder's.
#include <dlfcn.h>
#include <link.h>
#include <cstdlib>
#include <cstring>
#include "recorder.h"

static std::vector<std::string> loaded_objects() {
    std::vector<std::string> names;
    auto add = [](dl_phdr_info *info, size_t, void *to) {
        if (info->dlpi_name && *info->dlpi_name)
            static_cast<std::vector<std::string> *>(to)->push_back(info->dlpi_name);
        return 0;
    };
    dl_iterate_phdr(add, &names);
    return names;
}

static const char *file_of(const void *address) {
    Dl_info info;
    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

typedef void *Dlsym(void *, const char *);

static Dlsym *real_dlsym() {
    static Dlsym *found = nullptr;
    Dlsym *now = __atomic_load_n(&found, __ATOMIC_RELAXED);
    for (const char *version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
        if (!now) now = reinterpret_cast<Dlsym *>(dlvsym(RTLD_NEXT, "dlsym", version));
    __atomic_store_n(&found, now, __ATOMIC_RELAXED);
    return now;
}

static const char *own_file() { return file_of(reinterpret_cast<const void *>(&real_dlsym)); }

// RTLD_NEXT does not see a library that was opened locally (node's addons): look through them all.
static void *search(const char *name) {
    Dlsym *find = real_dlsym();
    void *found = find ? find(RTLD_NEXT, name) : nullptr;
    if (found || !find) return found;
    std::string own = own_file();
    for (const std::string &object : loaded_objects()) {
        void *handle = dlopen(object.c_str(), RTLD_NOLOAD | RTLD_LAZY);
        if (!handle) continue;
        found = find(handle, name);
        dlclose(handle);
        if (found && own != file_of(found)) return found;
    }
    return nullptr;
}

void *next_symbol(const char *name) {
    int kept = errno;
    void *found = nullptr;
    try {
        found = search(name);
    } catch (...) {  // no memory
    }
    dlerror();  // a program that asks for its own error does not get ours
    errno = kept;
    return found;
}

static void *own_symbol(const char *name) {
    static void *self = dlopen(own_file(), RTLD_NOLOAD | RTLD_LAZY);
    void *found = self ? real_dlsym()(self, name) : nullptr;
    return found && !strcmp(file_of(found), own_file()) ? found : nullptr;
}

// ctypes, cffi and the like ask the library itself for its functions: give them ours. The call of
// the real dlsym is the last one, so that RTLD_NEXT still means the library behind our caller's.
EXPORTED void *dlsym(void *handle, const char *name) {
    Dlsym *find = real_dlsym();
    if (!settings.on || strncmp(name, "llama_", 6) || handle == RTLD_NEXT) return find(handle, name);
    void *found = find(handle, name), *own = found ? own_symbol(name) : nullptr;
    return own ? own : found;
}

std::string library_path() { return file_of(next_symbol("llama_sampler_apply")); }

std::string library_version() {
    auto version = other<const char *()>("llama_version");
    const char *text = version ? version() : nullptr;
    return text ? text : "";
}

static int find_release_number() {
    if (*settings.release) return *settings.release == 'b' ? atoi(settings.release + 1) : newest;
    if (!library_version().empty()) return newest;
    if (auto number = other<int()>("_Z18llama_build_numberv")) return number();
    if (auto number = other<int>("LLAMA_BUILD_NUMBER")) return *number;
    return 0;
}

int release_number() {
    static const int number = find_release_number();
    return number;
}
