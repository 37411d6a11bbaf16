// The functions of libllama that stand behind the recorder's.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "recorder.h"

// What is here takes no memory: a program without it must reach libllama all the same.
struct Name { char text[4096]; };

static void copy(Name &to, const char *name) { snprintf(to.text, sizeof to.text, "%s", name); }

// The name of the n-th loaded object that has one.
static bool object_name(size_t n, Name &name) {
    struct Wanted { size_t left; Name *name; } wanted{n, &name};
    auto look = [](dl_phdr_info *info, size_t, void *given) {
        auto &wanted = *static_cast<Wanted *>(given);
        if (!info->dlpi_name || !*info->dlpi_name || wanted.left--) return 0;
        copy(*wanted.name, info->dlpi_name);
        return 1;
    };
    return dl_iterate_phdr(look, &wanted);
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

// Call a function with the name of each object that has a symbol, its own or one of a library that it
// needs, until it returns true.
template <class F> static void *search_objects(const char *name, F is_it) {
    Dlsym *find = real_dlsym();
    Name object;
    for (size_t i = 0; find && object_name(i, object); i++) {
        void *handle = dlopen(object.text, RTLD_NOLOAD | RTLD_LAZY);
        if (!handle) continue;
        void *found = find(handle, name);
        dlclose(handle);
        if (found && strcmp(own_file(), file_of(found)) && is_it(object.text, found)) return found;
    }
    return nullptr;
}

// RTLD_NEXT does not see a library that was opened locally (node's addons): look through them all.
static void *search(const char *name) {
    Dlsym *find = real_dlsym();
    void *found = find ? find(RTLD_NEXT, name) : nullptr;
    if (found) return found;
    return search_objects(name, [](const char *, void *) { return true; });
}

template <class F> static void *quietly(F look) {
    int kept = errno;
    void *found = look();
    dlerror();  // a program that asks for its own error does not get ours
    errno = kept;
    return found;
}

void *next_symbol(const char *name) {
    return quietly([=] { return search(name); });
}

unsigned long long loads() {
    unsigned long long n = 0;
    auto read = [](dl_phdr_info *info, size_t, void *to) {
        *static_cast<unsigned long long *>(to) = info->dlpi_adds + info->dlpi_subs;
        return 1;
    };
    dl_iterate_phdr(read, &n);
    return n;
}

// A program may load a second libllama, or another one in the place of the first. Then each caller
// gets the functions of its own, and the recording stops: it is of one release.
static unsigned long long seen = 0;
static bool several = false;
static Name first;  // file of the recorded one
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void lock_lookup(bool lock) {
    lock ? pthread_mutex_lock(&mutex) : pthread_mutex_unlock(&mutex);
}

static void look_for_another() {
    unsigned long long now = loads();
    if (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) == now) return;
    Name another = {};
    {
        Guard guard(mutex);
        bool has_first = false;
        search_objects("llama_backend_init", [&](const char *, void *found) {
            const char *file = file_of(found);
            if (!*first.text) copy(first, file);
            strcmp(first.text, file) ? copy(another, file) : (void)(has_first = true);
            return false;
        });
        __atomic_store_n(&several, has_first && *another.text, __ATOMIC_RELAXED);
        __atomic_store_n(&seen, now, __ATOMIC_RELEASE);
    }
    if (!*another.text) return;
    char why[sizeof another + 60];
    snprintf(why, sizeof why, "the program loads a second libllama: %s", another.text);
    stop(why);
}

static bool are_several() { return __atomic_load_n(&several, __ATOMIC_RELAXED); }

void *next_symbol(const char *name, const void *caller) {
    return quietly([=] {
        look_for_another();
        const char *from = file_of(caller);
        auto is_own = [&](const char *object, void *) { return !strcmp(object, from); };
        auto is_first = [](const char *, void *found) { return !strcmp(first.text, file_of(found)); };
        void *found = are_several() ? search_objects(name, is_own) : nullptr;
        if (!found && are_several()) found = search_objects(name, is_first);
        return found ? found : search(name);
    });
}

void *Found::now(const char *name, const void *caller) {
    unsigned long long now = loads();
    void *known = __atomic_load_n(&function, __ATOMIC_RELAXED);
    if (known && __atomic_load_n(&at, __ATOMIC_ACQUIRE) == now) return known;
    void *found = next_symbol(name, caller);
    if (are_several()) return found;  // it depends on the caller
    __atomic_store_n(&function, found, __ATOMIC_RELAXED);
    __atomic_store_n(&at, now, __ATOMIC_RELEASE);
    return found;
}

static void *own_symbol(const char *name) {
    static void *self = nullptr;
    void *now = __atomic_load_n(&self, __ATOMIC_RELAXED);
    if (!now) now = dlopen(own_file(), RTLD_NOLOAD | RTLD_LAZY);
    __atomic_store_n(&self, now, __ATOMIC_RELAXED);
    if (!now) stop(no_memory);
    void *found = now ? real_dlsym()(now, name) : nullptr;
    return found && !strcmp(file_of(found), own_file()) ? found : nullptr;
}

// ctypes, cffi and the like ask the library itself for its functions: give them ours. The call of
// the real dlsym is the last one, so that RTLD_NEXT still means the library behind our caller's.
EXPORTED void *dlsym(void *handle, const char *name) {
    Dlsym *find = real_dlsym();
    if (!settings.on || strncmp(name, "llama_", 6) || handle == RTLD_NEXT) return find(handle, name);
    void *found = find(handle, name), *own = found ? own_symbol(name) : nullptr;
    if (own) quietly([] { return look_for_another(), nullptr; });
    // Ours cannot tell the caller of a second libllama's function: it is libffi.
    return own && (!are_several() || !strcmp(first.text, file_of(found))) ? own : found;
}

std::string library_path() { return file_of(next_symbol("llama_sampler_apply")); }

std::string library_version() {
    auto version = other<const char *()>("llama_version");
    const char *text = version ? version() : nullptr;
    return text ? text : "";
}

// Old releases do not tell their number. node-llama-cpp's builds have it beside the library, or in its
// name: libllama.b6673.so.
static int number_by_files(const std::string &path) {
    size_t slash = path.rfind('/'), dot = path.find(".b", slash == path.npos ? 0 : slash);
    if (dot != path.npos) return atoi(path.c_str() + dot + 2);
    char text[4096] = "";
    if (FILE *file = fopen((path.substr(0, slash + 1) + "_nlcBuildMetadata.json").c_str(), "re")) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    } else if (errno == ENOMEM) {
        throw std::bad_alloc();
    }
    const char *release = strstr(text, "\"release\":\"b");
    return release ? atoi(release + 12) : 0;
}

static int find_release_number() {
    if (*settings.release) return *settings.release == 'b' ? atoi(settings.release + 1) : newest;
    if (!library_version().empty()) return newest;
    if (auto number = other<int()>("_Z18llama_build_numberv")) return number();
    if (auto number = other<int>("LLAMA_BUILD_NUMBER")) return *number;
    return number_by_files(library_path());
}

int release_number() {
    static const int number = find_release_number();
    return number;
}
