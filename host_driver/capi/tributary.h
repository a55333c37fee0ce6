/* C interface of the Tributary driver: cards, and endpoints that deliver messages once.
 *
 * Functions that return int give 0 (or what they say) on success and -1 on failure; tributary_error() then says why. Handles that
 * a function gives out are freed by the function named for it; NULL is never an error there. A card and an endpoint may be used
 * from any thread, an endpoint from one at a time.
 */
#ifndef TRIBUTARY_H
#define TRIBUTARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A card that can be opened, and one that is open. */
typedef struct tributary_device tributary_device;
typedef struct tributary_card tributary_card;
/* Sends and receives messages of up to 64 KiB. */
typedef struct tributary_endpoint tributary_endpoint;

/* Links of a simulated network. Times in slots of 100 ns. */
typedef struct tributary_sim_config {
    uint64_t seed;
    double loss;        /* probability that a frame is lost */
    double duplication; /* probability that a frame arrives twice */
    uint32_t delay;     /* shortest time from card to card */
    uint32_t reorder;   /* how far frames overtake each other */
} tributary_sim_config;

/* A queue pair somewhere. */
typedef struct tributary_address {
    uint32_t qp_num; /* 24 bits */
    uint16_t node;
} tributary_address;

typedef struct tributary_endpoint_config {
    uint32_t q_key;    /* the same in all endpoints that talk to each other */
    uint32_t windows;  /* messages in flight to each peer */
    uint16_t receives; /* packets that may arrive between two polls */
    uint16_t sends;    /* packets under way */
    uint8_t timeout;   /* exponent t: 4.096 us times 2^t */
    uint8_t attempts;  /* sendings of a packet before its message is given up */
    uint8_t ordered;   /* 1: deliver in the order of sending */
} tributary_endpoint_config;

/* Kinds of events. */
#define TRIBUTARY_DELIVERED 1
#define TRIBUTARY_COMPLETED 2

/* How a message ended. After anything but OK the receiver may have it, at most once. */
#define TRIBUTARY_OK 0
#define TRIBUTARY_EPOCH_MISMATCH 7
#define TRIBUTARY_UNREACHABLE 10
#define TRIBUTARY_UNRESPONSIVE 11
#define TRIBUTARY_FLUSHED 13

typedef struct tributary_event {
    uint64_t id;            /* COMPLETED: what sending gave */
    uint8_t *payload;       /* DELIVERED: the message */
    size_t length;          /* DELIVERED: its bytes */
    tributary_address peer; /* where from or where to */
    uint8_t kind;
    uint8_t status; /* COMPLETED: how it ended */
} tributary_event;

/* Why the latest call of this thread failed; valid until its next call. */
const char *tributary_error(void);

/* Makes a simulated network of `count` cards, nodes 0 to count - 1. */
int tributary_sim_network(const tributary_sim_config *config, uint16_t count, tributary_device **devices);
void tributary_device_free(tributary_device *device);

/* Opens a card under a node number; `mtu` is the largest payload of a packet, 256 to 4096. */
int tributary_open(const tributary_device *device, uint16_t node, uint16_t mtu, tributary_card **card);
void tributary_close(tributary_card *card);
/* A counter of the card, by its number in the register map. */
int tributary_counter(const tributary_card *card, uint8_t counter, uint64_t *value);

/* Fills in what most want. */
void tributary_endpoint_defaults(tributary_endpoint_config *config);
int tributary_endpoint_new(const tributary_card *card, const tributary_endpoint_config *config, tributary_endpoint **endpoint);
/* Messages that have not ended are forgotten. */
void tributary_endpoint_free(tributary_endpoint *endpoint);
tributary_address tributary_endpoint_address(const tributary_endpoint *endpoint);
/* Sends a copy of a message; `id` may be NULL. Returns 1 if there is no room until others have ended. */
int tributary_send(tributary_endpoint *endpoint, tributary_address to, const void *message, size_t length, uint64_t *id);
/* Works, and waits for an event for at most so long. Returns 1 with an event, 0 without. */
int tributary_wait(tributary_endpoint *endpoint, uint64_t timeout_ns, tributary_event *event);
/* Frees the payload of an event. */
void tributary_event_free(tributary_event *event);

#ifdef __cplusplus
}
#endif

#endif
