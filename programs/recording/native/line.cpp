// A line of the events' file: one JSON object.
#include <cmath>
#include <cstdio>
#include <cstring>
#include "recorder.h"

static uint64_t first_ns = now_ns();

Line::Line(const char *event, const Thread *thread) {
    text.reserve(256);
    text += "{\"e\":\"";
    text += event;
    text += '"';
    whole("t", static_cast<int64_t>((now_ns() - first_ns) / 1000000));
    if (thread) {
        whole("th", thread->number);
        if (thread->depth) whole("d", thread->depth);
    }
}

void Line::name(const char *key) {
    if (text.back() != '{') text += ',';
    text += '"';
    text += key;
    text += "\":";
}

Line &Line::whole(const char *key, int64_t value) {
    name(key);
    text += std::to_string(value);
    return *this;
}

Line &Line::real(const char *key, double value) {
    return raw(key, json_real(value));
}

Line &Line::word(const char *key, const std::string &value) {
    return raw(key, json_text(value.data(), value.size()));
}

Line &Line::address(const char *key, const void *value) {
    return raw(key, json_address(value));
}

Line &Line::raw(const char *key, const std::string &json) {
    name(key);
    text += json;
    return *this;
}

std::string json_real(double value) {
    if (std::isnan(value)) return "\"nan\"";
    if (std::isinf(value)) return value < 0 ? "\"-inf\"" : "\"inf\"";
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';  // a program may have set a locale
    return text;
}

std::string json_address(const void *value) {
    char text[32];
    snprintf(text, sizeof text, "\"0x%llx\"",
             static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(value)));
    return text;
}

// The length of the character of UTF-8 that starts here; 0 where none does.
static size_t character(const unsigned char *c, size_t left) {
    if (c[0] < 0x80) return 1;
    size_t n = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : 2;
    if (c[0] < 0xC2 || c[0] > 0xF4 || left < n) return 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xC0) != 0x80) return 0;
    bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    bool surrogate = c[0] == 0xED && c[1] > 0x9F;
    return overlong || surrogate || (c[0] == 0xF4 && c[1] > 0x8F) ? 0 : n;
}

// A JSON string, or {"b64":...} where the bytes are not UTF-8.
std::string json_text(const char *value, size_t length) {
    auto bytes = reinterpret_cast<const unsigned char *>(value);
    std::string out = "\"";
    for (size_t i = 0; i < length;) {
        size_t n = character(bytes + i, length - i);
        if (n == 0) return "{\"b64\":\"" + base64(std::string(value, length)) + "\"}";
        if (n == 1 && (bytes[i] < 0x20 || bytes[i] == '"' || bytes[i] == '\\' || bytes[i] == 0x7F)) {
            char escaped[8];
            snprintf(escaped, sizeof escaped, "\\u%04x", bytes[i]);
            out += escaped;
        } else {
            out.append(value + i, n);
        }
        i += n;
    }
    return out + "\"";
}

std::string base64(const std::string &bytes) {
    static const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
        uint32_t three = 0;
        for (size_t j = 0; j < 3; j++)
            three = three << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0);
        for (size_t j = 0; j < 4; j++)
            out += j <= n ? digits[three >> (18 - 6 * j) & 63] : '=';
    }
    return out;
}

// CRC-32 as zlib's: four bits at a time.
uint32_t crc32(uint32_t state, const char *bytes, size_t length) {
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    state = ~state;
    for (size_t i = 0; i < length; i++) {
        state ^= static_cast<unsigned char>(bytes[i]);
        state = table[state & 15] ^ state >> 4;
        state = table[state & 15] ^ state >> 4;
    }
    return ~state;
}
