// abort: the text of a failed assertion or of an exception that nothing catches, and its sampler.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include "recorder.h"

static const size_t longest = 1000;
static bool has_text = false;  // of ggml_abort, which calls abort

// The text of an exception may hold a part of the text that the model wrote.
static std::string text_of_exception() {
    std::exception_ptr thrown = std::current_exception();
    if (!thrown) return "";
    if (!settings.text) return "an exception";
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception &error) {
        return std::string(error.what()).substr(0, longest);
    } catch (...) {
        return "an exception";
    }
}

// A piece of a token may be no UTF-8.
static void write_abort(std::string why) {
    for (char &c : why)
        if (c < ' ' || c > '~') c = '?';
    Thread *thread = this_thread();
    Line line("aborted", thread);
    line.word("why", why);
    if (thread && thread->sampler) line.address("s", thread->sampler);
    write_at_once(false, &line.text);
}

// GGML_ASSERT and GGML_ABORT end here.
EXPORTED void ggml_abort(const char *file, int number, const char *format, ...) {
    char text[longest];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    recorded([&] {
        const char *slash = strrchr(file, '/');
        std::string where = std::string(slash ? slash + 1 : file) + ":" + std::to_string(number);
        write_abort(where + ": " + (settings.text ? text : format));
        has_text = true;
    });
    if (auto next = other<void(const char *, int, const char *, ...)>("ggml_abort"))
        next(file, number, "%s", text);
    abort();
}

// An assertion of libllama's is when a recording is needed most.
EXPORTED void abort() noexcept {
    if (!has_text)
        recorded([] {
            std::string why = text_of_exception();
            if (!why.empty()) write_abort(why);
        });
    write_at_once(false);
    reinterpret_cast<decltype(&abort)>(dlsym(RTLD_NEXT, "abort"))();
    for (;;) syscall(SYS_exit_group, 134);
}
