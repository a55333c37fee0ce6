/* Writes, reads and atomics on the memory of the other host (XUD-13). */
#include "scenarios.h"

#include <stdio.h>
#include <string.h>

#define INDEX 200u

/* A one-sided request; its header is its head. */
static struct work request(const struct host *to, uint32_t opcode, uint32_t operation, uint64_t address, uint32_t read) {
    struct work work = message_to(to);
    work.opcode = opcode;
    work.version_flags = PLAIN | TRIB_PUT(TRIB_VERSION_FLAGS_ONE_SIDED, 1);
    work.window = INDEX;
    work.head_length = TRIB_ONE_SIDED_BYTES;
    TRIB_HEADER_PUT(TRIB_ONE_SIDED_ADDRESS, work.head, address);
    TRIB_HEADER_PUT(TRIB_ONE_SIDED_RKEY, work.head, to->key);
    TRIB_HEADER_PUT(TRIB_ONE_SIDED_OPERATION, work.head, operation);
    TRIB_HEADER_PUT(TRIB_ONE_SIDED_LENGTH, work.head, read);
    return work;
}

static void done(struct host *host, struct work work, uint32_t length) {
    work.address = host->memory.address;
    work.length = length;
    work.key = host->key;
    queue_post_send(&host->queue, &work);
    uint32_t status = queue_wait(&host->queue).status;
    if (status != TRIB_OUTCOME_OK) fail("operation %u: status %u", work.msn, status);
}

void one_sided(struct host hosts[2]) {
    struct host *host = &hosts[0], *target = &hosts[1];
    uint32_t args[TRIB_OPEN_WINDOW_ARGS] = {0}, results[2];
    TRIB_ARG_PUT(TRIB_OPEN_WINDOW_QPN, args, target->queue.qpn);
    TRIB_ARG_PUT(TRIB_OPEN_WINDOW_NODE, args, host->card.node);
    TRIB_ARG_PUT(TRIB_OPEN_WINDOW_PEER, args, host->queue.qpn);
    TRIB_ARG_PUT(TRIB_OPEN_WINDOW_EPOCH, args, target->queue.epoch);
    if (card_command(&target->card, TRIB_COMMAND_OPEN_WINDOW, INDEX, args, TRIB_OPEN_WINDOW_ARGS, NULL) != TRIB_STATUS_OK)
        fail("OPEN_WINDOW");

    uint8_t *here = host->memory.bytes, *there = target->memory.bytes + send_place(0);
    uint64_t address = target->memory.address + send_place(0);
    memcpy(here, "forty-two bytes, written on the other side", 42);
    struct work work = request(target, TRIB_OPCODE_WRITE, TRIB_OPERATION_WRITE, address, 0);
    done(host, work, 42);
    if (memcmp(there, "forty-two bytes, written on the other side", 42) != 0) fail("WRITE wrote something else");

    memset(here, 0, 42);
    work = request(target, TRIB_OPCODE_READ, TRIB_OPERATION_READ, address + 10, 5);
    work.msn = 1;
    done(host, work, 5);
    if (memcmp(here, "bytes\0", 6) != 0) fail("READ read something else");

    trib_word_store(there, 8, 40);
    trib_word_store(here, 0, 2);
    work = request(target, TRIB_OPCODE_ATOMIC, TRIB_OPERATION_FETCH_ADD, address + 64, 0);
    work.msn = 2;
    done(host, work, TRIB_OPERANDS_BYTES);
    if (trib_word_load(here, 0) != 40 || trib_word_load(there, 8) != 42) fail("FETCH_ADD added something else");

    if (card_command(&target->card, TRIB_COMMAND_CLOSE_WINDOW, INDEX, NULL, 0, results) != TRIB_STATUS_OK ||
        TRIB_RESULT_GET(TRIB_CLOSE_WINDOW_WAS_OPEN, results) != 1 || TRIB_RESULT_GET(TRIB_CLOSE_WINDOW_EXPECTED, results) != 3)
        fail("CLOSE_WINDOW: %u, %u", results[0], results[1]);
    puts("one-sided: write, read, fetch_add");
}
