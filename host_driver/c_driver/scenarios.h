/* What the example does with two cards. Each scenario checks all that it sees, prints a line, and ends the program if
 * something is not as documented. */
#ifndef C_DRIVER_SCENARIOS_H
#define C_DRIVER_SCENARIOS_H

#include "queue.h"

#define MTU 1024u
#define DOMAIN 7u
#define Q_KEY 0x1234u
/* Version 1 without flags. */
#define PLAIN TRIB_PUT(TRIB_VERSION_FLAGS_VERSION, 1)
/* Of the queue pairs here: 4.096 us * 2^6 = 0.26 ms. A simulated board needs more: its own time runs while its host waits. */
#ifndef TIMEOUT_EXPONENT
#define TIMEOUT_EXPONENT 6u
#endif

/* A card with a queue pair and a region of memory. */
struct host {
    struct card card;
    struct queue queue;
    struct memory memory;
    uint32_t key;
};

/* Places of an MTU in a host's memory: for what it receives, for what it sends. */
#define PLACES 16u
static inline uint64_t receive_place(unsigned place) { return (uint64_t)(place % PLACES) * MTU; }
static inline uint64_t send_place(unsigned place) { return (uint64_t)(PLACES + place % PLACES) * MTU; }
#define MEMORY_BYTES (2u * PLACES * MTU)

/* A message without bytes from `from` to the queue pair of `to`, to be changed. */
struct work message_to(const struct host *to);

void exchange(struct host hosts[2], unsigned messages);
void interrupt(struct host hosts[2]);
void refused_requests(struct host hosts[2]);
void refused_commands(struct host hosts[2]);
void recovery(struct host hosts[2]);
void one_sided(struct host hosts[2]);
void reductions(struct host hosts[2]);

#endif
