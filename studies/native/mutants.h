// The switches of studies/native/mutate.py: each computes what the source says unless its mutant is on.

#pragma once

extern "C" int native_mutant;               // the mutant that is on; 0: none
extern "C" unsigned char native_reached[];  // by number: its switch was evaluated

static inline bool mutant_on(int number) {
    native_reached[number] = 1;
    return native_mutant == number;
}

#define MUTANT_COMPARES(name, op, other, turned)                       \
    template <class A, class B> bool mutant_##name(int n, A a, B b) {  \
        if (mutant_on(n)) {                                            \
            return a other b;                                          \
        }                                                              \
        return mutant_on(n + 1) ? a turned b : a op b;                 \
    }
#define MUTANT_EQUALS(name, op, other)                                 \
    template <class A, class B> bool mutant_##name(int n, A a, B b) {  \
        return mutant_on(n) ? a other b : a op b;                      \
    }
#define MUTANT_COMPUTES(name, op, other)                               \
    template <class A, class B> auto mutant_##name(int n, A a, B b) -> decltype(a op b) { \
        return mutant_on(n) ? a other b : a op b;                      \
    }
#define MUTANT_ASSIGNS(name, op, other)                                \
    template <class A, class B> A & mutant_##name(int n, A & a, B b) { \
        return mutant_on(n) ? a other b : a op b;                      \
    }

MUTANT_COMPARES(lt, <, <=, >)
MUTANT_COMPARES(le, <=, <, >=)
MUTANT_COMPARES(gt, >, >=, <)
MUTANT_COMPARES(ge, >=, >, <=)
MUTANT_EQUALS(eq, ==, !=)
MUTANT_EQUALS(ne, !=, ==)
MUTANT_COMPUTES(add, +, -)
MUTANT_COMPUTES(sub, -, +)
MUTANT_COMPUTES(mul, *, /)
MUTANT_COMPUTES(div, /, *)
MUTANT_ASSIGNS(add_to, +=, -=)
MUTANT_ASSIGNS(sub_from, -=, +=)
MUTANT_ASSIGNS(mul_by, *=, /=)
MUTANT_ASSIGNS(div_by, /=, *=)

template <class A> A mutant_minus(int n, A a) {
    return mutant_on(n) ? a : -a;
}
template <class A> bool mutant_not(int n, const A & a) {
    return mutant_on(n) ? static_cast<bool>(a) : !a;
}
template <class A> A mutant_whole(int n, A a) {
    if (mutant_on(n)) {
        return a + 1;
    }
    return mutant_on(n + 1) ? a - 1 : a;
}
template <class A> A mutant_number(int n, A a) {
    if (mutant_on(n)) {
        return a + 1;
    }
    return mutant_on(n + 1) ? a / 2 : a;
}

// Short-circuits as the source does: a && b is a ? b : false, a || b is a ? true : b.
static inline bool mutant_and_takes(bool on, bool a) {
    return a != on;
}
#define MUTANT_AND(n, a, b) (mutant_and_takes(mutant_on(n), static_cast<bool>(a)) ? static_cast<bool>(b) : native_mutant == n)
#define MUTANT_OR(n, a, b) (mutant_and_takes(!mutant_on(n), static_cast<bool>(a)) ? static_cast<bool>(b) : native_mutant != n)
#define MUTANT_TRUE(n, a) (mutant_on(n) != static_cast<bool>(a))
