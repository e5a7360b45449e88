/* Other pages of the machine for a process's memory, with the same contents at the same addresses:
 * which of them share a place in a cache is chance, and no other process has the same ones. */
#define _GNU_SOURCE
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef __linux__
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, of Linux 5.14 */
#define PAGE 4096UL
#define AT_ONCE 1024

/* How many pages of a part are in memory, or were written to without a change if `writes`; what is
 * no memory any more, and what the kernel refuses, has none. */
static int64_t pages_of(uintptr_t begin, uintptr_t end, int writes) {
    unsigned char is_there[AT_ONCE];
    int64_t pages = 0;
    for (uintptr_t count; begin < end; begin += count * PAGE) {
        count = (end - begin + PAGE - 1) / PAGE;
        if (count > AT_ONCE) count = AT_ONCE;
        if (mincore((void *)begin, count * PAGE, is_there)) continue;
        for (uintptr_t k = 0, run; k < count; k = run + 1) {
            for (run = k; run < count && (is_there[run] & 1); run++) {}
            void *first = (void *)(begin + k * PAGE);
            if (run > k && (!writes || !madvise(first, (run - k) * PAGE, POPULATE_WRITE))) pages += run - k;
        }
    }
    return pages;
}

static int64_t pages_of_all(const uintptr_t *ends, int64_t count, int writes) {
    int64_t pages = 0;
    for (int64_t i = 0; i < 2 * count; i += 2) pages += pages_of(ends[i], ends[i + 1], writes);
    return pages;
}

/* Whether a child of this process is to have parts of its memory, but for those that its own code
 * needs: the stack and the thread's own variables. */
static void share(const uintptr_t *ends, int64_t count, int advice) {
    uintptr_t stack = (uintptr_t)&stack, own = (uintptr_t)&errno;
    for (int64_t i = 0; i < 2 * count; i += 2)
        if ((stack < ends[i] || stack >= ends[i + 1]) && (own < ends[i] || own >= ends[i + 1]))
            madvise((void *)ends[i], ends[i + 1] - ends[i], advice);
}

/* Moves what of `count` parts, each from its begin to its end, is in memory, unless it is more than
 * `most` pages; returns how many pages. While a child of this process shares its pages, the
 * kernel gives the parent a copy of each that is written to. That is safe while other threads run.
 * The child calls nothing but the kernel, so that no library hears of it, and ends with its parent.
 * It does not have the `left_out` parts: most of its time is that of tables of pages. */
EXPORT int64_t graphlap_move_pages(const uintptr_t *ends, int64_t count, const uintptr_t *left_out,
                                   int64_t left_out_count, int64_t most) {
    if (pages_of_all(ends, count, 0) > most) return 0;
    long parent = syscall(SYS_getpid);
    share(left_out, left_out_count, MADV_DONTFORK);
    long child = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) {
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        while (syscall(SYS_getppid) == parent) syscall(SYS_ppoll, 0, 0, 0, 0, 0);
        syscall(SYS_exit_group, 0);
    }
    share(left_out, left_out_count, MADV_DOFORK);
    if (child < 0) return 0;
    int64_t pages = pages_of_all(ends, count, 1);
    if (waitpid((pid_t)child, 0, __WALL | WNOHANG)) return 0;
    syscall(SYS_kill, child, SIGKILL);
    while (waitpid((pid_t)child, 0, __WALL) < 0 && errno == EINTR) {}
    return pages;
}
#else
EXPORT int64_t graphlap_move_pages(const uintptr_t *ends, int64_t count, const uintptr_t *left_out,
                                   int64_t left_out_count, int64_t most) {
    return 0;
}
#endif
