/* Queue pairs in a reduction group (CL-5): their work requests are frames, and frames of the group their completions. The card of a
 * group's root answers results (CL-6). */
#include "scenarios.h"

#include <stdio.h>

#define QPN 11u
#define VNI 0x2a5u
#define TREE 0x1123u
#define COOKIE 0xc0ffee40u
#define REDUCTION 5u
#define KIND 3u
#define ROUND 0x00aabbccddee1122ull
/* The reduction header from its lowest bit: seqno 10, arm 1, op 6 (int_sum), count 20, resno 10, rc 4, m 8, oflow 2, pad 3. */
#define HEADER (0x155ull | 1ull << 10 | (uint64_t)OP_INT_SUM << 11 | 3ull << 17 | 0x2aaull << 37 | 2ull << 47 | 0x81ull << 51)
#define OP_INT_SUM 0x14

static uint32_t join(struct queue *queue, uint32_t cookie, uint32_t members) {
    uint32_t args[TRIB_JOIN_GROUP_ARGS] = {0};
    TRIB_ARG_PUT(TRIB_JOIN_GROUP_VNI, args, VNI);
    TRIB_ARG_PUT(TRIB_JOIN_GROUP_TREE, args, TREE);
    TRIB_ARG_PUT(TRIB_JOIN_GROUP_MEMBERS, args, members);
    TRIB_ARG_PUT(TRIB_JOIN_GROUP_COOKIE, args, cookie);
    return card_command(queue->card, TRIB_COMMAND_JOIN_GROUP, queue->qpn, args, TRIB_JOIN_GROUP_ARGS, NULL);
}

/* Posts a frame to a node, or to the tree if that is negative. */
static void post(struct queue *queue, int node, uint64_t id, uint32_t flags, uint32_t opcode) {
    uint8_t *to = queue_next_work(queue);
    TRIB_ENTRY_PUT(TRIB_REDUCE_OPCODE, to, opcode);
    TRIB_ENTRY_PUT(TRIB_REDUCE_FLAGS, to, flags);
    TRIB_ENTRY_PUT(TRIB_REDUCE_TO_NODE, to, node >= 0);
    TRIB_ENTRY_PUT(TRIB_REDUCE_NODE, to, node >= 0 ? node : 0);
    TRIB_ENTRY_PUT(TRIB_REDUCE_REDUCTION, to, REDUCTION);
    TRIB_ENTRY_PUT(TRIB_REDUCE_KIND, to, KIND);
    TRIB_ENTRY_PUT(TRIB_REDUCE_WR_ID, to, id);
    TRIB_ENTRY_PUT(TRIB_REDUCE_HEADER, to, HEADER);
    TRIB_ENTRY_PUT(TRIB_REDUCE_ROUND, to, ROUND + id);
    TRIB_ENTRY_PUT(TRIB_REDUCE_DATA0, to, 0x0123456789abcdefull + id);
    TRIB_ENTRY_PUT(TRIB_REDUCE_DATA1, to, ~id);
    TRIB_ENTRY_PUT(TRIB_REDUCE_DATA2, to, id << 40);
    TRIB_ENTRY_PUT(TRIB_REDUCE_DATA3, to, 4);
    queue_post_work(queue);
}

/* The frame that was posted with this name arrives, every field as it was. */
static void arrives(struct queue *queue, const struct host *from, uint64_t id, unsigned by_tree) {
    uint64_t start = now_ms();
    const uint8_t *entry;
    while (!(entry = queue_peek(queue))) give_up(start, "a frame");
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_OF, entry) != TRIB_OF_REDUCTION ||
        TRIB_ENTRY_GET(TRIB_ARRIVAL_STATUS, entry) != TRIB_OUTCOME_OK)
        fail("frame %u: of %u", (unsigned)id, (unsigned)TRIB_ENTRY_GET(TRIB_ARRIVAL_OF, entry));
    /* Endpoint 0 of a node. */
    uint64_t source = (uint64_t)from->card.node << 12;
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_SOURCE, entry) != source || TRIB_ENTRY_GET(TRIB_ARRIVAL_BY_TREE, entry) != by_tree)
        fail("frame %u: from %x", (unsigned)id, (unsigned)TRIB_ENTRY_GET(TRIB_ARRIVAL_SOURCE, entry));
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_REDUCTION, entry) != REDUCTION || TRIB_ENTRY_GET(TRIB_ARRIVAL_KIND, entry) != KIND ||
        TRIB_ENTRY_GET(TRIB_ARRIVAL_ROUND, entry) != ROUND + id || TRIB_ENTRY_GET(TRIB_ARRIVAL_HEADER, entry) != HEADER)
        fail("frame %u: another header", (unsigned)id);
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_DATA0, entry) != 0x0123456789abcdefull + id ||
        TRIB_ENTRY_GET(TRIB_ARRIVAL_DATA1, entry) != ~id || TRIB_ENTRY_GET(TRIB_ARRIVAL_DATA2, entry) != id << 40 ||
        TRIB_ENTRY_GET(TRIB_ARRIVAL_DATA3, entry) != 4)
        fail("frame %u: other data", (unsigned)id);
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_FETCHED, entry) != queue->sends)
        fail("frame %u: %u work requests", (unsigned)id, (unsigned)TRIB_ENTRY_GET(TRIB_ARRIVAL_FETCHED, entry));
    queue_take(queue);
}

static void ends(struct queue *queue, uint64_t id, uint32_t status) {
    struct completion ended = queue_wait(queue);
    if (ended.of != TRIB_OF_SEND || ended.id != id || ended.status != status)
        fail("work request %u: %u", (unsigned)id, ended.status);
}

/* A frame of a round to the tree; of what an engine would add up, `count` endpoints' data. */
static void give(struct queue *queue, uint64_t id, unsigned arm, unsigned seqno, uint64_t round, unsigned count) {
    uint8_t *to = queue_next_work(queue);
    uint64_t header = seqno | (uint64_t)arm << 10 | (uint64_t)OP_INT_SUM << 11 | (uint64_t)count << 17 | (uint64_t)seqno << 37;
    TRIB_ENTRY_PUT(TRIB_REDUCE_OPCODE, to, TRIB_OPCODE_REDUCE);
    TRIB_ENTRY_PUT(TRIB_REDUCE_FLAGS, to, TRIB_PUT(TRIB_WORK_FLAGS_SIGNAL, 1));
    TRIB_ENTRY_PUT(TRIB_REDUCE_TO_NODE, to, 0);
    TRIB_ENTRY_PUT(TRIB_REDUCE_REDUCTION, to, REDUCTION);
    TRIB_ENTRY_PUT(TRIB_REDUCE_KIND, to, 0);
    TRIB_ENTRY_PUT(TRIB_REDUCE_WR_ID, to, id);
    TRIB_ENTRY_PUT(TRIB_REDUCE_HEADER, to, header);
    TRIB_ENTRY_PUT(TRIB_REDUCE_ROUND, to, round);
    TRIB_ENTRY_PUT(TRIB_REDUCE_DATA0, to, 1000 + id);
    queue_post_work(queue);
}

/* A frame of a round comes by the tree. */
static void comes(struct queue *queue, unsigned arm, unsigned seqno, uint64_t round, uint64_t id, unsigned answered) {
    uint64_t start = now_ms();
    const uint8_t *entry;
    while (!(entry = queue_peek(queue))) give_up(start, "a frame of a round");
    uint64_t header = TRIB_ENTRY_GET(TRIB_ARRIVAL_HEADER, entry);
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_OF, entry) != TRIB_OF_REDUCTION || !TRIB_ENTRY_GET(TRIB_ARRIVAL_BY_TREE, entry))
        fail("round %u: another entry", (unsigned)round);
    if ((header & 0x3ff) != seqno || (header >> 10 & 1) != arm || TRIB_ENTRY_GET(TRIB_ARRIVAL_ROUND, entry) != round ||
        TRIB_ENTRY_GET(TRIB_ARRIVAL_KIND, entry) != 0 || TRIB_ENTRY_GET(TRIB_ARRIVAL_DATA0, entry) != 1000 + id)
        fail("round %u: header %llx", (unsigned)round, (unsigned long long)header);
    if (TRIB_ENTRY_GET(TRIB_ARRIVAL_ANSWERED, entry) != answered) fail("round %u: answered is not %u", (unsigned)round, answered);
    queue_take(queue);
}

/* The card of a root. There is no switch between the cards, so the other end adds up itself what an engine would have. */
static void answers(struct host hosts[2]) {
    struct queue queues[2];
    uint32_t counters[2] = {TRIB_REDUCTION_COUNTER_REDUCTION_ANSWERED, TRIB_REDUCTION_COUNTER_REDUCTION_OVERTAKEN};
    uint64_t before[2];
    for (unsigned at = 0; at < 2; at++) before[at] = card_counter(&hosts[0].card, counters[at]);
    for (unsigned at = 0; at < 2; at++) {
        struct shape shape = {.q_key = Q_KEY, .domain = DOMAIN, .timeout = TIMEOUT_EXPONENT};
        queue_create(&queues[at], &hosts[at].card, QPN, shape);
        if (join(&queues[at], COOKIE, at == 0 ? 2 : 0) != TRIB_STATUS_OK) fail("JOIN_GROUP of a root");
        queue_activate(&queues[at]);
    }
    struct queue *root = &queues[0], *leaf = &queues[1];
    /* Sequence numbers have 10 bits. */
    unsigned seqno = 0x3fe;
    uint64_t round = 0;
    give(root, 1, 1, seqno, round, 2);
    ends(root, 1, TRIB_OUTCOME_OK);
    comes(leaf, 1, seqno, round, 1, 0);
    for (uint64_t id = 2; id < 20; id += 3) {
        give(root, id, 0, seqno, round, 1);
        ends(root, id, TRIB_OUTCOME_OK);
        comes(leaf, 0, seqno, round, id, 0);
        /* Without the root's part it is no result, and left to the host. */
        give(leaf, id + 1, 0, seqno, round, 1);
        ends(leaf, id + 1, TRIB_OUTCOME_OK);
        comes(root, 0, seqno, round, id + 1, 0);
        give(leaf, id + 2, 0, seqno, round, 2);
        ends(leaf, id + 2, TRIB_OUTCOME_OK);
        comes(root, 0, seqno, round, id + 2, 1);
        seqno = (seqno + 1) & 0x3ff;
        round++;
        comes(leaf, 1, seqno, round, id + 2, 0);
    }
    /* What the last answer has overtaken: the same number again, and a value for the round before. */
    give(root, 20, 1, seqno, round, 2);
    ends(root, 20, TRIB_OUTCOME_OVERTAKEN);
    give(root, 21, 0, (seqno - 1) & 0x3ff, round - 1, 1);
    ends(root, 21, TRIB_OUTCOME_OVERTAKEN);
    give(root, 22, 0, seqno, round, 1);
    ends(root, 22, TRIB_OUTCOME_OK);
    comes(leaf, 0, seqno, round, 22, 0);
    uint64_t wanted[2] = {6, 2};
    for (unsigned at = 0; at < 2; at++)
        if (card_counter(&hosts[0].card, counters[at]) - before[at] != wanted[at]) fail("counter %u", counters[at]);
    for (unsigned at = 0; at < 2; at++) queue_destroy(&queues[at]);
}

void reductions(struct host hosts[2]) {
    uint32_t features = card_read(&hosts[0].card, TRIB_CARD_FEATURES);
    if (!(features & TRIB_CARD_FEATURES_REDUCTIONS_MASK)) {
        puts("reductions: not in this card");
        return;
    }
    struct queue queues[2];
    for (unsigned at = 0; at < 2; at++) {
        struct shape shape = {.q_key = Q_KEY, .domain = DOMAIN, .timeout = TIMEOUT_EXPONENT};
        queue_create(&queues[at], &hosts[at].card, QPN, shape);
        if (join(&queues[at], COOKIE + 1, 0) != TRIB_STATUS_BAD_ARGUMENT) fail("a cookie that is no multiple of 8");
        if (join(&queues[at], COOKIE, 0) != TRIB_STATUS_OK) fail("JOIN_GROUP");
        if (join(&queues[at], COOKIE + 8, 0) != TRIB_STATUS_BAD_STATE) fail("JOIN_GROUP twice");
        queue_activate(&queues[at]);
    }
    for (uint64_t id = 1; id <= 40; id++) {
        unsigned at = id % 2, by_tree = id % 3 == 0;
        post(&queues[at], by_tree ? -1 : (int)hosts[1 - at].card.node, id, 0, TRIB_OPCODE_REDUCE);
        arrives(&queues[1 - at], &hosts[at], id, by_tree);
    }
    post(&queues[0], -1, 41, TRIB_PUT(TRIB_WORK_FLAGS_SIGNAL, 1), TRIB_OPCODE_REDUCE);
    arrives(&queues[1], &hosts[0], 41, 1);
    ends(&queues[0], 41, TRIB_OUTCOME_OK);
    post(&queues[0], -1, 42, 0, TRIB_OPCODE_SEND);
    ends(&queues[0], 42, TRIB_OUTCOME_LOCAL_OPCODE);
    struct work work = message_to(&hosts[1]);
    work.qpn = QPN;
    work.epoch = queues[1].epoch;
    if (queue_send(&hosts[0].queue, &work).status != TRIB_OUTCOME_BAD_QP) fail("a message to a queue pair in a group");

    /* Nobody is in the group there any more. */
    uint64_t before = card_counter(&hosts[1].card, TRIB_REDUCTION_COUNTER_REDUCTION_FOREIGN), start = now_ms();
    queue_destroy(&queues[1]);
    post(&queues[0], (int)hosts[1].card.node, 43, TRIB_PUT(TRIB_WORK_FLAGS_SIGNAL, 1), TRIB_OPCODE_REDUCE);
    ends(&queues[0], 43, TRIB_OUTCOME_OK);
    while (card_counter(&hosts[1].card, TRIB_REDUCTION_COUNTER_REDUCTION_FOREIGN) != before + 1) give_up(start, "reduction_foreign");
    queue_destroy(&queues[0]);
    answers(hosts);
    puts("reductions: 41 frames by node and by tree, each as posted; 6 results answered by the root's card");
}
