/* Requests and commands that a card refuses, and how a queue pair goes on after an error. */
#include "scenarios.h"

#include <stdio.h>
#include <string.h>

/* Posts a request that must end so. */
static void ends_with(struct host *host, struct work work, uint32_t status, const char *what, const char *name) {
    static uint64_t id = 0x1000;
    work.id = ++id;
    struct completion done = status == TRIB_OUTCOME_REMOTE_RNR ? queue_send(&host->queue, &work)
                                                               : queue_send_again(&host->queue, &work);
    if (done.of != TRIB_OF_SEND || done.id != id || done.status != status || done.length != 0)
        fail("%s: ended with %u, not %u", what, done.status, status);
    printf("%s: %s\n", what, name);
}

void refused_requests(struct host hosts[2]) {
    struct host *host = &hosts[0], *other = &hosts[1];
    struct card *there = &other->card;
    struct work work;

    /* Queue pairs there that exist for this scenario only: another Q_Key; no receive request; a short one. */
    struct shape shape = {.q_key = Q_KEY + 1, .domain = DOMAIN, .timeout = TIMEOUT_EXPONENT};
    struct queue stranger, empty, small;
    queue_create(&stranger, there, 8, shape);
    queue_activate(&stranger);
    shape.q_key = Q_KEY;
    queue_create(&empty, there, 9, shape);
    queue_activate(&empty);
    queue_create(&small, there, 10, shape);
    queue_post_receive(&small, 1, other->memory.address, 15, other->key);

    uint64_t before = card_counter(there, TRIB_COUNTER_BAD_KEY);
    work = message_to(other);
    work.qpn = stranger.qpn;
    work.epoch = stranger.epoch;
    ends_with(host, work, TRIB_OUTCOME_TIMEOUT, "wrong Q_Key", "timeout");
    if (card_counter(there, TRIB_COUNTER_BAD_KEY) != before + 1) fail("bad_key was not counted");

    work = message_to(other);
    work.qpn = empty.qpn;
    work.epoch = empty.epoch;
    ends_with(host, work, TRIB_OUTCOME_REMOTE_RNR, "no receive request", "remote_rnr");

    work = message_to(other);
    work.qpn = small.qpn;
    work.epoch = small.epoch;
    ends_with(host, work, TRIB_OUTCOME_BAD_QP, "queue pair that does not receive yet", "bad_qp");
    queue_activate(&small);
    work.head_length = TRIB_HEAD_MAX;
    ends_with(host, work, TRIB_OUTCOME_REMOTE_LENGTH, "longer than the receive request", "remote_length");

    work = message_to(other);
    work.length = MTU + 1;
    work.address = host->memory.address;
    work.key = host->key;
    ends_with(host, work, TRIB_OUTCOME_LOCAL_LENGTH, "longer than the MTU", "local_length");
    work.length = MTU - TRIB_HEAD_MAX + 1;
    work.head_length = TRIB_HEAD_MAX;
    ends_with(host, work, TRIB_OUTCOME_LOCAL_LENGTH, "longer with its head", "local_length");

    work = message_to(other);
    work.length = 8;
    work.address = host->memory.address + MEMORY_BYTES - 7;
    work.key = host->key;
    ends_with(host, work, TRIB_OUTCOME_LOCAL_PROTECTION, "beyond the region", "local_protection");
    work.address = host->memory.address;
    work.key ^= TRIB_PUT(TRIB_KEY_VARIANT, 1);
    ends_with(host, work, TRIB_OUTCOME_LOCAL_PROTECTION, "key of another variant", "local_protection");

    work = message_to(other);
    work.qpn = there->queue_pairs;
    ends_with(host, work, TRIB_OUTCOME_BAD_QP, "no such queue pair", "bad_qp");
    work.qpn = 1u << 24;
    ends_with(host, work, TRIB_OUTCOME_LOCAL_ADDRESS, "queue pair of 25 bits", "local_address");
    work = message_to(other);
    work.epoch++;
    ends_with(host, work, TRIB_OUTCOME_EPOCH_MISMATCH, "epoch that was not handed out", "epoch_mismatch");
    work = message_to(other);
    work.version_flags = TRIB_PUT(TRIB_VERSION_FLAGS_VERSION, 2);
    ends_with(host, work, TRIB_OUTCOME_LOCAL_OPCODE, "version 2", "local_opcode");

    queue_destroy(&small);
    queue_destroy(&empty);
    queue_destroy(&stranger);
}

static void refuses(struct card *card, uint32_t command, uint32_t index, const uint32_t *args, unsigned count,
                    uint32_t status, const char *what, const char *name) {
    uint32_t results[2];
    uint32_t ended = card_command(card, command, index, args, count, results);
    if (ended != status || results[0] != 0 || results[1] != 0) fail("%s: status %u, not %u", what, ended, status);
    printf("%s: %s\n", what, name);
}

void refused_commands(struct host hosts[2]) {
    struct card *card = &hosts[0].card;
    struct queue *queue = &hosts[0].queue;
    uint32_t args[TRIB_CARD_ARGS] = {0};
    refuses(card, 99, 0, NULL, 0, TRIB_STATUS_BAD_COMMAND, "command 99", "bad_command");
    refuses(card, TRIB_COMMAND_DESTROY_QP, card->queue_pairs, NULL, 0, TRIB_STATUS_BAD_INDEX, "queue pair too high", "bad_index");
    refuses(card, TRIB_COMMAND_CLOSE_WINDOW, TRIB_CARD_ONE_SIDED_WINDOWS, NULL, 0, TRIB_STATUS_BAD_INDEX, "window too high",
            "bad_index");
    TRIB_ARG_PUT(TRIB_CREATE_QP_SEND_BASE, args, queue->rings.address + 8);
    refuses(card, TRIB_COMMAND_CREATE_QP, 0, args, TRIB_CREATE_QP_ARGS, TRIB_STATUS_BAD_ARGUMENT, "ring off its alignment",
            "bad_argument");
    memset(args, 0, sizeof args);
    refuses(card, TRIB_COMMAND_SET_REGION, 0, args, TRIB_SET_REGION_ARGS, TRIB_STATUS_BAD_ARGUMENT, "region of 0 bytes",
            "bad_argument");
    refuses(card, TRIB_COMMAND_CREATE_QP, queue->qpn, args, TRIB_CREATE_QP_ARGS, TRIB_STATUS_BAD_STATE, "queue pair that exists",
            "bad_state");
    refuses(card, TRIB_COMMAND_NEXT_EPOCH, 0, NULL, 0, TRIB_STATUS_BAD_STATE, "queue pair that does not exist", "bad_state");
    TRIB_ARG_PUT(TRIB_MODIFY_QP_STATE, args, TRIB_STATE_INIT);
    refuses(card, TRIB_COMMAND_MODIFY_QP, queue->qpn, args, TRIB_MODIFY_QP_ARGS, TRIB_STATUS_BAD_STATE, "back to init", "bad_state");
}

/* A ring that the card cannot read ends the queue pair: it is destroyed and made anew, under another epoch. */
void recovery(struct host hosts[2]) {
    struct host *host = &hosts[1], *other = &hosts[0];
    struct card *card = &host->card;
    uint32_t qpn = host->queue.qpn;
    uint16_t epoch = host->queue.epoch;
    queue_destroy(&host->queue);

    /* Send and receive rings where no memory is. */
    struct memory complete = card_memory(card, TRIB_COMPLETION_BYTES << COMPLETE_LOG);
    uint32_t args[TRIB_CREATE_QP_ARGS] = {0}, results[2];
    TRIB_ARG_PUT(TRIB_CREATE_QP_COMPLETE_LOG, args, COMPLETE_LOG);
    TRIB_ARG_PUT(TRIB_CREATE_QP_DOMAIN, args, DOMAIN);
    TRIB_ARG_PUT(TRIB_CREATE_QP_COMPLETE_BASE, args, complete.address);
    if (card_command(card, TRIB_COMMAND_CREATE_QP, qpn, args, TRIB_CREATE_QP_ARGS, results) != TRIB_STATUS_OK)
        fail("CREATE_QP");
    card_write(card, TRIB_CARD_DOORBELL(qpn, TRIB_CARD_DOORBELL_RECEIVE), 1);
    struct queue broken = {.card = card, .qpn = qpn, .rings = complete, .complete = complete.bytes};
    struct completion done = queue_wait(&broken);
    if (done.status != TRIB_OUTCOME_LOCAL_QUEUE || done.of != TRIB_OF_RECEIVE || done.id != 0)
        fail("a ring that cannot be read: status %u", done.status);
    if (card_command(card, TRIB_COMMAND_QUERY_QP, qpn, NULL, 0, results) != TRIB_STATUS_OK ||
        TRIB_RESULT_GET(TRIB_QUERY_QP_STATE, results) != TRIB_STATE_ERROR ||
        TRIB_RESULT_GET(TRIB_QUERY_QP_EPOCH, results) != (uint16_t)(epoch + 1))
        fail("QUERY_QP: state %u", results[0]);
    queue_destroy(&broken);

    struct shape shape = {.q_key = Q_KEY, .domain = DOMAIN, .timeout = TIMEOUT_EXPONENT, .vector = 1};
    queue_create(&host->queue, card, qpn, shape);
    if (host->queue.epoch != (uint16_t)(epoch + 2)) fail("epoch %u after %u", host->queue.epoch, epoch);
    queue_post_receive(&host->queue, 1, host->memory.address, MTU, host->key);
    queue_activate(&host->queue);
    struct work work = message_to(host);
    work.epoch = epoch;
    if (queue_send(&other->queue, &work).status != TRIB_OUTCOME_EPOCH_MISMATCH) fail("an epoch of before was accepted");
    work.epoch = host->queue.epoch;
    if (queue_send_again(&other->queue, &work).status != TRIB_OUTCOME_OK ||
        queue_wait(&host->queue).status != TRIB_OUTCOME_OK)
        fail("nothing goes after recovery");
    puts("recovery: local_queue, then a new queue pair");
}
