/* Two cards of `tributary serve`, driven from C.
 *
 * Written from docs/card.md, the pages and the header in rtl_out/registers, and the specification of vfio-user; it shares no
 * line with the driver in Rust. Build it in its folder, and run it:
 *
 *   cc -std=c11 -I ../../rtl_out/registers *.c -o c_driver
 *   tributary serve --cards 2 --sockets /tmp/cards &
 *   ./c_driver /tmp/cards/0 /tmp/cards/1
 */
#include "scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work message_to(const struct host *to) {
    return (struct work){
        .opcode = TRIB_OPCODE_SEND,
        .version_flags = PLAIN,
        .node = to->card.node,
        .qpn = to->queue.qpn,
        .epoch = to->queue.epoch,
    };
}

/* Sockets are named by the node numbers of their cards, which have 20 bits. */
static uint32_t node_of(const char *socket) {
    const char *name = strrchr(socket, '/');
    return (uint32_t)strtoul(name ? name + 1 : socket, NULL, 10);
}

int main(int count, char **arguments) {
    if (count < 3) fail("usage: %s SOCKET SOCKET [MESSAGES]", arguments[0]);
    unsigned messages = count > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 300u;
    static struct host hosts[2];
    for (unsigned node = 0; node < 2; node++) {
        struct host *host = &hosts[node];
        card_open(&host->card, arguments[1 + node], node_of(arguments[1 + node]), MTU);
        host->memory = card_memory(&host->card, MEMORY_BYTES);
        unsigned rights = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
        host->key = card_set_region(&host->card, 3 + node, 0x5a, DOMAIN, &host->memory, rights);
        struct shape shape = {.q_key = Q_KEY, .domain = DOMAIN, .timeout = TIMEOUT_EXPONENT, .vector = 1};
        queue_create(&host->queue, &host->card, 5 + node, shape);
        queue_activate(&host->queue);
    }
    exchange(hosts, messages);
    interrupt(hosts);
    refused_requests(hosts);
    refused_commands(hosts);
    recovery(hosts);
    one_sided(hosts);
    reductions(hosts);
    for (unsigned node = 0; node < 2; node++) {
        struct host *host = &hosts[node];
        queue_destroy(&host->queue);
        if (card_command(&host->card, TRIB_COMMAND_CLEAR_REGION, 3 + node, NULL, 0, NULL) != TRIB_STATUS_OK)
            fail("CLEAR_REGION");
        card_free(&host->card, &host->memory);
        card_close(&host->card);
    }
    puts("torn down");
    return 0;
}
