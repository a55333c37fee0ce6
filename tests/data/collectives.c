/* A rank of a program that knows libfabric's collective operations alone: collectives RANK RANKS FOLDER. Ranks find each other by
   files in the folder. It makes sets of addresses, joins groups of all, of some and in another order, and compares every operation
   with what it computes itself. With a fourth argument the last rank ends before the last group is joined. */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(what)                                                                     \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what);          \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

static int rank, ranks;
static const char *folder;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_eq *eq;
static struct fid_av *av;
static struct fid_cntr *reads;
static fi_addr_t place[64];

/* Files: one appears as a whole, and whoever needs it waits. */
static void leave(const char *name, int of, const void *bytes, size_t length) {
    char path[512], whole[512];
    snprintf(path, sizeof path, "%s/.%s-%d", folder, name, of);
    snprintf(whole, sizeof whole, "%s/%s-%d", folder, name, of);
    FILE *file = fopen(path, "w");
    MUST(file && fwrite(bytes, 1, length, file) == length && !fclose(file) && !rename(path, whole));
}

static size_t find(const char *name, int of, void *bytes, size_t room) {
    char path[512];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s-%d", folder, name, of);
    while (!(file = fopen(path, "r")))
        usleep(1000);
    size_t length = fread(bytes, 1, room, file);
    fclose(file);
    return length;
}

static void together(const char *name) {
    char byte;
    leave(name, rank, "x", 1);
    for (int of = 0; of < ranks; of++)
        MUST(find(name, of, &byte, 1) == 1);
}

static struct fid_mc *begin(struct fid_av_set *set, void *context) {
    struct fid_mc *group;
    fi_addr_t addr;
    MUST(!fi_av_set_addr(set, &addr));
    MUST(!fi_join_collective(ep, addr, set, 0, &group, context));
    return group;
}

/* The groups are joined in the order in which their ends are read: contexts are taken in any. */
static void joined(struct fid_mc *group, void *context) {
    struct fi_eq_entry entry;
    uint32_t event;
    MUST(fi_eq_sread(eq, &event, &entry, sizeof entry, 60000, 0) == sizeof entry);
    MUST(event == FI_JOIN_COMPLETE && entry.fid == &group->fid && entry.context == context);
}

static void done(void *context) {
    struct fi_cq_tagged_entry entry;
    ssize_t got;
    while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        ;
    MUST(got == 1 && entry.op_context == context && entry.flags & FI_COLLECTIVE);
}

/* What a rank gives: small whole numbers, which sum up exactly. */
static double number(int of, size_t at) { return (double)((of * 37 + at * 11) % 101) - 50; }

/* Sums, the least and the greatest of doubles and of narrow signed numbers, and bits, at the members `of`. */
static void reductions(fi_addr_t group, const int *of, int members, size_t count) {
    double *own = malloc(8 * count), *got = malloc(8 * count);
    signed char *small = malloc(count), *less = malloc(count);
    uint32_t *bits = malloc(4 * count), *ored = malloc(4 * count);
    for (size_t at = 0; at < count; at++) {
        own[at] = number(rank, at);
        small[at] = (signed char)number(rank, at);
        bits[at] = 1u << (rank + at) % 32;
    }
    MUST(!fi_allreduce(ep, own, count, NULL, got, NULL, group, FI_DOUBLE, FI_SUM, 0, got));
    done(got);
    MUST(!fi_allreduce(ep, small, count, NULL, less, NULL, group, FI_INT8, FI_MIN, 0, less));
    done(less);
    MUST(!fi_allreduce(ep, bits, count, NULL, ored, NULL, group, FI_UINT32, FI_BOR, 0, ored));
    done(ored);
    for (size_t at = 0; at < count; at++) {
        double sum = 0, least = 1000;
        uint32_t all = 0;
        for (int member = 0; member < members; member++) {
            double of_member = number(of[member], at);
            sum += of_member;
            least = of_member < least ? of_member : least;
            all |= 1u << (of[member] + at) % 32;
        }
        MUST(got[at] == sum && less[at] == (signed char)least && ored[at] == all);
    }
    for (int root = 0; root < members; root++) {
        memset(got, 0xA5, 8 * count);
        void *room = of[root] == rank ? got : NULL;
        MUST(!fi_reduce(ep, own, count, NULL, room, NULL, group, place[of[root]], FI_DOUBLE, FI_MAX, 0, own));
        done(own);
        for (size_t at = 0; at < count && of[root] == rank; at++) {
            double most = -1000;
            for (int member = 0; member < members; member++)
                most = number(of[member], at) > most ? number(of[member], at) : most;
            MUST(got[at] == most);
        }
    }
    free(own), free(got), free(small), free(less), free(bits), free(ored);
}

/* Products, and whether all, some or an odd number have another number than 0. */
static void truths(fi_addr_t group, const int *of, int members, size_t count) {
    static const enum fi_op ops[] = {FI_LAND, FI_LOR, FI_LXOR};
    double *real = malloc(8 * count), *powers = malloc(8 * count);
    uint16_t *own = malloc(2 * count), *got = malloc(2 * count);
    for (size_t at = 0; at < count; at++) {
        real[at] = (rank + at) % 3 ? 2 : -0.5;
        own[at] = (uint16_t)((rank + at) % 4 * (at % 5) * 999);
    }
    MUST(!fi_allreduce(ep, real, count, NULL, powers, NULL, group, FI_DOUBLE, FI_PROD, 0, powers));
    done(powers);
    MUST(!fi_allreduce(ep, own, count, NULL, got, NULL, group, FI_UINT16, FI_PROD, 0, got));
    done(got);
    for (size_t at = 0; at < count; at++) {
        double power = 1;
        uint32_t product = 1;
        for (int member = 0; member < members; member++) {
            power *= (of[member] + at) % 3 ? 2 : -0.5;
            product = (uint16_t)(product * (uint16_t)((of[member] + at) % 4 * (at % 5) * 999));
        }
        MUST(powers[at] == power && got[at] == product);
    }
    for (int op = 0; op < 3; op++) {
        MUST(!fi_allreduce(ep, own, count, NULL, got, NULL, group, FI_UINT16, ops[op], 0, got));
        done(got);
        for (size_t at = 0; at < count; at++) {
            int true_at = 0;
            for (int member = 0; member < members; member++)
                true_at += (uint16_t)((of[member] + at) % 4 * (at % 5) * 999) != 0;
            MUST(got[at] == (op == 0 ? true_at == members : op == 1 ? true_at > 0 : true_at % 2));
        }
    }
    free(real), free(powers), free(own), free(got);
}

/* Broadcasts from everyone, and everyone's bytes for all. */
static void copies(fi_addr_t group, const int *of, int members, size_t count) {
    unsigned char *bytes = malloc(count), *all = malloc(count * members);
    for (int root = 0; root < members; root++) {
        for (size_t at = 0; at < count; at++)
            bytes[at] = of[root] == rank ? (unsigned char)(at * 7 + root) : 0xEE;
        MUST(!fi_broadcast(ep, bytes, count, NULL, group, place[of[root]], FI_UINT8, 0, bytes));
        done(bytes);
        for (size_t at = 0; at < count; at++)
            MUST(bytes[at] == (unsigned char)(at * 7 + root));
    }
    for (size_t at = 0; at < count; at++)
        bytes[at] = (unsigned char)(at * 5 + rank);
    MUST(!fi_allgather(ep, bytes, count, NULL, all, NULL, group, FI_UINT8, 0, all));
    done(all);
    for (size_t at = 0; at < count * members; at++)
        MUST(all[at] == (unsigned char)(at % count * 5 + of[at / count]));
    /* Shares of one for each, and everyone's for one. */
    for (int root = 0; root < members; root++) {
        for (size_t at = 0; at < count * members; at++)
            all[at] = of[root] == rank ? (unsigned char)(at * 3 + root) : 0xEE;
        const void *from = of[root] == rank ? all : NULL;
        MUST(!fi_scatter(ep, from, count, NULL, bytes, NULL, group, place[of[root]], FI_UINT8, 0, bytes));
        done(bytes);
        for (size_t at = 0; at < count; at++) {
            size_t place_of = 0;
            while (of[place_of] != rank)
                place_of++;
            MUST(bytes[at] == (unsigned char)((place_of * count + at) * 3 + root));
            bytes[at] = (unsigned char)(at * 5 + rank);
        }
        void *to = of[root] == rank ? all : NULL;
        MUST(!fi_gather(ep, bytes, count, NULL, to, NULL, group, place[of[root]], FI_UINT8, 0, &all));
        done(&all);
        for (size_t at = 0; at < count * members && to; at++)
            MUST(all[at] == (unsigned char)(at % count * 5 + of[at / count]));
    }
    free(bytes), free(all);
}

/* So long that members write blocks into each other's memory: sums, products, bytes of one for all and of all for all. */
static void long_ones(fi_addr_t group, int root) {
    enum { COUNT = 20011, BYTES = 200003, SHARE = 60001 };
    uint64_t *own = malloc(8 * COUNT), *got = malloc(8 * COUNT);
    unsigned char *bytes = malloc(BYTES), *all = malloc((size_t)SHARE * ranks);
    for (uint64_t at = 0; at < COUNT; at++)
        own[at] = at * 3 + rank;
    MUST(!fi_allreduce(ep, own, COUNT, NULL, got, NULL, group, FI_UINT64, FI_SUM, 0, got));
    done(got);
    for (uint64_t at = 0; at < COUNT; at++)
        MUST(got[at] == at * 3 * ranks + ranks * (ranks - 1) / 2);
    MUST(!fi_reduce(ep, own, COUNT, NULL, rank == root ? got : NULL, NULL, group, place[root], FI_UINT64, FI_PROD, 0, own));
    done(own);
    for (uint64_t at = 0; at < COUNT && rank == root; at++) {
        uint64_t product = 1;
        for (int of = 0; of < ranks; of++)
            product *= at * 3 + of;
        MUST(got[at] == product);
    }
    for (size_t at = 0; at < BYTES; at++)
        bytes[at] = rank == root ? (unsigned char)(at * 7) : 0xEE;
    MUST(!fi_broadcast(ep, bytes, BYTES, NULL, group, place[root], FI_UINT8, 0, bytes));
    done(bytes);
    for (size_t at = 0; at < BYTES; at++)
        MUST(bytes[at] == (unsigned char)(at * 7));
    MUST(!fi_allgather(ep, bytes + rank, SHARE, NULL, all, NULL, group, FI_UINT8, 0, all));
    done(all);
    for (size_t at = 0; at < (size_t)SHARE * ranks; at++)
        MUST(all[at] == (unsigned char)((at % SHARE + at / SHARE) * 7));
    free(own), free(got), free(bytes), free(all);
}

static void barrier(fi_addr_t group) {
    MUST(!fi_barrier(ep, group, &group));
    done(&group);
}

/* Several operations at once end with their own results. */
static void many(fi_addr_t group) {
    enum { COUNT = 24 };
    uint64_t own[COUNT], got[COUNT];
    struct fi_cq_tagged_entry entry;
    int ended = 0;
    for (uint64_t at = 0; at < COUNT; at++) {
        own[at] = at * 1000 + rank;
        MUST(!fi_allreduce(ep, &own[at], 1, NULL, &got[at], NULL, group, FI_UINT64, FI_SUM, 0, &got[at]));
    }
    while (ended < COUNT) {
        ssize_t found = fi_cq_read(cq, &entry, 1);
        if (found == -FI_EAGAIN)
            continue;
        MUST(found == 1 && entry.buf == entry.op_context && entry.len == 8);
        ended++;
    }
    for (uint64_t at = 0; at < COUNT; at++)
        MUST(got[at] == at * 1000 * ranks + ranks * (ranks - 1) / 2);
}

static void refused(fi_addr_t group, struct fid_domain *domain) {
    uint64_t own = 0, got;
    struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_UINT16};
    MUST(!fi_query_collective(domain, FI_ALLREDUCE, &attr, 0));
    MUST(attr.datatype_attr.size == 2 && attr.datatype_attr.count == 1 << 19 && attr.max_members == 64);
    MUST(!fi_query_collective(domain, FI_REDUCE, &attr, 0) && !fi_query_collective(domain, FI_BROADCAST, &attr, 0));
    MUST(!fi_query_collective(domain, FI_SCATTER, &attr, 0) && !fi_query_collective(domain, FI_GATHER, &attr, 0));
    MUST(fi_query_collective(domain, FI_ALLTOALL, &attr, 0) == -FI_EOPNOTSUPP);
    MUST(fi_query_collective(domain, FI_REDUCE_SCATTER, &attr, 0) == -FI_EOPNOTSUPP);
    attr.op = FI_PROD;
    MUST(!fi_query_collective(domain, FI_ALLREDUCE, &attr, 0));
    attr.op = FI_LXOR;
    MUST(!fi_query_collective(domain, FI_ALLREDUCE, &attr, 0));
    attr.datatype = FI_DOUBLE;
    MUST(fi_query_collective(domain, FI_ALLREDUCE, &attr, 0) == -FI_EOPNOTSUPP);
    attr.op = FI_MSWAP, attr.datatype = FI_UINT16;
    MUST(fi_query_collective(domain, FI_ALLREDUCE, &attr, 0) == -FI_EOPNOTSUPP);
    attr.op = FI_NOOP, attr.datatype = FI_VOID;
    MUST(!fi_query_collective(domain, FI_BARRIER, &attr, 0));
    MUST(fi_query_collective(domain, FI_BROADCAST, &attr, 0) == -FI_EOPNOTSUPP);
    MUST(fi_allreduce(ep, &own, 1, NULL, &got, NULL, group, FI_FLOAT, FI_LAND, 0, NULL) == -FI_EOPNOTSUPP);
    MUST(fi_allreduce(ep, &own, 1, NULL, &got, NULL, group, FI_FLOAT, FI_BAND, 0, NULL) == -FI_EOPNOTSUPP);
    MUST(fi_allreduce(ep, &own, 0, NULL, &got, NULL, group, FI_UINT64, FI_SUM, 0, NULL) == -FI_EINVAL);
    MUST(fi_allreduce(ep, &own, 1 << 18, NULL, &got, NULL, group, FI_UINT64, FI_SUM, 0, NULL) == -FI_EMSGSIZE);
    MUST(fi_allreduce(ep, &own, 1, NULL, &got, NULL, group + 99, FI_UINT64, FI_SUM, 0, NULL) == -FI_EINVAL);
    MUST(fi_broadcast(ep, &own, 1, NULL, group, 63, FI_UINT64, 0, NULL) == -FI_EINVAL);
    MUST(fi_gather(ep, &own, 1 << 17, NULL, &got, NULL, group, place[0], FI_UINT64, 0, NULL) == -FI_EMSGSIZE);
    MUST(fi_reduce(ep, NULL, 1, NULL, &got, NULL, group, place[0], FI_UINT64, FI_SUM, 0, NULL) == -FI_EINVAL);
    MUST(fi_allgather(ep, &own, 1, NULL, NULL, NULL, group, FI_UINT64, 0, NULL) == -FI_EINVAL);
    MUST(fi_alltoall(ep, &own, 1, NULL, &got, NULL, group, FI_UINT64, 0, NULL) == -FI_ENOSYS);
}

/* Why a group was not joined. */
static int refusal(struct fid_mc *group, void *context) {
    struct fi_eq_err_entry error = {0};
    struct fi_eq_entry entry;
    uint32_t event;
    MUST(fi_eq_sread(eq, &event, &entry, sizeof entry, 60000, 0) == -FI_EAVAIL);
    MUST(fi_eq_readerr(eq, &error, 0) > 0 && error.context == context && error.fid == &group->fid);
    MUST(fi_barrier(ep, fi_mc_addr(group), NULL) == -FI_EINVAL && !fi_close(&group->fid));
    return error.err;
}

/* The first of a list gives up before the others have joined, or when all but the last have; then another member does; then it is
   joined after all. */
static void given_up(struct fid_av_set *all) {
    struct fid_mc *group;
    char byte;
    for (int late = 0; late < 2; late++) {
        if (rank == 0) {
            group = begin(all, &group);
            if (late) {
                for (int of = 1; of < ranks - 1; of++)
                    find("late", of, &byte, 1);
            }
            MUST(!fi_close(&group->fid));
            leave(late ? "gave-up-late" : "gave-up", 0, "x", 1);
        } else {
            if (!late || rank == ranks - 1)
                find(late ? "gave-up-late" : "gave-up", 0, &byte, 1);
            group = begin(all, &group);
            if (late)
                leave("late", rank, "x", 1);
            MUST(refusal(group, &group) == FI_EIO);
        }
    }
    if (rank == 1) {
        group = begin(all, &group);
        MUST(!fi_close(&group->fid));
        leave("gave-up", 1, "x", 1);
    } else {
        struct fi_cq_err_entry error = {0};
        struct fi_cq_tagged_entry entry;
        ssize_t got;
        find("gave-up", 1, &byte, 1);
        group = begin(all, &group);
        joined(group, &group);
        MUST(!fi_barrier(ep, fi_mc_addr(group), &group));
        while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
            ;
        MUST(got == -FI_EAVAIL && fi_cq_readerr(cq, &error, 0) == 1);
        MUST(error.op_context == &group && error.err == FI_EHOSTUNREACH && !fi_close(&group->fid));
    }
    group = begin(all, &group);
    joined(group, &group);
    barrier(fi_mc_addr(group));
    together("after");
    MUST(!fi_close(&group->fid));
}

int main(int count, char **arguments) {
    MUST(count >= 4);
    rank = atoi(arguments[1]), ranks = atoi(arguments[2]), folder = arguments[3];
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->caps = FI_MSG | FI_COLLECTIVE;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("tributary");
    MUST(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    MUST(info->caps & FI_COLLECTIVE);
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fi_eq_attr queue = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cq_attr ends = {.format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr vector = {.type = FI_AV_TABLE};
    struct fi_cntr_attr counts = {.events = FI_CNTR_EVENTS_COMP};
    MUST(!fi_fabric(info->fabric_attr, &fabric, NULL) && !fi_domain(fabric, info, &domain, NULL));
    MUST(!fi_eq_open(fabric, &queue, &eq, NULL) && !fi_cq_open(domain, &ends, &cq, NULL));
    MUST(!fi_av_open(domain, &vector, &av, NULL) && !fi_cntr_open(domain, &counts, &reads, NULL));
    MUST(!fi_endpoint(domain, info, &ep, NULL) && !fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV));
    MUST(!fi_ep_bind(ep, &av->fid, 0) && !fi_ep_bind(ep, &reads->fid, FI_READ));

    char name[64];
    size_t length = sizeof name;
    MUST(!fi_getname(&ep->fid, name, &length));
    leave("name", rank, name, length);
    for (int of = 0; of < ranks; of++) {
        length = find("name", of, name, sizeof name);
        MUST(fi_av_insert(av, name, 1, &place[of], 0, NULL) == 1);
    }

    /* Sets. */
    struct fi_av_set_attr all_of = {.start_addr = 0, .end_addr = ranks - 1, .stride = 1};
    struct fi_av_set_attr even_of = {.start_addr = 0, .end_addr = ranks - 1, .stride = 2};
    struct fi_av_set_attr none_of = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
    struct fid_av_set *all, *part, *turned;
    MUST(!fi_av_set(av, &all_of, &all, NULL) && !fi_av_set(av, &even_of, &part, NULL));
    MUST(!fi_av_set(av, &none_of, &turned, NULL));
    MUST(fi_av_set_insert(all, place[0]) == -FI_EINVAL && fi_av_set_insert(turned, 63) == -FI_EINVAL);
    for (int of = ranks - 1; of >= 0; of--)
        MUST(!fi_av_set_insert(turned, place[of]));
    MUST(!fi_av_set_remove(turned, place[0]) && fi_av_set_remove(turned, place[0]) == -FI_EINVAL);
    MUST(!fi_av_set_union(turned, all));
    int odd = rank % 2, others[64], members = 0;
    if (odd) {
        struct fid_av_set *odds;
        MUST(!fi_av_set(av, &all_of, &odds, NULL) && !fi_av_set_diff(odds, part));
        MUST(!fi_av_set_intersect(odds, odds) && !fi_close(&part->fid));
        part = odds;
    }
    for (int of = odd; of < ranks; of += 2)
        others[members++] = of;
    int everyone[64], reversed[64];
    for (int of = 0; of < ranks; of++)
        everyone[of] = of, reversed[ranks - 1 - of] = of;

    struct fid_mc *world, *half, *back, *first, *second;
    fi_addr_t nowhere = FI_ADDR_NOTAVAIL;
    MUST(fi_join_collective(ep, nowhere, all, 0, &world, NULL) == -FI_ENOEQ);
    MUST(!fi_ep_bind(ep, &eq->fid, 0) && !fi_enable(ep));
    struct fid_av_set *foreign;
    struct fi_av_set_attr other = {.start_addr = !rank, .end_addr = !rank, .stride = 1};
    MUST(!fi_av_set(av, &other, &foreign, NULL));
    MUST(fi_join_collective(ep, nowhere, foreign, 0, &world, NULL) == -FI_EINVAL && !fi_close(&foreign->fid));

    /* Nobody has joined before all have. */
    if (rank == ranks - 1)
        find("begun", 0, name, 1);
    world = begin(all, &world);
    if (rank == 0) {
        MUST(fi_barrier(ep, fi_mc_addr(world), NULL) == -FI_EOPBADSTATE);
        leave("begun", 0, "x", 1);
    }
    joined(world, &world);
    refused(fi_mc_addr(world), domain);
    barrier(fi_mc_addr(world));
    size_t counts_of[] = {1, 3, 4, 61, 1000};
    for (int at = 0; at < 5; at++) {
        reductions(fi_mc_addr(world), everyone, ranks, counts_of[at]);
        truths(fi_mc_addr(world), everyone, ranks, counts_of[at]);
        copies(fi_mc_addr(world), everyone, ranks, counts_of[at]);
    }
    many(fi_mc_addr(world));
    long_ones(fi_mc_addr(world), ranks / 2);
    /* 40 reductions for all, as many as there are members for one, 5 times all bytes, shares and gathering, 24 at once, 3 long ones. */
    MUST(fi_cntr_read(reads) == 43 + 5 * (uint64_t)ranks + 5 + 10 * (uint64_t)ranks + 24);

    /* Parts, another order with another first member, two of the same list at once. */
    half = begin(part, &half);
    joined(half, &half);
    reductions(fi_mc_addr(half), others, members, 20);
    back = begin(turned, &back);
    joined(back, &back);
    reductions(fi_mc_addr(back), reversed, ranks, 5);
    copies(fi_mc_addr(back), reversed, ranks, 5);
    first = begin(all, &first), second = begin(all, &second);
    joined(first, &first), joined(second, &second);
    uint64_t own[2] = {rank, 2 * rank}, got[2];
    MUST(!fi_allreduce(ep, &own[0], 1, NULL, &got[0], NULL, fi_mc_addr(first), FI_UINT64, FI_MAX, 0, &got[0]));
    done(&got[0]);
    MUST(!fi_allreduce(ep, &own[1], 1, NULL, &got[1], NULL, fi_mc_addr(second), FI_UINT64, FI_MAX, 0, &got[1]));
    done(&got[1]);
    MUST(got[0] == ranks - 1 && got[1] == 2 * (ranks - 1));
    together("reduced");

    /* An operation that never ends for want of the others ends with its group. */
    if (rank == 0) {
        struct fi_cq_err_entry error = {0};
        struct fi_cq_tagged_entry entry;
        MUST(!fi_barrier(ep, fi_mc_addr(second), &error));
        MUST(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
        MUST(!fi_close(&second->fid) && fi_cq_read(cq, &entry, 1) == -FI_EAVAIL);
        MUST(fi_cq_readerr(cq, &error, 0) == 1 && error.err == FI_ECANCELED && error.op_context == &error);
        leave("closed", 0, "x", 1);
    } else {
        /* A member that is gone ends the operations of the others, too. */
        find("closed", 0, name, 1);
        MUST(!fi_close(&second->fid));
    }
    given_up(all);
    MUST(!fi_close(&first->fid) && !fi_close(&half->fid) && !fi_close(&back->fid) && !fi_close(&world->fid));

    if (count > 4) {
        /* The last rank ends; whoever is the first in the list, everyone is told. */
        if (rank == ranks - 1)
            _exit(0);
        struct fid_mc *lost[] = {begin(all, &lost[0]), begin(turned, &lost[1])};
        for (int ended = 0; ended < 2; ended++) {
            struct fi_eq_err_entry error = {0};
            struct fi_eq_entry entry;
            uint32_t event;
            MUST(fi_eq_sread(eq, &event, &entry, sizeof entry, 60000, 0) == -FI_EAVAIL);
            MUST(fi_eq_readerr(eq, &error, 0) > 0);
            int at = error.context == &lost[1];
            MUST(error.context == &lost[at] && error.fid == &lost[at]->fid);
            MUST(error.err == FI_EHOSTUNREACH || error.err == FI_EIO);
            MUST(!fi_close(&lost[at]->fid));
        }
    }
    MUST(!fi_close(&all->fid) && !fi_close(&part->fid) && !fi_close(&turned->fid));
    MUST(!fi_close(&ep->fid) && !fi_close(&reads->fid) && !fi_close(&cq->fid) && !fi_close(&eq->fid));
    MUST(!fi_close(&av->fid) && !fi_close(&domain->fid) && !fi_close(&fabric->fid));
    fi_freeinfo(hints), fi_freeinfo(info);
    printf("good\n");
    return 0;
}
