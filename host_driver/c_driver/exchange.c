/* Messages in both directions at once, and an interrupt. */
#include "scenarios.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WINDOW 9u
/* Messages from the first that has not ended; fewer than the receive requests of the other side. */
#define UNDER_WAY 8u

/* Byte `at` of message `number` from a node. */
static uint8_t byte_of(unsigned node, unsigned number, unsigned at) {
    return (uint8_t)(17u * node + 31u * number + 7u * at + (at >> 8));
}

static unsigned length_of(unsigned number) {
    return (37u * number) % (MTU + 1u);
}

static void post_receive(struct host *host, unsigned place) {
    uint64_t at = receive_place(place);
    memset(host->memory.bytes + at, 0xee, MTU);
    queue_post_receive(&host->queue, place, host->memory.address + at, MTU, host->key);
}

static struct work message_of(struct host *from, const struct host *to, unsigned number) {
    struct work work = message_to(to);
    unsigned length = length_of(number);
    unsigned head = length < TRIB_HEAD_MAX ? length : (number % (TRIB_HEAD_MAX + 1u));
    uint64_t place = send_place(number);
    for (unsigned at = 0; at < head; at++) work.head[at] = byte_of(from->card.node, number, at);
    for (unsigned at = head; at < length; at++)
        from->memory.bytes[place + at - head] = byte_of(from->card.node, number, at);
    work.head_length = head;
    work.id = number;
    work.address = from->memory.address + place;
    work.length = length - head;
    work.key = from->key;
    work.window = WINDOW;
    work.msn = number;
    return work;
}

static void send_one(struct host *from, const struct host *to, unsigned number) {
    struct work work = message_of(from, to, number);
    queue_post_send(&from->queue, &work);
}

static void check_received(const struct host *host, const struct host *from, const struct completion *received) {
    unsigned number = received->msn;
    if (received->status != TRIB_OUTCOME_OK || received->node != from->card.node || received->qpn != from->queue.qpn ||
        received->window != WINDOW || received->epoch != host->queue.epoch || received->version_flags != PLAIN ||
        received->q_key != Q_KEY || received->length != length_of(number))
        fail("message %u arrived with status %u from %u:%u", number, received->status, received->node, received->qpn);
    const uint8_t *bytes = host->memory.bytes + receive_place((unsigned)received->id);
    for (unsigned at = 0; at < MTU; at++) {
        uint8_t expected = at < received->length ? byte_of(from->card.node, number, at) : 0xee;
        if (bytes[at] != expected) fail("message %u: byte %u is %u, not %u", number, at, bytes[at], expected);
    }
}

void exchange(struct host hosts[2], unsigned messages) {
    unsigned sent[2] = {0}, ended[2] = {0}, arrived[2] = {0};
    uint8_t *seen[2], *acknowledged[2];
    unsigned long long bytes = 0;
    for (unsigned node = 0; node < 2; node++) {
        seen[node] = calloc(messages, 1);
        acknowledged[node] = calloc(messages, 1);
        for (unsigned place = 0; place < PLACES; place++) post_receive(&hosts[node], place);
    }
    uint64_t progress = now_ms();
    while (ended[0] < messages || ended[1] < messages || arrived[0] < messages || arrived[1] < messages) {
        for (unsigned node = 0; node < 2; node++) {
            struct host *host = &hosts[node], *other = &hosts[1 - node];
            if (sent[node] < messages && sent[node] - ended[node] < UNDER_WAY) send_one(host, other, sent[node]++);
            /* All that is there, so that receive requests never run out. */
            struct completion done;
            while (queue_poll(&host->queue, &done)) {
                progress = now_ms();
                if (done.of == TRIB_OF_SEND) {
                    unsigned number = (unsigned)done.id;
                    if (number >= sent[node] || acknowledged[node][number] || done.qpn != other->queue.qpn)
                        fail("request %u was not under way", number);
                    /* Receive requests are there, but the other card has not read them yet. */
                    if (done.status == TRIB_OUTCOME_REMOTE_RNR) {
                        send_one(host, other, number);
                        continue;
                    }
                    if (done.status != TRIB_OUTCOME_OK) fail("request %u ended with %u", number, done.status);
                    acknowledged[node][number] = 1;
                    while (ended[node] < sent[node] && acknowledged[node][ended[node]]) ended[node]++;
                    continue;
                }
                if (done.msn >= messages || seen[node][done.msn]++) fail("message %u arrived twice, or was not sent", done.msn);
                check_received(host, other, &done);
                bytes += done.length;
                arrived[node]++;
                post_receive(host, (unsigned)done.id);
            }
        }
        give_up(progress, "messages");
    }
    for (unsigned node = 0; node < 2; node++) {
        free(seen[node]);
        free(acknowledged[node]);
        /* Counters lag a little. */
        uint64_t start = now_ms();
        while (card_counter(&hosts[node].card, TRIB_COUNTER_ACCEPTED) < messages) give_up(start, "the counter");
        if (card_counter(&hosts[node].card, TRIB_COUNTER_ACCEPTED) != messages ||
            card_counter(&hosts[node].card, TRIB_COUNTER_BAD_DOORBELL) != 0 ||
            card_counter(&hosts[node].card, TRIB_COUNTER_BAD_WRITE) != 0)
            fail("counters of card %u", node);
    }
    printf("exchange: %u messages each way, %llu bytes, each as sent\n", messages, bytes);
}

void interrupt(struct host hosts[2]) {
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct pollfd waits = {.fd = event, .events = POLLIN};
    if (event < 0) fail("no eventfd");
    vfio_set_event(&hosts[1].card.vfio, 1, event);
    queue_arm(&hosts[1].queue);
    if (poll(&waits, 1, 50) != 0) fail("an interrupt without a completion");
    struct work work = message_of(&hosts[0], &hosts[1], 0);
    struct completion done = queue_send_again(&hosts[0].queue, &work);
    if (done.status != TRIB_OUTCOME_OK) fail("not acknowledged: %u", done.status);
    if (poll(&waits, 1, PATIENCE_MS) != 1) fail("no interrupt");
    done = queue_wait(&hosts[1].queue);
    check_received(&hosts[1], &hosts[0], &done);
    post_receive(&hosts[1], (unsigned)done.id);
    close(event);
    puts("interrupt: one, with the completion");
}
