/* A queue pair: rings in memory, doorbells, completions. */
#ifndef C_DRIVER_QUEUE_H
#define C_DRIVER_QUEUE_H

#include "card.h"

/* log2 of the entries of each ring; completions for all that both can hold. */
#define SEND_LOG 4u
#define RECEIVE_LOG 4u
#define COMPLETE_LOG 5u

struct queue {
    struct card *card;
    uint32_t qpn;
    uint16_t epoch;
    struct memory rings;
    uint8_t *send, *receive, *complete;
    /* Requests ever posted, completions ever taken, modulo 2^16. */
    uint16_t sends, receives, taken;
};

/* A work request; fields that are not named are 0. */
struct work {
    uint32_t opcode;
    uint64_t id;
    /* Bytes from memory. */
    uint64_t address;
    uint32_t length;
    uint32_t key;
    /* Bytes in front. */
    uint8_t head[TRIB_HEAD_MAX];
    uint32_t head_length;
    uint32_t version_flags;
    /* Where to. */
    uint32_t node;
    uint32_t qpn;
    uint16_t window, epoch;
    uint32_t msn;
};

struct completion {
    uint64_t id;
    uint32_t status, of, version_flags, length;
    uint32_t node;
    uint32_t qpn;
    uint16_t window, epoch;
    uint32_t msn, q_key;
};

/* How a queue pair is made. */
struct shape {
    uint32_t q_key;
    uint16_t domain;
    /* A request times out after 4.096 us * 2^timeout. */
    uint32_t timeout;
    uint32_t vector;
};

/* Makes it, in the state init. */
void queue_create(struct queue *queue, struct card *card, uint32_t qpn, struct shape shape);
/* To the state; status of the command. */
uint32_t queue_modify(struct queue *queue, uint32_t state);
/* It receives and sends. */
void queue_activate(struct queue *queue);
void queue_destroy(struct queue *queue);

void queue_post_receive(struct queue *queue, uint64_t id, uint64_t address, uint32_t length, uint32_t key);
void queue_post_send(struct queue *queue, const struct work *work);
/* The next entry of the send ring, all 0; posts what was written there. */
uint8_t *queue_next_work(struct queue *queue);
void queue_post_work(struct queue *queue);
/* The next completion as it lies in its ring, or NULL; it is taken. */
const uint8_t *queue_peek(struct queue *queue);
void queue_take(struct queue *queue);
/* Takes the next completion, if there is one. */
int queue_poll(struct queue *queue, struct completion *completion);
/* The same, but waits. */
struct completion queue_wait(struct queue *queue);
/* Posts a request, with nothing else under way, and waits until it ends. */
struct completion queue_send(struct queue *queue, const struct work *work);
/* The same, and again while the other card has read no receive request yet. */
struct completion queue_send_again(struct queue *queue, const struct work *work);
/* One interrupt as soon as there is a completion that was not taken. */
void queue_arm(struct queue *queue);

#endif
