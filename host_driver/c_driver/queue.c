#include "queue.h"

#include <stdatomic.h>
#include <string.h>

static uint8_t *entry(uint8_t *ring, uint16_t index, unsigned log, unsigned bytes) {
    return ring + (size_t)(index & ((1u << log) - 1u)) * bytes;
}

static void ring(struct queue *queue, uint32_t doorbell, uint16_t index) {
    /* What was written to memory before is there for the card when the doorbell is. */
    atomic_thread_fence(memory_order_seq_cst);
    card_write(queue->card, TRIB_CARD_DOORBELL(queue->qpn, doorbell), index);
}

void queue_create(struct queue *queue, struct card *card, uint32_t qpn, struct shape shape) {
    memset(queue, 0, sizeof *queue);
    queue->card = card;
    queue->qpn = qpn;
    uint64_t send = TRIB_WORK_BYTES << SEND_LOG;
    uint64_t receive = TRIB_RECEIVE_BYTES << RECEIVE_LOG;
    uint64_t complete = TRIB_COMPLETION_BYTES << COMPLETE_LOG;
    /* Each is a multiple of TRIB_RING_ALIGN bytes long, so all begin at one. */
    queue->rings = card_memory(card, send + receive + complete);
    queue->send = queue->rings.bytes;
    queue->receive = queue->send + send;
    queue->complete = queue->receive + receive;

    uint32_t args[TRIB_CREATE_QP_ARGS] = {0};
    uint32_t results[2];
    TRIB_ARG_PUT(TRIB_CREATE_QP_SEND_LOG, args, SEND_LOG);
    TRIB_ARG_PUT(TRIB_CREATE_QP_RECEIVE_LOG, args, RECEIVE_LOG);
    TRIB_ARG_PUT(TRIB_CREATE_QP_COMPLETE_LOG, args, COMPLETE_LOG);
    TRIB_ARG_PUT(TRIB_CREATE_QP_TIMEOUT, args, shape.timeout);
    TRIB_ARG_PUT(TRIB_CREATE_QP_VECTOR, args, shape.vector);
    TRIB_ARG_PUT(TRIB_CREATE_QP_Q_KEY, args, shape.q_key);
    TRIB_ARG_PUT(TRIB_CREATE_QP_DOMAIN, args, shape.domain);
    TRIB_ARG_PUT(TRIB_CREATE_QP_FIRST_PSN, args, 0);
    TRIB_ARG_PUT(TRIB_CREATE_QP_SEND_BASE, args, queue->rings.address);
    TRIB_ARG_PUT(TRIB_CREATE_QP_RECEIVE_BASE, args, queue->rings.address + send);
    TRIB_ARG_PUT(TRIB_CREATE_QP_COMPLETE_BASE, args, queue->rings.address + send + receive);
    uint32_t status = card_command(card, TRIB_COMMAND_CREATE_QP, qpn, args, TRIB_CREATE_QP_ARGS, results);
    if (status != TRIB_STATUS_OK) fail("CREATE_QP %u: status %u", qpn, status);
    queue->epoch = (uint16_t)TRIB_RESULT_GET(TRIB_CREATE_QP_EPOCH, results);
}

uint32_t queue_modify(struct queue *queue, uint32_t state) {
    uint32_t args[TRIB_MODIFY_QP_ARGS] = {0};
    TRIB_ARG_PUT(TRIB_MODIFY_QP_STATE, args, state);
    return card_command(queue->card, TRIB_COMMAND_MODIFY_QP, queue->qpn, args, TRIB_MODIFY_QP_ARGS, NULL);
}

void queue_activate(struct queue *queue) {
    if (queue_modify(queue, TRIB_STATE_READY_TO_RECEIVE) != TRIB_STATUS_OK ||
        queue_modify(queue, TRIB_STATE_READY_TO_SEND) != TRIB_STATUS_OK)
        fail("MODIFY_QP %u", queue->qpn);
}

void queue_destroy(struct queue *queue) {
    uint64_t start = now_ms();
    uint32_t status;
    /* The card may get no rest in between; the rings are its own until it has. */
    while ((status = card_command(queue->card, TRIB_COMMAND_DESTROY_QP, queue->qpn, NULL, 0, NULL)) ==
           TRIB_STATUS_NOT_IDLE)
        give_up(start, "DESTROY_QP");
    if (status != TRIB_STATUS_OK) fail("DESTROY_QP %u: status %u", queue->qpn, status);
    card_free(queue->card, &queue->rings);
}

void queue_post_receive(struct queue *queue, uint64_t id, uint64_t address, uint32_t length, uint32_t key) {
    uint8_t *to = entry(queue->receive, queue->receives, RECEIVE_LOG, TRIB_RECEIVE_BYTES);
    memset(to, 0, TRIB_RECEIVE_BYTES);
    TRIB_ENTRY_PUT(TRIB_RECEIVE_WR_ID, to, id);
    TRIB_ENTRY_PUT(TRIB_RECEIVE_ADDRESS, to, address);
    TRIB_ENTRY_PUT(TRIB_RECEIVE_LKEY, to, key);
    TRIB_ENTRY_PUT(TRIB_RECEIVE_LENGTH, to, length);
    ring(queue, TRIB_CARD_DOORBELL_RECEIVE, ++queue->receives);
}

uint8_t *queue_next_work(struct queue *queue) {
    uint8_t *to = entry(queue->send, queue->sends, SEND_LOG, TRIB_WORK_BYTES);
    memset(to, 0, TRIB_WORK_BYTES);
    return to;
}

void queue_post_work(struct queue *queue) {
    ring(queue, TRIB_CARD_DOORBELL_SEND, ++queue->sends);
}

void queue_post_send(struct queue *queue, const struct work *work) {
    uint8_t *to = queue_next_work(queue);
    TRIB_ENTRY_PUT(TRIB_WORK_OPCODE, to, work->opcode);
    TRIB_ENTRY_PUT(TRIB_WORK_HEAD_LEN, to, work->head_length);
    TRIB_ENTRY_PUT(TRIB_WORK_LENGTH, to, work->length);
    TRIB_ENTRY_PUT(TRIB_WORK_WR_ID, to, work->id);
    TRIB_ENTRY_PUT(TRIB_WORK_ADDRESS, to, work->address);
    TRIB_ENTRY_PUT(TRIB_WORK_LKEY, to, work->key);
    TRIB_ENTRY_PUT(TRIB_WORK_VERSION_FLAGS, to, work->version_flags);
    TRIB_ENTRY_PUT(TRIB_WORK_NODE, to, work->node);
    TRIB_ENTRY_PUT(TRIB_WORK_QPN, to, work->qpn);
    TRIB_ENTRY_PUT(TRIB_WORK_WIN_MSN, to, work->msn);
    TRIB_ENTRY_PUT(TRIB_WORK_WIN_ID, to, work->window);
    TRIB_ENTRY_PUT(TRIB_WORK_EPOCH, to, work->epoch);
    /* The head is bytes, not a number: its two words are its bytes in order. */
    memcpy(to + 8 * TRIB_WORK_HEAD_LOW_WORD, work->head, TRIB_HEAD_MAX);
    queue_post_work(queue);
}

const uint8_t *queue_peek(struct queue *queue) {
    const uint8_t *from = entry(queue->complete, queue->taken, COMPLETE_LOG, TRIB_COMPLETION_BYTES);
    uint32_t phase = (~(uint32_t)queue->taken >> COMPLETE_LOG) & 1u;
    if (TRIB_ENTRY_GET(TRIB_COMPLETION_PHASE, from) != phase) return NULL;
    /* The phase is written last, so what is read after it is there. */
    atomic_thread_fence(memory_order_acquire);
    if (TRIB_ENTRY_GET(TRIB_COMPLETION_NUMBER, from) != queue->taken)
        fail("completion %u in the place of %u", (unsigned)TRIB_ENTRY_GET(TRIB_COMPLETION_NUMBER, from), queue->taken);
    return from;
}

void queue_take(struct queue *queue) {
    ring(queue, TRIB_CARD_DOORBELL_COMPLETE, ++queue->taken);
}

int queue_poll(struct queue *queue, struct completion *completion) {
    const uint8_t *from = queue_peek(queue);
    if (!from) return 0;
    *completion = (struct completion){
        .id = TRIB_ENTRY_GET(TRIB_COMPLETION_WR_ID, from),
        .status = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_STATUS, from),
        .of = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_OF, from),
        .version_flags = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_VERSION_FLAGS, from),
        .length = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_LENGTH, from),
        .node = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_NODE, from),
        .qpn = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_QPN, from),
        .window = (uint16_t)TRIB_ENTRY_GET(TRIB_COMPLETION_WIN_ID, from),
        .epoch = (uint16_t)TRIB_ENTRY_GET(TRIB_COMPLETION_EPOCH, from),
        .msn = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_WIN_MSN, from),
        .q_key = (uint32_t)TRIB_ENTRY_GET(TRIB_COMPLETION_Q_KEY, from),
    };
    queue_take(queue);
    return 1;
}

struct completion queue_wait(struct queue *queue) {
    struct completion completion;
    uint64_t start = now_ms();
    while (!queue_poll(queue, &completion)) give_up(start, "a completion");
    return completion;
}

struct completion queue_send(struct queue *queue, const struct work *work) {
    queue_post_send(queue, work);
    return queue_wait(queue);
}

struct completion queue_send_again(struct queue *queue, const struct work *work) {
    struct completion completion;
    uint64_t start = now_ms();
    while ((completion = queue_send(queue, work)).status == TRIB_OUTCOME_REMOTE_RNR)
        give_up(start, "receive requests");
    return completion;
}

void queue_arm(struct queue *queue) {
    ring(queue, TRIB_CARD_DOORBELL_ARM, queue->taken);
}
