/* C interface of the Tributary driver: cards, endpoints that deliver messages once, and operations on memory of other hosts.
 *
 * Functions that return int give 0 (or what they say) on success and -1 on failure; tributary_error() then says why. Handles that
 * a function gives out are freed by the function named for it; NULL is never an error there. All may be used from any thread, a
 * tributary_endpoint and a tributary_one_sided from one at a time.
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
    uint32_t node;
} tributary_address;

typedef struct tributary_endpoint_config {
    uint32_t q_key;    /* the same in all endpoints that talk to each other */
    uint32_t windows;  /* messages in flight to each peer */
    uint16_t receives; /* packets that may arrive between two polls */
    uint16_t sends;    /* packets under way */
    uint8_t timeout;   /* exponent t: 4.096 us times 2^t */
    uint8_t attempts;  /* sendings of a packet before its message is given up */
    uint8_t ordered;   /* 1: deliver in the order of sending */
    uint32_t longest_pause_us; /* between two sendings of a packet; pauses double from 2 us to it */
    size_t long_bytes; /* that messages above 64 KiB may take here together, arriving and not yet taken; longer ones are refused */
} tributary_endpoint_config;

/* Kinds of events. */
#define TRIBUTARY_DELIVERED 1
#define TRIBUTARY_COMPLETED 2

/* How a message ended. After anything but OK the receiver may have it, at most once. */
#define TRIBUTARY_OK 0
#define TRIBUTARY_REMOTE_LENGTH 3 /* longer than long_bytes there */
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
int tributary_sim_network(const tributary_sim_config *config, uint32_t count, tributary_device **devices);
void tributary_device_free(tributary_device *device);

/* Opens a card under a node number, below 2^20; `mtu` is the largest payload of a packet, 256 to 4096. */
int tributary_open(const tributary_device *device, uint32_t node, uint16_t mtu, tributary_card **card);
void tributary_close(tributary_card *card);
/* A counter of the card, by its number in the register map. */
int tributary_counter(const tributary_card *card, uint8_t counter, uint64_t *value);
/* What bulk transfers should know of the network: shortest time from a packet to its answer, ns; how far packets overtake each
 * other, packets; share of the line while datagrams have something to send, too, 0 to 256, in 256ths. */
int tributary_tune_bulk(const tributary_card *card, uint64_t round_trip_ns, uint32_t overtaking, uint32_t share_of_256);
/* Whether the card looks at marks of switches and its bulk transfers slow down, and messages of endpoints on it (`on` is 1 or 0): not until told, and both ends have to. `interval`:
 * ticks at least between two messages about marks, two cuts of a transfer and two steps of its recovery; 0: as it is. */
int tributary_congestion(const tributary_card *card, uint8_t on, uint16_t interval);

/* Fills in what most want. */
void tributary_endpoint_defaults(tributary_endpoint_config *config);
int tributary_endpoint_new(const tributary_card *card, const tributary_endpoint_config *config, tributary_endpoint **endpoint);
/* Messages that have not ended are forgotten. */
void tributary_endpoint_free(tributary_endpoint *endpoint);
tributary_address tributary_endpoint_address(const tributary_endpoint *endpoint);
/* Sends a copy of a message of up to 1 GiB; `id` may be NULL. Returns 1 if there is no room until others have ended. */
int tributary_send(tributary_endpoint *endpoint, tributary_address to, const void *message, size_t length, uint64_t *id);
/* Works, and waits for an event for at most so long. Returns 1 with an event, 0 without. */
int tributary_wait(tributary_endpoint *endpoint, uint64_t timeout_ns, tributary_event *event);
/* Frees the payload of an event. */
void tributary_event_free(tributary_event *event);

/* One-sided operations (write, read, fetch_add, compare_swap) on memory of other hosts, each done exactly once or reported as
 * failed. Both sides have a tributary_one_sided with the same key. The side that has the memory makes it (tributary_reg_mr),
 * opens a window for the address of the other side, and lets it know the grant and the tributary_remote, however it likes. The
 * other side connects the grant and does one operation at a time through it; the first side's software does nothing then.
 */
typedef struct tributary_one_sided tributary_one_sided;
/* Memory that others reach. It changes at any moment. */
typedef struct tributary_mr tributary_mr;
/* A window that another uses. A card has 256. */
typedef struct tributary_window tributary_window;

typedef struct tributary_one_sided_config {
    uint32_t q_key;      /* the same on both sides */
    uint16_t operations; /* under way, in all windows: 1 to 8192 */
    uint8_t timeout;     /* exponent t: 4.096 us times 2^t, above the round trip */
    uint8_t attempts;    /* sendings of an operation before its window is given up */
    uint32_t longest_pause_us; /* between two sendings; pauses double from 2 us to it */
} tributary_one_sided_config;

/* What the user of a window has to know. */
typedef struct tributary_grant {
    uint32_t qp_num;
    uint32_t node;
    uint16_t window;
    uint16_t epoch;
} tributary_grant;

/* Memory of another host. Add to `addr` for what lies behind. */
typedef struct tributary_remote {
    uint64_t addr;
    uint32_t rkey;
} tributary_remote;

/* What others may do; numbers of ibverbs. */
#define TRIBUTARY_ACCESS_REMOTE_WRITE 2
#define TRIBUTARY_ACCESS_REMOTE_READ 4
#define TRIBUTARY_ACCESS_REMOTE_ATOMIC 8

/* How an operation ended, beside the statuses above. After anything but OK it was done at most once, and its window is over: the
 * other side opens another. */
#define TRIBUTARY_REMOTE_ACCESS 4     /* outside of the memory, or not allowed there */
#define TRIBUTARY_BAD_QP 6            /* no such queue pair there */
#define TRIBUTARY_REMOTE_OPERATION 18 /* memory there did not answer */

/* An operation that has ended. */
typedef struct tributary_wc {
    uint64_t old;     /* of an atomic: what it found there */
    uint8_t *payload; /* of a read: the bytes */
    size_t length;    /* of a read: how many */
    uint32_t through;
    uint8_t status;
} tributary_wc;

/* Fills in what most want. */
void tributary_one_sided_defaults(tributary_one_sided_config *config);
int tributary_one_sided_new(const tributary_card *card, const tributary_one_sided_config *config, tributary_one_sided **one_sided);
/* Of operations that have not ended nobody knows whether they were done. Its windows let nobody through any more; they and its
 * memory are still to be freed. */
void tributary_one_sided_free(tributary_one_sided *one_sided);
tributary_address tributary_one_sided_address(const tributary_one_sided *one_sided);

/* Makes zeroed memory that the users of this one's windows reach. `access`: at least one TRIBUTARY_ACCESS_. */
int tributary_reg_mr(const tributary_one_sided *one_sided, size_t length, int access, tributary_mr **mr);
void tributary_dereg_mr(tributary_mr *mr);
/* How others name its first byte. */
tributary_remote tributary_mr_remote(const tributary_mr *mr);
/* Copy bytes out and in, each on its own. */
int tributary_mr_read(const tributary_mr *mr, size_t at, void *into, size_t length);
int tributary_mr_write(const tributary_mr *mr, size_t at, const void *from, size_t length);
/* Read and write a little-endian number of 8 bytes as a whole, at a multiple of 8. Not atomic to atomics of others. */
int tributary_mr_load(const tributary_mr *mr, size_t at, uint64_t *value);
int tributary_mr_store(const tributary_mr *mr, size_t at, uint64_t value);

/* Opens a window for the tributary_one_sided of this address. */
int tributary_window_open(tributary_one_sided *one_sided, tributary_address peer, tributary_window **window, tributary_grant *grant);
/* What is under way in it then has been done, or never will be. */
void tributary_window_close(tributary_window *window);
/* Takes a grant; `through` names the window from here on. */
int tributary_connect(tributary_one_sided *one_sided, const tributary_grant *grant, uint32_t *through);

/* Begin an operation; return 1 if there is no room until others have ended. A window takes one at a time. Write and read take
 * any number of bytes: up to an MTU less 16 they are one datagram, more are a bulk transfer; a card without bulk transfers refuses
 * those, and tributary_error() says so. After a bulk transfer the window goes on, however it ended. `bytes` are copied. Atomics are on little-endian numbers of 8 bytes, at a multiple of 8. */
int tributary_rdma_write(tributary_one_sided *one_sided, uint32_t through, const void *bytes, size_t length, tributary_remote to);
int tributary_rdma_read(tributary_one_sided *one_sided, uint32_t through, size_t length, tributary_remote from);
int tributary_atomic_fetch_add(tributary_one_sided *one_sided, uint32_t through, tributary_remote at, uint64_t add);
int tributary_atomic_cmp_swp(tributary_one_sided *one_sided, uint32_t through, tributary_remote at, uint64_t compare, uint64_t swap);
/* Works, and waits for an operation that ends for at most so long. Returns 1 with one, 0 without. */
int tributary_one_sided_wait(tributary_one_sided *one_sided, uint64_t timeout_ns, tributary_wc *wc);
/* Frees the bytes of a read. */
void tributary_wc_free(tributary_wc *wc);

/* Block multicast: one member of a group, the root, sends large messages, and the members pass blocks on. Each member makes a
 * seat and tells the others its address; then all create the group with the same list and options. Needs cards with bulk
 * transfers. A group works only in its own calls: a member whose host does not call is silent to the others.
 */
typedef struct tributary_seat tributary_seat;
typedef struct tributary_group tributary_group;

/* Shapes of schedules. */
#define TRIBUTARY_SEQUENTIAL 0
#define TRIBUTARY_CHAIN 1
#define TRIBUTARY_BINOMIAL_TREE 2
#define TRIBUTARY_BINOMIAL_PIPELINE 3

/* What a member is suspected of. */
#define TRIBUTARY_GONE 1       /* it does not answer */
#define TRIBUTARY_PARAMETERS 2 /* it made the group with another list or other options */
#define TRIBUTARY_LENGTH 3     /* a message is longer than its memory */
#define TRIBUTARY_STUCK 4      /* its card waits for what does not come */
#define TRIBUTARY_TICKET 5     /* its queue pairs do not fit the group, or are not known */

/* memory, silence_ns, join_ns, watchdog_ns, credits and resumable are a member's own; all else is the same at all. watchdog_ns,
 * most_blocks and lanes are of groups whose cards carry the blocks. */
typedef struct tributary_group_options {
    uint64_t memory;      /* bytes for messages; with `resumable` it holds all of the group */
    uint64_t silence_ns;  /* a member that is silent for so long is gone */
    uint64_t join_ns;     /* the same until all have created the group */
    uint64_t watchdog_ns; /* a message that has begun and does not get on for so long ends the group; 0: never */
    uint32_t root;        /* place of the root in the list of members */
    uint32_t block_bytes; /* the last block of a message may be shorter */
    uint32_t credits;     /* blocks that may be on their way to this member, at least 2 */
    uint32_t epoch;       /* any number */
    uint32_t most_blocks; /* of a message; the card has memory for one beside `memory` */
    uint8_t algorithm;
    uint8_t resumable;    /* 1: messages are kept, so that survivors of a failure can go on */
    uint8_t offload;      /* 1: the cards carry the blocks, which must have schedule rings; 0: the hosts */
    uint8_t lanes;        /* queue pairs for each peer and direction */
} tributary_group_options;

typedef struct tributary_group_message {
    uint8_t *payload;
    size_t length;
    uint32_t number; /* 0, 1, .. in a group */
} tributary_group_message;

/* How a group ended. A rank is a place in the list, the root moved to its front. */
typedef struct tributary_group_verdict {
    uint32_t messages; /* of a success */
    uint32_t suspect;  /* of a failure: a rank */
    uint8_t success;   /* 1: every message reached every member */
    uint8_t why;       /* of a failure */
} tributary_group_verdict;

/* `ordered` of the configuration does not matter. */
int tributary_seat_new(const tributary_card *card, const tributary_endpoint_config *config, tributary_seat **seat);
/* Frees a seat that no group has taken. */
void tributary_seat_free(tributary_seat *seat);
tributary_address tributary_seat_address(const tributary_seat *seat);

/* Fills in what most want. */
void tributary_group_defaults(tributary_group_options *options);
/* Takes the seat, also when it fails. It does not wait for the others. */
int tributary_group_create(tributary_seat *seat, const tributary_address *members, uint32_t count, const tributary_group_options *options, tributary_group **group);
/* Before the group has ended, the member is gone to the others. */
void tributary_group_free(tributary_group *group);
/* Returns 1 if all have created the group and none has failed, else 0. */
int tributary_group_is_open(const tributary_group *group);
/* The root sends a copy of a message; `number` may be NULL. Returns 1 if there is no room until others have gone. */
int tributary_group_send(tributary_group *group, const void *message, size_t length, uint32_t *number);
/* Works, and waits for the next message for at most so long. Returns 1 with one, 0 without. After a failure of the group it gives
 * the messages that had arrived, then -1, and tributary_error() names the suspect. */
int tributary_group_next(tributary_group *group, uint64_t timeout_ns, tributary_group_message *message);
/* Frees the bytes of a message. */
void tributary_group_message_free(tributary_group_message *message);
/* Called by all; the root sends no more. Waits for the end for at most so long. Returns 1 with a verdict; 0 without, and may be
 * called again. `watermarks` may be NULL, or has room for each rank: messages that it has, -1 if it is gone. */
int tributary_group_close(tributary_group *group, uint64_t timeout_ns, tributary_group_verdict *verdict, int64_t *watermarks);
/* All survivors of a failure, after its verdict: a group without those that are gone, in which what some have in part becomes
 * whole at all. Its hosts carry the blocks; of what cards carried, messages count that were delivered. Takes the old group, also when it fails. */
int tributary_group_resume(tributary_group *group, tributary_group **resumed);

/* Collectives: operations that all members of a communicator do together, through the switches where there is a tree for them, by
 * messages where not. docs/collectives.md is the contract. Every member calls the same operations in the same order. A
 * tributary_communicator is used from one thread at a time, communicators of one host from several.
 */
typedef struct tributary_host tributary_host;
typedef struct tributary_communicator tributary_communicator;
/* Who makes trees in the switches. */
typedef struct tributary_trees tributary_trees;

/* Operations. */
#define TRIBUTARY_SUM 0
#define TRIBUTARY_SUM_REPRODUCIBLE 1 /* of F64: the same bits whatever the order */
#define TRIBUTARY_MIN 2
#define TRIBUTARY_MAX 3
#define TRIBUTARY_MINMAXLOC 4 /* of extremes */
#define TRIBUTARY_AND 5 /* bitwise, of integers and bytes, as the next two */
#define TRIBUTARY_OR 6
#define TRIBUTARY_XOR 7
#define TRIBUTARY_PRODUCT 8 /* of numbers; always by messages */
#define TRIBUTARY_LOGICAL_AND 9 /* of integers, 0 or not, as the next two; the result is 0 or 1 */
#define TRIBUTARY_LOGICAL_OR 10
#define TRIBUTARY_LOGICAL_XOR 11

/* Types of elements. */
#define TRIBUTARY_F64 0
#define TRIBUTARY_F32 1
#define TRIBUTARY_I64 2
#define TRIBUTARY_U64 3
#define TRIBUTARY_I32 4
#define TRIBUTARY_F64_EXTREMES 5
#define TRIBUTARY_I64_EXTREMES 6
#define TRIBUTARY_BYTES 7
#define TRIBUTARY_U32 8

typedef struct tributary_f64_extremes {
    double min;
    uint64_t min_at;
    double max;
    uint64_t max_at;
} tributary_f64_extremes;

typedef struct tributary_i64_extremes {
    int64_t min;
    uint64_t min_at;
    int64_t max;
    uint64_t max_at;
} tributary_i64_extremes;

/* What a rank did that ended the communicator. */
#define TRIBUTARY_RANK_SILENT 1
#define TRIBUTARY_RANK_UNREACHABLE 2
#define TRIBUTARY_RANK_LEFT 3
#define TRIBUTARY_RANK_MISMATCH 4 /* another operation, or another length */
#define TRIBUTARY_RANK_DOUBTFUL 5 /* the network repeated its value */
#define TRIBUTARY_RANK_STRANGE 6
#define TRIBUTARY_RANK_BROKEN 7

/* The same at all members. */
typedef struct tributary_communicator_options {
    uint64_t attempt_ns;   /* longest attempt through the engines: more than their timeouts together */
    uint64_t roll_ns;      /* wait for answers when members are asked one by one */
    uint64_t idle_ns;      /* a tree that was idle for longer is armed anew */
    uint64_t ask_after_ns; /* a member that is waited for is asked whether it is there, and again each time */
    uint64_t patience_ns;  /* how long calls that wait do so */
    uint32_t questions;    /* without an answer, until it counts as failed */
    uint8_t lanes;         /* values of an operation in the switches at once on a tree, 1 to 8 */
    uint8_t stripes;       /* further trees, over which long vectors are spread */
    uint32_t bulk_from;    /* operations on so many bytes or more, but those for several trees, go in blocks by bulk transfers; 0: none */
} tributary_communicator_options;

typedef struct tributary_collective_counters {
    uint64_t in_switches;       /* operations through the switches */
    uint64_t in_software;       /* operations by messages */
    uint64_t alone;             /* operations of a member that is alone */
    uint64_t completed_by_root; /* at rank 0: values of which its software combined more than one frame */
    uint64_t again;             /* at rank 0: values that needed more than one attempt */
    uint64_t new_trees;         /* trees that took the place of another one */
    uint64_t no_tree;           /* times that a tree was wanted and there was none */
    uint64_t in_blocks;         /* long operations in blocks, which members write into each other's memory */
    uint64_t blocks_by_messages; /* blocks that this member sent as messages, for want of bulk transfers here or there */
} tributary_collective_counters;

/* An operation that has ended. */
typedef struct tributary_result {
    uint64_t ticket;
    void *payload; /* elements; NULL of a failure */
    size_t count;
    uint32_t rank; /* of a failure: who */
    uint8_t kind;  /* type of the elements */
    uint8_t code;  /* what the arithmetic reported: 0 nothing, see the result codes of docs/rules/reduction.md */
    uint8_t why;   /* of a failure: what that rank did; else 0 */
} tributary_result;

/* Makes a fabric of model cards and switches from the text of a fabric file, with a manager; as many devices as it has endpoints,
 * `room` at most. `trees` may be NULL. */
int tributary_sim_fabric(const char *text, uint64_t seed, uint16_t room, tributary_device **devices, uint16_t *count, tributary_trees **trees);
void tributary_trees_free(tributary_trees *trees);

/* The job is the q_key of the configuration and the VNI. */
int tributary_host_new(const tributary_card *card, const tributary_endpoint_config *config, uint16_t vni, tributary_host **host);
void tributary_host_free(tributary_host *host);
tributary_address tributary_host_address(const tributary_host *host);

/* Fills in what most want. */
void tributary_communicator_defaults(tributary_communicator_options *options);
/* Ranks are places in the list. `trees` is asked by rank 0, and for parts; NULL: all goes by messages. It does not wait for the others. */
int tributary_communicator_create(const tributary_host *host, uint64_t name, const tributary_address *members, uint32_t count, const tributary_trees *trees, const tributary_communicator_options *options, tributary_communicator **communicator);
/* The member has left: an error at those who still wait for it. */
void tributary_communicator_free(tributary_communicator *communicator);
/* Called by all: when it returns 0, everyone has all results. Takes the communicator, also when it fails. */
int tributary_communicator_close(tributary_communicator *communicator);
/* `path`: 0 not known yet, 1 alone, 2 by messages, 3 through the switches. Each may be NULL. */
int tributary_communicator_query(const tributary_communicator *communicator, uint32_t *rank, uint32_t *size, uint8_t *path);
int tributary_communicator_counters(const tributary_communicator *communicator, tributary_collective_counters *counters);

/* Post an operation on copies of `count` elements; `ticket` may be NULL. */
int tributary_post_all_reduce(tributary_communicator *communicator, uint8_t operation, uint8_t kind, const void *data, size_t count, uint64_t *ticket);
int tributary_post_reduce(tributary_communicator *communicator, uint32_t root, uint8_t operation, uint8_t kind, const void *data, size_t count, uint64_t *ticket);
int tributary_post_reduce_scatter(tributary_communicator *communicator, uint8_t operation, uint8_t kind, const void *data, size_t count, uint64_t *ticket);
int tributary_post_all_gather(tributary_communicator *communicator, uint8_t kind, const void *data, size_t count, uint64_t *ticket);
int tributary_post_broadcast(tributary_communicator *communicator, uint32_t root, const void *bytes, size_t length, uint64_t *ticket);
int tributary_post_barrier(tributary_communicator *communicator, uint64_t *ticket);
/* Works. Returns 1 with the oldest operation that has ended, well or not, 0 without. */
int tributary_communicator_poll(tributary_communicator *communicator, tributary_result *result);
/* Waits for an operation. Returns 1 when it has ended, well or not; -1 if the time is over, and it goes on. */
int tributary_communicator_wait(tributary_communicator *communicator, uint64_t ticket, tributary_result *result);
/* Frees the elements. */
void tributary_result_free(tributary_result *result);
/* Waits for all; the part of this member's color, ordered by key, then rank. Color UINT32_MAX: none, and `part` is NULL. */
int tributary_communicator_split(tributary_communicator *communicator, uint32_t color, uint32_t key, tributary_communicator **part);

#ifdef __cplusplus
}
#endif

#endif
