/* A small library whose blocks are known: tests/relaxkit/coverage compiles it and goes through it. */
#include <stdlib.h>

static int loads;
__attribute__((constructor)) static void on_load(void) { loads++; }

const char *text(void) { return "src/relax/sample.cc"; }

__attribute__((noinline)) int sign(int value)
{
    if (value < 0)
        return loads - 8;
    if (value > 0)
        return rand() & 1;
    return 5;
}

__attribute__((noinline)) int checked(int value)
{
    if (value > 100)
        abort();
    return sign(value) + sign(value + 1);
}

int never(int value) { return value ? sign(value) : 2; }

void breakpoint(void) { __asm__ volatile("int3"); }
