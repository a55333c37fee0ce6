/* Two endpoints on two cards of one process: memory for many messages, counters, reads and writes of a peer's memory, atomic
   operations on it, event queues, descriptors to wait for, poll sets, an endpoint that takes the address of an earlier one, names of
   endpoints. */
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(what)                                                                     \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                         \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

struct end {
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_cntr *sent, *received, *reached;
    fi_addr_t other;
};

static void make(struct end *end, struct fid_fabric *fabric, struct fi_info *info) {
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_DATA, .size = 64, .wait_obj = FI_WAIT_MUTEX_COND};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cntr_attr count = {.events = FI_CNTR_EVENTS_COMP};
    MUST(!fi_domain(fabric, info, &end->domain, NULL));
    MUST(fi_cq_open(end->domain, &cq, &end->cq, NULL) == -FI_ENOSYS);
    cq.wait_obj = FI_WAIT_FD;
    MUST(!fi_cq_open(end->domain, &cq, &end->cq, end));
    MUST(!fi_av_open(end->domain, &av, &end->av, NULL));
    count.wait_obj = FI_WAIT_SET;
    MUST(fi_cntr_open(end->domain, &count, &end->sent, NULL) == -FI_ENOSYS);
    count.wait_obj = FI_WAIT_UNSPEC;
    MUST(!fi_cntr_open(end->domain, &count, &end->sent, NULL));
    count.wait_obj = FI_WAIT_FD;
    MUST(!fi_cntr_open(end->domain, &count, &end->received, &end->received));
    count.wait_obj = FI_WAIT_UNSPEC;
    MUST(!fi_cntr_open(end->domain, &count, &end->reached, NULL));
    MUST(!fi_endpoint(end->domain, info, &end->ep, NULL));
    MUST(!fi_ep_bind(end->ep, &end->cq->fid, FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION));
    MUST(!fi_ep_bind(end->ep, &end->av->fid, 0));
    MUST(!fi_ep_bind(end->ep, &end->sent->fid, FI_SEND));
    MUST(fi_ep_bind(end->ep, &end->received->fid, FI_SEND) == -FI_EINVAL);
    MUST(!fi_ep_bind(end->ep, &end->received->fid, FI_RECV));
    MUST(!fi_ep_bind(end->ep, &end->reached->fid, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE));
    MUST(!fi_enable(end->ep));
}

static void end(struct end *end) {
    MUST(!fi_close(&end->ep->fid) && !fi_close(&end->sent->fid) && !fi_close(&end->received->fid));
    MUST(!fi_close(&end->reached->fid));
    MUST(!fi_close(&end->cq->fid) && !fi_close(&end->av->fid) && !fi_close(&end->domain->fid));
}

static void know(struct end *end, struct end *other) {
    char name[64];
    size_t length = sizeof name;
    MUST(!fi_getname(&other->ep->fid, name, &length));
    MUST(fi_av_insert(end->av, name, 1, &end->other, 0, NULL) == 1);
}

static void take(struct end *end, struct fi_cq_data_entry *entry) {
    ssize_t got;
    while ((got = fi_cq_read(end->cq, entry, 1)) == -FI_EAGAIN)
        ;
    MUST(got == 1);
}

static void refused(struct end *end, void *context, uint64_t kind) {
    struct fi_cq_data_entry entry;
    struct fi_cq_err_entry error = {0};
    while (fi_cq_read(end->cq, &entry, 1) == -FI_EAGAIN)
        ;
    MUST(fi_cq_readerr(end->cq, &error, 0) == 1);
    MUST(error.err == FI_EACCES && error.op_context == context && error.flags & kind);
}

static char out[40000], in[8192], far[200000], near[200000];

/* a reaches memory of b. */
static void reach(struct end *a, struct end *b) {
    struct fid_mr *mr, *other;
    struct fi_cq_data_entry entry;
    struct iovec list[2] = {{near + 5, 30000}, {near + 60000, 70000}};
    struct fi_rma_iov place[2] = {{1000, 100000, 77}, {0, 0, 77}};
    struct fi_msg_rma message = {.msg_iov = list, .iov_count = 2, .addr = a->other, .rma_iov = place,
                                 .rma_iov_count = 1, .context = list};
    for (size_t at = 0; at < sizeof near; at++) near[at] = at * 7;
    MUST(!fi_mr_reg(b->domain, far, sizeof far, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 77, 0, &mr, NULL));
    MUST(fi_mr_key(mr) == 77);
    MUST(fi_mr_reg(b->domain, in, sizeof in, FI_REMOTE_READ, 0, 77, 0, &other, NULL) == -FI_ENOKEY);
    MUST(fi_mr_reg(b->domain, in, sizeof in, FI_REMOTE_READ, 8, 78, 0, &other, NULL) == -FI_EINVAL);
    MUST(!fi_mr_reg(b->domain, in, sizeof in, FI_REMOTE_READ, 0, 78, 0, &other, NULL));

    MUST(!fi_inject_write(a->ep, near, 100, a->other, 50, 77));
    MUST(!fi_cntr_wait(a->reached, 1, 10000) && !fi_cntr_wait(b->reached, 1, 10000));
    MUST(!memcmp(far + 50, near, 100) && !far[49] && !far[150]);
    MUST(fi_cq_read(a->cq, &entry, 1) == -FI_EAGAIN && fi_cq_read(b->cq, &entry, 1) == -FI_EAGAIN);

    /* Two pieces as one, the program there is told. */
    message.data = 4711;
    MUST(!fi_writemsg(a->ep, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_DELIVERY_COMPLETE));
    take(a, &entry);
    MUST(entry.op_context == list && entry.flags == (FI_RMA | FI_WRITE));
    take(b, &entry);
    MUST(entry.data == 4711 && entry.len == 100000 && entry.flags == (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA));
    MUST(!memcmp(far + 1000, near + 5, 30000) && !memcmp(far + 31000, near + 60000, 70000) && !far[101000]);
    message.rma_iov_count = 2;
    MUST(fi_writemsg(a->ep, &message, 0) == -FI_EINVAL);
    message.rma_iov_count = 1;
    place[0].len = 5;
    MUST(fi_readmsg(a->ep, &message, 0) == -FI_EINVAL);

    memset(near, 0, sizeof near);
    MUST(!fi_read(a->ep, near, 150000, NULL, a->other, 500, 77, NULL));
    MUST(!fi_cntr_wait(a->reached, 3, 10000) && !memcmp(near, far + 500, 150000) && !near[150000]);
    MUST(!fi_cntr_wait(b->reached, 3, 10000));

    /* Beyond the end, without the right, with a key that is none, after the end of the memory. */
    MUST(!fi_read(a->ep, near, 2, NULL, a->other, sizeof far - 1, 77, &place));
    refused(a, &place, FI_RMA);
    MUST(!fi_write(a->ep, near, 100, NULL, a->other, UINT64_MAX - 5, 77, &place));
    refused(a, &place, FI_RMA);
    MUST(!fi_write(a->ep, near, 100, NULL, a->other, 0, 78, &list));
    refused(a, &list, FI_RMA);
    MUST(!fi_read(a->ep, near, 100, NULL, a->other, 0, 79, &mr));
    refused(a, &mr, FI_RMA);
    MUST(!fi_close(&mr->fid));
    MUST(!fi_write(a->ep, near, 100000, NULL, a->other, 0, 77, &other));
    refused(a, &other, FI_RMA);
    MUST(fi_cntr_readerr(a->reached) == 5 && fi_cntr_read(a->reached) == 3 && fi_cntr_read(b->reached) == 3);
    MUST(!fi_close(&other->fid));
}

/* a changes memory of b as a whole, by every call. */
static void atomics(struct end *a, struct end *b) {
    struct fid_mr *mr, *read_only;
    struct fid_cntr *writes, *reads;
    struct fi_cntr_attr count = {.events = FI_CNTR_EVENTS_COMP};
    struct fi_atomic_attr attr;
    struct fi_cq_data_entry entry;
    size_t most = 0;
    int64_t there[4] = {10, 20, 30, 40}, one[2] = {1, 2}, found[2] = {0}, compare[2] = {13, 0};
    MUST(!fi_mr_reg(b->domain, there, sizeof there, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 50, 0, &mr, NULL));
    MUST(!fi_mr_reg(b->domain, there, sizeof there, FI_REMOTE_READ, 0, 51, 0, &read_only, NULL));
    MUST(!fi_cntr_open(b->domain, &count, &writes, NULL) && !fi_cntr_open(b->domain, &count, &reads, NULL));
    MUST(!fi_mr_bind(mr, &writes->fid, FI_REMOTE_WRITE) && !fi_mr_bind(mr, &reads->fid, FI_REMOTE_READ));

    MUST(!fi_atomicvalid(a->ep, FI_INT64, FI_SUM, &most) && most == 256);
    MUST(fi_atomicvalid(a->ep, FI_INT64, FI_CSWAP, &most) == -FI_EOPNOTSUPP);
    MUST(fi_fetch_atomicvalid(a->ep, FI_FLOAT, FI_BXOR, &most) == -FI_EOPNOTSUPP);
    MUST(!fi_compare_atomicvalid(a->ep, FI_UINT8, FI_MSWAP, &most) && most == 2048);
    MUST(!fi_query_atomic(a->domain, FI_DOUBLE, FI_MAX, &attr, FI_FETCH_ATOMIC) && attr.size == 8 && attr.count == 256);
    MUST(fi_query_atomic(a->domain, FI_LONG_DOUBLE, FI_MAX, &attr, 0) == -FI_EOPNOTSUPP);

    struct fi_ioc list[2] = {{&one[0], 1}, {&one[1], 1}}, results[2] = {{&found[1], 1}, {&found[0], 1}};
    struct fi_ioc compares[2] = {{&compare[0], 1}, {&compare[1], 1}};
    struct fi_rma_ioc place = {0, 2, 50};
    struct fi_msg_atomic message = {.msg_iov = list, .iov_count = 2, .addr = a->other, .rma_iov = &place,
        .rma_iov_count = 1, .datatype = FI_INT64, .op = FI_SUM, .context = &there};
    /* Nobody is told of the first four, and all are done in their order. */
    MUST(!fi_atomic(a->ep, one, 2, NULL, a->other, 0, 50, FI_INT64, FI_SUM, NULL));
    MUST(!fi_atomicv(a->ep, list, NULL, 2, a->other, 16, 50, FI_INT64, FI_SUM, NULL));
    MUST(!fi_inject_atomic(a->ep, one, 1, a->other, 0, 50, FI_INT64, FI_SUM));
    MUST(!fi_fetch_atomic(a->ep, one, 1, NULL, found, NULL, a->other, 24, 50, FI_INT64, FI_PROD, NULL));
    MUST(!fi_atomicmsg(a->ep, &message, FI_COMPLETION));
    take(a, &entry);
    MUST(entry.op_context == &there && entry.flags == (FI_ATOMIC | FI_WRITE));
    MUST(there[0] == 13 && there[1] == 24 && there[2] == 31 && there[3] == 42 && found[0] == 42);

    message.op = FI_ATOMIC_READ;
    message.iov_count = 0;
    MUST(!fi_fetch_atomicmsg(a->ep, &message, results, NULL, 2, FI_COMPLETION));
    take(a, &entry);
    MUST(entry.flags == (FI_ATOMIC | FI_READ) && entry.len == 16 && found[1] == 13 && found[0] == 24);
    message.op = FI_CSWAP;
    message.iov_count = 2;
    MUST(!fi_compare_atomicmsg(a->ep, &message, compares, NULL, 2, results, NULL, 2, FI_COMPLETION));
    take(a, &entry);
    MUST(there[0] == 1 && there[1] == 24 && found[1] == 13 && found[0] == 24);
    MUST(!fi_fetch_atomicv(a->ep, list, NULL, 2, results, NULL, 2, a->other, 0, 50, FI_INT64, FI_MAX, NULL));
    MUST(!fi_compare_atomicv(a->ep, list, NULL, 2, compares, NULL, 2, results, NULL, 2, a->other, 16, 50, FI_INT64,
        FI_CSWAP_LT, NULL));
    MUST(!fi_compare_atomic(a->ep, one, 1, NULL, compare, NULL, found, NULL, a->other, 24, 50, FI_UINT64, FI_MSWAP, NULL));
    MUST(!fi_atomicmsg(a->ep, (message.op = FI_BXOR, &message), FI_COMPLETION));
    take(a, &entry);
    MUST(there[0] == 0 && there[1] == 26 && there[2] == 1 && there[3] == 3 && found[0] == 2);

    /* Those that fetch or compare are reads. */
    MUST(!fi_cntr_wait(writes, 5, 10000) && fi_cntr_read(writes) == 5 && fi_cntr_read(reads) == 6);

    /* No memory, no right, no room; and what makes no sense at all. */
    MUST(!fi_atomic(a->ep, one, 1, NULL, a->other, 32, 50, FI_INT64, FI_SUM, one));
    refused(a, one, FI_ATOMIC);
    MUST(!fi_atomic(a->ep, one, 1, NULL, a->other, 0, 51, FI_INT64, FI_SUM, one));
    refused(a, one, FI_ATOMIC);
    MUST(!fi_fetch_atomic(a->ep, one, 1, NULL, found, NULL, a->other, 0, 52, FI_INT64, FI_SUM, one));
    refused(a, one, FI_ATOMIC);
    MUST(fi_atomic(a->ep, out, 257, NULL, a->other, 0, 50, FI_INT64, FI_SUM, one) == -FI_EINVAL);
    MUST(fi_atomic(a->ep, one, 1, NULL, a->other, 0, 50, FI_INT64, FI_CSWAP, one) == -FI_EINVAL);
    MUST(fi_atomic(a->ep, one, 1, NULL, a->other, 0, 50, 77, FI_SUM, one) == -FI_EINVAL);
    MUST(fi_fetch_atomicmsg(a->ep, &message, results, NULL, 1, 0) == -FI_EINVAL);
    MUST(fi_atomicmsg(a->ep, &message, FI_TAGGED) == -FI_EINVAL);
    MUST(fi_atomicmsg(a->ep, &message, FI_REMOTE_CQ_DATA) == -FI_EINVAL);
    MUST(there[0] == 0 && there[1] == 26 && there[2] == 1 && there[3] == 3);
    MUST(!fi_close(&mr->fid) && !fi_close(&read_only->fid) && !fi_close(&writes->fid) && !fi_close(&reads->fid));
}

/* What a program writes to an event queue. */
static void events(struct fid_fabric *fabric) {
    struct fi_eq_attr attr = {.size = 3, .wait_obj = FI_WAIT_FD, .flags = FI_WRITE};
    struct fi_eq_entry entry = {.fid = &fabric->fid};
    struct fi_eq_err_entry error;
    struct fid_eq *eq;
    struct fid *fids[1];
    uint32_t event;
    struct pollfd wait = {.events = POLLIN};
    MUST(!fi_eq_open(fabric, &attr, &eq, NULL) && !fi_control(&eq->fid, FI_GETWAIT, &wait.fd));
    fids[0] = &eq->fid;
    MUST(!fi_trywait(fabric, fids, 1) && poll(&wait, 1, 0) == 0);
    MUST(fi_eq_sread(eq, &event, &entry, sizeof entry, 10, 0) == -FI_EAGAIN);
    MUST(fi_eq_write(eq, FI_NOTIFY, NULL, sizeof entry, 0) == -FI_EINVAL);
    for (uintptr_t at = 0; at < 4; at++) {
        entry.context = (void *)at;
        MUST(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0) == (at < 3 ? sizeof entry : -FI_EAGAIN));
    }
    MUST(fi_trywait(fabric, fids, 1) == -FI_EAGAIN && poll(&wait, 1, 0) == 1);
    MUST(fi_eq_read(eq, &event, &entry, sizeof entry - 1, 0) == -FI_ETOOSMALL);
    for (uintptr_t at = 0; at < 6; at++) {
        MUST(fi_eq_read(eq, &event, &entry, sizeof entry, at % 2 ? 0 : FI_PEEK) == sizeof entry);
        MUST(event == FI_NOTIFY && entry.context == (void *)(at / 2));
    }
    MUST(!fi_trywait(fabric, fids, 1) && poll(&wait, 1, 0) == 0);
    MUST(fi_eq_read(eq, &event, &entry, sizeof entry, 0) == -FI_EAGAIN && fi_eq_readerr(eq, &error, 0) == -FI_EAGAIN);
    MUST(!fi_close(&eq->fid));
}

/* b ends, and another one takes its card: a knows it as the one that it is. */
static void again(struct end *a, struct end *b, struct fid_fabric *fabric, struct fi_info *info) {
    for (int time = 0; time < 3; time++) {
        end(b);
        make(b, fabric, info);
        know(b, a);
        know(a, b);
        uint64_t already = fi_cntr_read(a->received);
        MUST(!fi_recv(a->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
        MUST(!fi_recv(b->ep, far, sizeof far, NULL, FI_ADDR_UNSPEC, far));
        MUST(!fi_send(b->ep, out, 100 + time, NULL, b->other, out));
        MUST(!fi_cntr_wait(a->received, already + 1, 10000) && !memcmp(in, out, 100 + time));
        MUST(!fi_inject(a->ep, out, 200 + time, a->other));
        MUST(!fi_cntr_wait(b->received, 1, 10000) && !memcmp(far, out, 200 + time));
    }
}

/* b makes no call until the system says that something of a's has come; a poll set says where. */
static void waits(struct end *a, struct end *b, struct fid_fabric *fabric) {
    struct fid *both[2] = {&b->cq->fid, &b->received->fid}, *none = &b->ep->fid;
    struct fi_poll_attr attr = {0};
    struct fid_poll *set;
    struct pollfd ready[2] = {{.events = POLLIN}, {.events = POLLIN}};
    struct fi_cq_data_entry entry;
    void *found[4];
    int other;
    MUST(!fi_control(both[0], FI_GETWAIT, &ready[0].fd) && !fi_control(both[1], FI_GETWAIT, &ready[1].fd));
    MUST(fi_control(&b->sent->fid, FI_GETWAIT, &other) == -FI_ENOSYS);
    MUST(fi_trywait(fabric, &none, 1) == -FI_ENOSYS);
    attr.flags = 1;
    MUST(fi_poll_open(b->domain, &attr, &set) == -FI_EINVAL);
    attr.flags = 0;
    MUST(!fi_poll_open(b->domain, &attr, &set));
    MUST(!fi_poll_add(set, both[0], 0) && !fi_poll_add(set, both[1], 0));
    MUST(fi_poll_add(set, both[0], 0) == -FI_EINVAL && fi_poll_add(set, none, 0) == -FI_EINVAL);
    uint64_t already = fi_cntr_read(b->received);
    MUST(fi_poll(set, found, 4) == 0);
    for (int at = 0; at < 50; at++) {
        struct iovec list = {in, sizeof in};
        struct fi_msg message = {.msg_iov = &list, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in};
        MUST(!fi_recvmsg(b->ep, &message, FI_COMPLETION));
        MUST(!fi_trywait(fabric, both, 2));
        MUST(at > 5 || !poll(ready, 2, 10));
        MUST(!fi_inject(a->ep, out + at, 100 + at, a->other));
        for (int which = 0; which < 2; which++) MUST(poll(ready + which, 1, 10000) == 1);
        MUST(fi_trywait(fabric, both + at % 2, 1) == -FI_EAGAIN);
        MUST(fi_poll(set, found, 1) == 1 && found[0] == b);
        MUST(fi_poll(set, found, 4) == 2 && found[0] == b && found[1] == &b->received);
        MUST(fi_cq_read(b->cq, &entry, 1) == 1 && entry.len == 100u + at && !memcmp(in, out + at, 100 + at));
        MUST(!poll(ready, 1, 0));
        MUST(fi_poll(set, found, 4) == 1 && found[0] == &b->received);
        MUST(fi_cntr_read(b->received) == already + at + 1 && fi_poll(set, found, 4) == 0);
    }
    MUST(!fi_cntr_add(b->received, 1) && poll(ready + 1, 1, 0) == 1 && fi_poll(set, found, 4) == 1);
    MUST(!fi_poll_del(set, both[1], 0) && fi_poll_del(set, both[1], 0) == -FI_EINVAL);
    MUST(fi_poll(set, found, 4) == 0 && !fi_close(&set->fid));
    /* Who waits without end is woken. */
    MUST(!fi_cq_signal(b->cq) && fi_cq_sread(b->cq, &entry, 1, NULL, -1) == -FI_EAGAIN);
}

/* An endpoint of a service, bound to the queue and the vector of another one. */
static struct fid_ep *offered(struct end *end, const char *service, struct fi_info *hints, char name[8]) {
    struct fi_info *info;
    struct fid_ep *ep;
    size_t length = 8;
    MUST(!fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", service, FI_SOURCE, hints, &info));
    MUST(info->src_addrlen == 8 && !fi_endpoint(end->domain, info, &ep, NULL));
    MUST(!fi_ep_bind(ep, &end->cq->fid, FI_SEND | FI_RECV) && !fi_ep_bind(ep, &end->av->fid, 0) && !fi_enable(ep));
    MUST(!fi_getname(&ep->fid, name, &length) && memcmp(name, info->src_addr, 8));
    fi_freeinfo(info);
    return ep;
}

/* The endpoint that is found at a place of the vector. */
static int found(struct end *end, fi_addr_t place, const char name[8]) {
    char there[8];
    size_t length = sizeof there;
    MUST(!fi_av_lookup(end->av, place, there, &length) && length == sizeof there);
    return !memcmp(there, name, sizeof there);
}

/* Endpoints are found by services of this machine: the first that offers one has it until it ends. */
static void services(struct end *end, struct fi_info *hints) {
    struct fi_info *info;
    char first[8], second[8], text[64];
    fi_addr_t place;
    size_t length = sizeof text;
    MUST(fi_getinfo(FI_VERSION(1, 17), "192.0.2.1", "47700", 0, hints, &info) == -FI_ENODATA);
    MUST(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, 0, hints, &info) == -FI_ENODATA);
    MUST(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "47700x", 0, hints, &info) == -FI_ENODATA);
    struct fid_ep *ep = offered(end, "47700", hints, first), *later = offered(end, "47700", hints, second);
    MUST(!fi_getinfo(FI_VERSION(1, 17), "localhost", "47700", 0, hints, &info) && info->dest_addrlen == 8);
    MUST(!strcmp(fi_av_straddr(end->av, info->dest_addr, text, &length), "tributary://service/47700"));
    MUST(fi_av_insert(end->av, info->dest_addr, 1, &place, 0, NULL) == 1 && found(end, place, first));
    MUST(fi_av_insertsvc(end->av, "127.0.0.1", "47700", &place, 0, NULL) == 1 && found(end, place, first));
    MUST(fi_av_insertsvc(end->av, "192.0.2.1", "47700", &place, 0, NULL) == 0 && place == FI_ADDR_NOTAVAIL);
    MUST(!fi_close(&ep->fid) && !fi_close(&later->fid));
    ep = offered(end, "47700", hints, second);
    MUST(fi_av_insert(end->av, info->dest_addr, 1, &place, 0, NULL) == 1 && found(end, place, second));
    MUST(!fi_close(&ep->fid));
    fi_freeinfo(info);
}

static void many(struct end *end, void *context, size_t bytes, uint64_t flags, ssize_t wanted) {
    struct iovec list[2] = {{in, bytes}, {in, bytes}};
    struct fi_msg message = {
        .msg_iov = list, .iov_count = wanted ? 2 : 1, .addr = FI_ADDR_UNSPEC, .context = context};
    MUST(fi_recvmsg(end->ep, &message, FI_MULTI_RECV | flags) == wanted);
}

int main(void) {
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fid_fabric *fabric;
    struct end a, b;
    struct fi_cq_data_entry entry;
    struct fi_cq_err_entry error = {0};
    size_t least = 1000, length = sizeof least;
    hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_RMA_EVENT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("tributary");
    MUST(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    MUST(info->caps & FI_MULTI_RECV && info->caps & FI_REMOTE_WRITE && !info->domain_attr->mr_mode);
    MUST(!fi_fabric(info->fabric_attr, &fabric, NULL));
    make(&a, fabric, info);
    make(&b, fabric, info);
    know(&a, &b);
    know(&b, &a);

    /* The option. */
    MUST(fi_setopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &least, sizeof least) == -FI_ENOPROTOOPT);
    MUST(fi_setopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, 2) == -FI_EINVAL);
    MUST(!fi_setopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
    least = 0;
    MUST(!fi_getopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &length));
    MUST(least == 1000 && length == sizeof least);
    length = 4;
    MUST(fi_getopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &length) == -FI_ETOOSMALL);
    MUST(length == sizeof least);

    /* Eight messages; the eighth leaves less than 1,000 bytes. Nobody wants to be told but of the memory. */
    for (size_t at = 0; at < sizeof out; at++) out[at] = at * 13;
    many(&b, NULL, sizeof in / 2, 0, -FI_EINVAL);
    many(&b, &b, sizeof in, 0, 0);
    for (int at = 0; at < 8; at++) {
        if (at % 2)
            MUST(!fi_inject(a.ep, out + at, 900 + at, a.other));
        else
            MUST(!fi_send(a.ep, out + at, 900 + at, NULL, a.other, NULL));
    }
    MUST(!fi_cntr_wait(a.sent, 8, 10000));
    MUST(!fi_cntr_wait(b.received, 8, 10000));
    take(&b, &entry);
    MUST(entry.op_context == &b && entry.flags == (FI_MULTI_RECV | FI_MSG | FI_RECV));
    MUST(entry.len == 907 && entry.buf == in + 7 * 900 + 21);
    char *place = in;
    for (int at = 0; at < 8; place += 900 + at++) MUST(!memcmp(place, out + at, 900 + at));
    MUST(fi_cq_read(a.cq, &entry, 1) == -FI_EAGAIN && fi_cq_read(b.cq, &entry, 1) == -FI_EAGAIN);

    /* Long messages, told of; the second has no room for all of it. */
    many(&b, &a, sizeof in, FI_COMPLETION, 0);
    MUST(!fi_send(a.ep, out, 100, NULL, a.other, NULL));
    MUST(!fi_send(a.ep, out + 100, 30000, NULL, a.other, NULL));
    take(&b, &entry);
    MUST(entry.len == 100 && entry.buf == in && !(entry.flags & FI_MULTI_RECV));
    while (fi_cq_read(b.cq, &entry, 1) == -FI_EAGAIN)
        ;
    MUST(fi_cq_readerr(b.cq, &error, 0) == 1);
    MUST(error.err == FI_ETRUNC && error.olen == 100 + 30000 - sizeof in && error.flags & FI_MULTI_RECV);
    MUST(error.buf == in + 100 && error.len == sizeof in - 100 && !memcmp(in, out, sizeof in));
    MUST(!fi_cntr_wait(a.sent, 10, 10000) && fi_cntr_read(b.received) == 9 && fi_cntr_readerr(b.received) == 1);

    /* Memory that is taken back, and a counter that waits in vain. */
    many(&b, &hints, sizeof in, 0, 0);
    MUST(!fi_cancel(&b.ep->fid, &hints));
    while (fi_cq_read(b.cq, &entry, 1) == -FI_EAGAIN)
        ;
    MUST(fi_cq_readerr(b.cq, &error, 0) == 1);
    MUST(error.err == FI_ECANCELED && error.op_context == &hints && error.flags & FI_MULTI_RECV);
    MUST(fi_cntr_readerr(b.received) == 2);
    MUST(fi_cntr_wait(b.received, 10, 20) == -FI_ETIMEDOUT);
    MUST(!fi_cntr_add(b.received, 3) && fi_cntr_read(b.received) == 12);
    MUST(!fi_cntr_set(b.received, 2) && fi_cntr_read(b.received) == 2);
    MUST(!fi_cntr_adderr(b.received, 5) && fi_cntr_readerr(b.received) == 7);
    MUST(!fi_cntr_seterr(b.received, 0) && fi_cntr_readerr(b.received) == 0);

    reach(&a, &b);
    atomics(&a, &b);
    events(fabric);
    waits(&a, &b, fabric);
    again(&a, &b, fabric, info);
    services(&b, hints);

    end(&a);
    end(&b);
    MUST(!fi_close(&fabric->fid));
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return 0;
}
