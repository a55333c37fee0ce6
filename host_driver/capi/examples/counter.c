/* Two simulated hosts over a bad link: one writes, reads and counts in the memory of the other, each operation done once.
 *
 * cargo build -p tributary-capi
 * cc -I host_driver/capi host_driver/capi/examples/counter.c -L target/debug -ltributary_c -Wl,-rpath,target/debug -o counter
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tributary.h"

#define ADDITIONS 500
#define COUNTER 64

static void check(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", tributary_error());
        exit(1);
    }
}

/* The operation that was begun, ended well. */
static tributary_wc finish(tributary_one_sided *user) {
    tributary_wc wc;
    int found;
    do {
        found = tributary_one_sided_wait(user, 1000000, &wc);
        check(found);
    } while (found == 0);
    if (wc.status != TRIBUTARY_OK) {
        fprintf(stderr, "an operation ended as %d\n", wc.status);
        exit(1);
    }
    return wc;
}

static void same(const char *what, uint64_t found, uint64_t expected) {
    if (found != expected) {
        fprintf(stderr, "%s: %llu, not %llu\n", what, (unsigned long long)found, (unsigned long long)expected);
        exit(1);
    }
}

int main(void) {
    tributary_sim_config links = {.seed = 1, .loss = 0.05, .duplication = 0.05, .delay = 20, .reorder = 64};
    tributary_device *devices[2];
    tributary_card *cards[2];
    tributary_one_sided *sides[2];
    tributary_one_sided_config config;
    check(tributary_sim_network(&links, 2, devices));
    tributary_one_sided_defaults(&config);
    for (int node = 0; node < 2; node++) {
        check(tributary_open(devices[node], (uint32_t)node, 1024, &cards[node]));
        check(tributary_one_sided_new(cards[node], &config, &sides[node]));
        /* What was made on a card keeps it open. */
        tributary_close(cards[node]);
        tributary_device_free(devices[node]);
    }

    /* Host 1: memory, and a window for host 0. */
    tributary_mr *memory;
    tributary_window *window;
    tributary_grant grant;
    int access = TRIBUTARY_ACCESS_REMOTE_WRITE | TRIBUTARY_ACCESS_REMOTE_READ | TRIBUTARY_ACCESS_REMOTE_ATOMIC;
    check(tributary_reg_mr(sides[1], 4096, access, &memory));
    check(tributary_window_open(sides[1], tributary_one_sided_address(sides[0]), &window, &grant));
    tributary_remote text = tributary_mr_remote(memory);
    tributary_remote counter = text;
    counter.addr += COUNTER;

    /* Host 0. */
    tributary_one_sided *user = sides[0];
    uint32_t through;
    const char hello[] = "written by host 0";
    char there[sizeof hello];
    tributary_wc wc;
    uint64_t value;
    check(tributary_connect(user, &grant, &through));
    check(tributary_rdma_write(user, through, hello, sizeof hello, text));
    wc = finish(user);
    same("window", wc.through, through);
    check(tributary_mr_read(memory, 0, there, sizeof there));
    same("text there", (uint64_t)memcmp(there, hello, sizeof hello), 0);
    check(tributary_rdma_read(user, through, sizeof hello, text));
    wc = finish(user);
    same("bytes read", wc.length, sizeof hello);
    same("text read", (uint64_t)memcmp(wc.payload, hello, sizeof hello), 0);
    tributary_wc_free(&wc);
    for (uint64_t i = 0; i < ADDITIONS; i++) {
        check(tributary_atomic_fetch_add(user, through, counter, 3));
        same("before the addition", finish(user).old, 3 * i);
    }
    check(tributary_mr_load(memory, COUNTER, &value));
    same("sum", value, 3 * ADDITIONS);
    check(tributary_atomic_cmp_swp(user, through, counter, value, 7));
    same("before the swap", finish(user).old, value);
    check(tributary_mr_load(memory, COUNTER, &value));
    same("after the swap", value, 7);

    /* More than a packet is a bulk transfer. */
    static unsigned char large[100000], back[sizeof large];
    tributary_mr *room;
    check(tributary_reg_mr(sides[1], sizeof large, access, &room));
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (unsigned char)(i * 7 + i / 256);
    check(tributary_rdma_write(user, through, large, sizeof large, tributary_mr_remote(room)));
    finish(user);
    check(tributary_mr_read(room, 0, back, sizeof back));
    same("large there", (uint64_t)memcmp(back, large, sizeof large), 0);
    check(tributary_rdma_read(user, through, sizeof large, tributary_mr_remote(room)));
    wc = finish(user);
    same("large bytes read", wc.length, sizeof large);
    same("large read", (uint64_t)memcmp(wc.payload, large, sizeof large), 0);
    tributary_wc_free(&wc);
    tributary_dereg_mr(room);

    /* A byte beyond the memory: refused, and the window is over. */
    text.addr += 4096;
    check(tributary_rdma_read(user, through, 1, text));
    while (tributary_one_sided_wait(user, 1000000, &wc) == 0) {}
    same("outside", wc.status, TRIBUTARY_REMOTE_ACCESS);
    same("over", tributary_rdma_read(user, through, 1, counter) == -1, 1);

    tributary_window_close(window);
    tributary_dereg_mr(memory);
    tributary_one_sided_free(sides[0]);
    tributary_one_sided_free(sides[1]);
    printf("%d additions, each done once\n", ADDITIONS);
    return 0;
}
