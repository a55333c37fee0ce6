/* A rank of a program with long messages: long RANK RANKS FOLDER exchange|sender|receiver [SEED]. Ranks find each other by files in
   the folder. All send long messages to all before they receive, looks at and claims among them, and read and write each other's
   memory. In the other modes the last rank is killed while it sends to, or receives from, rank 0, which must be told. */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MUST(what)                                                                     \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "rank %d, seed %lu, line %d: %s\n", rank, seed, __LINE__, #what); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#define EACH 6
#define WHOLE ((size_t)3 << 20)
#define DEADLY ((size_t)192 << 20)

static int rank, ranks;
static unsigned long seed = 1;
static const char *folder;
static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_av *av;
static fi_addr_t place[64];

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

/* The same numbers at all ranks. */
static unsigned long mix(unsigned long of) {
    of ^= seed * 0x9E3779B97F4A7C15ul;
    of = (of ^ of >> 30) * 0xBF58476D1CE4E5B9ul;
    of = (of ^ of >> 27) * 0x94D049BB133111EBul;
    return of ^ of >> 31;
}

static size_t length_of(int from, int to, int number) {
    static const size_t edges[] = {0, 1, 16384, 16385, 131071, 131072, 131073, 262144, 262145};
    unsigned long of = mix(1000000ul * from + 1000 * to + number);
    return of % 3 ? edges[of / 3 % 9] : of / 3 % WHOLE;
}

static unsigned char byte_of(int from, int to, int number, size_t at) {
    return (unsigned char)(at * 31 ^ at >> 9 ^ (from * 64 + to * 8 + number) * 5);
}

static void fill(unsigned char *memory, size_t length, int from, int to, int number) {
    for (size_t at = 0; at < length; at++)
        memory[at] = byte_of(from, to, number, at);
}

static void check(const unsigned char *memory, size_t length, int from, int to, int number) {
    for (size_t at = 0; at < length; at++)
        MUST(memory[at] == byte_of(from, to, number, at));
}

/* The next end; how it ended. */
static int one(struct fi_cq_tagged_entry *entry, struct fi_cq_err_entry *error) {
    for (;;) {
        ssize_t got = fi_cq_read(cq, entry, 1);
        if (got == 1)
            return 0;
        if (got == -FI_EAVAIL) {
            memset(error, 0, sizeof *error);
            MUST(fi_cq_readerr(cq, error, 0) == 1);
            return error->err;
        }
        MUST(got == -FI_EAGAIN);
    }
}

/* What has ended so far. */
static int sent, received, cut;

/* Takes an end of a message. */
static void count_one(const struct fi_cq_tagged_entry *entry, int failed) {
    if (failed) {
        MUST(failed == FI_ETRUNC);
        cut++;
    } else
        *(entry->flags & FI_RECV ? &received : &sent) += 1;
}

static void send(const void *memory, size_t length, int to, unsigned long tag, void *context) {
    ssize_t sent;
    struct fi_cq_tagged_entry entry;
    while ((sent = fi_tsend(ep, memory, length, NULL, place[to], tag, context)) == -FI_EAGAIN)
        MUST(fi_cq_read(cq, &entry, 0) <= 0);
    MUST(sent == 0);
}

static void exchange(void) {
    static struct fi_context contexts[64];
    unsigned char *out[64][EACH], *in[64][EACH];
    for (int to = 0; to < ranks; to++)
        for (int number = 0; number < EACH; number++) {
            size_t length = length_of(rank, to, number);
            fill(out[to][number] = malloc(length + 1), length, rank, to, number);
            send(out[to][number], length, to, 100 * rank + number, &out[to][number]);
        }
    together("sent");
    /* The first of each is looked at and claimed. */
    for (int from = 0; from < ranks; from++) {
        struct fi_msg_tagged look = {.addr = place[from], .tag = 100 * from, .context = &contexts[from]};
        struct fi_cq_tagged_entry entry;
        struct fi_cq_err_entry error;
        size_t length = length_of(from, rank, 0);
        for (int found = 0; !found;) {
            MUST(!fi_trecvmsg(ep, &look, FI_PEEK | FI_CLAIM));
            for (int looked = 0; !looked;) {
                int failed = one(&entry, &error);
                void *context_of = failed ? error.op_context : entry.op_context;
                if (context_of != &contexts[from]) {
                    count_one(&entry, failed);
                    continue;
                }
                looked = 1, found = !failed;
                MUST(failed ? failed == FI_ENOMSG : entry.len == length);
            }
        }
        struct iovec memory = {.iov_base = in[from][0] = malloc(length + 1), .iov_len = length};
        look.msg_iov = &memory, look.iov_count = 1;
        MUST(!fi_trecvmsg(ep, &look, FI_CLAIM));
        /* In the other order than they were sent; the last one is cut. */
        for (int number = EACH - 1; number > 0; number--) {
            length = length_of(from, rank, number);
            length -= number == EACH - 1 ? length / 3 : 0;
            in[from][number] = malloc(length + 1);
            in[from][number][length] = 0xEE;
            MUST(!fi_trecv(ep, in[from][number], length, NULL, place[from], 100 * from + number, 0, in[from][number]));
        }
    }
    int to_cut = 0;
    for (int from = 0; from < ranks; from++)
        to_cut += length_of(from, rank, EACH - 1) / 3 > 0;
    while (sent + received + cut < 2 * ranks * EACH) {
        struct fi_cq_tagged_entry entry;
        struct fi_cq_err_entry error;
        int failed = one(&entry, &error);
        count_one(&entry, failed);
    }
    MUST(sent == ranks * EACH && cut == to_cut);
    for (int from = 0; from < ranks; from++)
        for (int number = 0; number < EACH; number++) {
            size_t length = length_of(from, rank, number);
            length -= number == EACH - 1 ? length / 3 : 0;
            check(in[from][number], length, from, rank, number);
            MUST(number == 0 || in[from][number][length] == 0xEE);
            free(in[from][number]);
        }
    together("received");
}

/* Everyone writes to its share of everyone's memory, and reads it back. */
static void memory_of_peers(void) {
    struct fid_mr *mr;
    unsigned char *here = calloc(ranks, WHOLE), *out = malloc(WHOLE), *back = malloc(WHOLE);
    MUST(!fi_mr_reg(domain, here, ranks * WHOLE, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
    together("open");
    struct fi_cq_tagged_entry entry;
    for (int to = 0; to < ranks; to++) {
        size_t length = WHOLE - 1 - mix(to) % 70000;
        fill(out, length, rank, to, 7);
        while (fi_write(ep, out, length, NULL, place[to], rank * WHOLE + 1, 7, out) == -FI_EAGAIN)
            MUST(fi_cq_read(cq, &entry, 0) <= 0);
        for (entry.op_context = NULL; entry.op_context != out;)
            MUST(fi_cq_sread(cq, &entry, 1, NULL, 60000) == 1);
        MUST(!fi_read(ep, back, length, NULL, place[to], rank * WHOLE + 1, 7, back));
        while (entry.op_context != back)
            MUST(fi_cq_sread(cq, &entry, 1, NULL, 60000) == 1);
        check(back, length, rank, to, 7);
    }
    together("written");
    for (int from = 0; from < ranks; from++)
        check(here + from * WHOLE + 1, WHOLE - 1 - mix(rank) % 70000, from, rank, 7);
    together("checked");
    MUST(!fi_close(&mr->fid));
}

/* The last rank is killed in the middle. The first is told who it was, and then has nothing less than before. */
static void death(int sends) {
    int last = ranks - 1;
    unsigned char *memory = calloc(1, DEADLY);
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    if (rank == last || rank == 0) {
        int sender = (rank == last) == sends;
        if (sender)
            send(memory, DEADLY, rank ? 0 : last, 5, memory);
        else
            MUST(!fi_trecv(ep, memory, DEADLY, NULL, place[rank ? 0 : last], 5, 0, memory));
    }
    if (rank == last) {
        find("told", 0, &entry, 1);
        for (int looks = 0; looks < 200; looks++) {
            MUST(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
            usleep(200);
        }
        raise(SIGKILL);
    }
    if (rank == 0) {
        time_t start = time(NULL);
        leave("told", 0, "x", 1);
        MUST(one(&entry, &error) == FI_EHOSTUNREACH);
        MUST(error.op_context == memory && time(NULL) - start < 60);
        char text[100], named[20];
        fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof text);
        snprintf(named, sizeof named, "place %d ", last);
        MUST(strstr(text, named));
    }
    ranks--;
    together("over");
    exchange();
}

int main(int count, char **arguments) {
    MUST(count >= 5);
    rank = atoi(arguments[1]), ranks = atoi(arguments[2]), folder = arguments[3];
    seed = count > 5 ? strtoul(arguments[5], NULL, 0) : 1;
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->caps = FI_TAGGED | FI_MSG | FI_RMA | FI_DIRECTED_RECV;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("tributary");
    MUST(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    struct fid_fabric *fabric;
    struct fi_cq_attr ends = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
    struct fi_av_attr vector = {.type = FI_AV_TABLE};
    MUST(!fi_fabric(info->fabric_attr, &fabric, NULL) && !fi_domain(fabric, info, &domain, NULL));
    MUST(!fi_cq_open(domain, &ends, &cq, NULL) && !fi_av_open(domain, &vector, &av, NULL));
    MUST(!fi_endpoint(domain, info, &ep, NULL) && !fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV));
    MUST(!fi_ep_bind(ep, &av->fid, 0) && !fi_enable(ep));
    char name[64];
    size_t length = sizeof name;
    MUST(!fi_getname(&ep->fid, name, &length));
    leave("name", rank, name, length);
    for (int of = 0; of < ranks; of++) {
        length = find("name", of, name, sizeof name);
        MUST(fi_av_insert(av, name, 1, &place[of], 0, NULL) == 1);
    }
    if (!strcmp(arguments[4], "exchange")) {
        exchange();
        memory_of_peers();
    } else
        death(!strcmp(arguments[4], "sender"));
    MUST(!fi_close(&ep->fid));
    return 0;
}
