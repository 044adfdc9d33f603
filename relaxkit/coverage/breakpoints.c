/* One-shot breakpoints in the code of a loaded library: which of them a process has reached, since it last asked.
 *
 * The pages of the code give way to a file in memory with the same content, mapped once to be executed and once to be
 * written: no page is both.  There the first byte of each block is int3.  The handler of the signal puts the byte back
 * through the second mapping and notes the block, which costs nothing from then on.  What is noted is in memory that
 * forked processes share, as they share the code. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#define INT3 0xCC

static unsigned char *code, *writable;       /* the pages as they are executed, and as they are written */
static const unsigned char *original;        /* as they were */
static size_t length;                        /* bytes of them */
static const uint32_t *blocks;               /* places of the blocks */
static size_t count;
static unsigned char *known;                 /* a bit for each byte: whether a block begins there */
static unsigned char *armed;                 /* as known: whether it was not reached yet */
static uint32_t *reached, *reached_count;    /* places of blocks, in the order in which they were reached */

static void on_trap(int number, siginfo_t *information, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    size_t place = (size_t)registers[REG_RIP] - 1 - (size_t)code;
    (void)information;
    if (place >= length || !(known[place / 8] & 1 << place % 8)) {
        signal(number, SIG_DFL); /* somebody else's breakpoint ends the process, as it does without us */
        raise(number);
        return;
    }
    unsigned char bit = (unsigned char)(1 << place % 8);
    writable[place] = original[place];
    if (__atomic_fetch_and(&armed[place / 8], (unsigned char)~bit, __ATOMIC_RELAXED) & bit)
        reached[__atomic_fetch_add(reached_count, 1, __ATOMIC_RELAXED)] = (uint32_t)place;
    registers[REG_RIP]--; /* again, with the instruction that belongs there */
}

static void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Set some breakpoints anew, when what was reached is taken. */
void relaxfuzz_arm_some(const uint32_t *places, size_t number)
{
    for (size_t each = 0; each < number; each++) {
        __atomic_fetch_or(&armed[places[each] / 8], (unsigned char)(1 << places[each] % 8), __ATOMIC_RELAXED);
        writable[places[each]] = INT3;
    }
}

/* Set all breakpoints anew, and forget what was reached. */
void relaxfuzz_arm(void)
{
    *reached_count = 0;
    relaxfuzz_arm_some(blocks, count);
    madvise(writable, length, MADV_DONTNEED); /* the pages stay, the entries of this mapping go */
}

/* Take over `size` bytes of code, whole pages, which lie in `file` from `offset` on, with `number` blocks at `places`.
 * 0, or the error of the system; EILSEQ: the code is not that of the file. */
int relaxfuzz_attach(void *start, size_t size, int file, off_t offset, const uint32_t *places, size_t number)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t trap;
    int pages = memfd_create("relaxfuzz-code", MFD_CLOEXEC | MFD_EXEC);
    if (pages < 0 && errno == EINVAL) /* Linux before 6.3 */
        pages = memfd_create("relaxfuzz-code", MFD_CLOEXEC);
    if (pages < 0 || ftruncate(pages, (off_t)size))
        return errno;
    length = size, blocks = places, count = number;
    original = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, offset);
    writable = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pages, 0);
    known = shared(size / 8), armed = shared(size / 8);
    reached = shared(number * sizeof *reached), reached_count = shared(sizeof *reached_count);
    if (original == MAP_FAILED || writable == MAP_FAILED || !known || !armed || !reached || !reached_count)
        return ENOMEM;
    if (memcmp(original, start, size))
        return EILSEQ;
    memcpy(writable, original, size);
    for (size_t each = 0; each < number; each++)
        known[places[each] / 8] |= (unsigned char)(1 << places[each] % 8);
    code = start;
    relaxfuzz_arm();
    sigemptyset(&trap), sigaddset(&trap, SIGTRAP), sigemptyset(&action.sa_mask);
    if (sigaction(SIGTRAP, &action, NULL) || pthread_sigmask(SIG_UNBLOCK, &trap, NULL))
        return errno;
    void *taken_over = mmap(start, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, pages, 0);
    close(pages);
    return taken_over == MAP_FAILED ? errno : 0;
}

/* Point `where` to the blocks that were reached since the last call, until one more is; returns how many. */
size_t relaxfuzz_take(const uint32_t **where)
{
    *where = reached;
    return __atomic_exchange_n(reached_count, 0, __ATOMIC_ACQUIRE);
}
