/* An MPI program that knows nothing of switches. It checks every result, and counts by MPI's rules alone which of its calls are small
 * reductions, barriers and broadcasts that docs/mpi.md says go to the switches ("small"), and which are left to the library. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, counts;
static long small, others;

static void fail(const char *what, int line)
{
    fprintf(stderr, "rank %d, line %d: wrong %s\n", rank, line, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

#define EXPECT(right, what) do { if (!(right)) fail(what, __LINE__); } while (0)

/* Counts go round through those that matter: one frame, a frame and a word, all lanes, the most. */
static int next_count(void)
{
    static const int all[] = {1, 4, 5, 17, 64};
    return all[counts++ % 5];
}

#define VALUE(T, r, i) ((T)(((r) % 2 ? -1 : 1) * ((r) * 7 + (i) % 9 + ((i) + (r)) % 3 * 40)))
#define ADD(a, b) ((a) + (b))
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define BAND(a, b) ((a) & (b))
#define BOR(a, b) ((a) | (b))
#define BXOR(a, b) ((a) ^ (b))
#define LAND(a, b) ((a) != 0 && (b) != 0)
#define LOR(a, b) ((a) != 0 || (b) != 0)
#define LXOR(a, b) (((a) != 0) != ((b) != 0))

/* All-reduce, the same in place, and reduce to a root that changes. */
#define REDUCE(T, TYPE, OP, APPLY, COMM) do { \
    int me, all, n = next_count(), root; \
    T own[64], got[64], in_place[64], want[64]; \
    MPI_Comm_rank(COMM, &me); \
    MPI_Comm_size(COMM, &all); \
    for (int i = 0; i < n; i++) { \
        own[i] = in_place[i] = VALUE(T, me, i); \
        want[i] = VALUE(T, 0, i); \
        for (int r = 1; r < all; r++) \
            want[i] = (T)APPLY(want[i], VALUE(T, r, i)); \
    } \
    MPI_Allreduce(own, got, n, TYPE, OP, COMM); \
    EXPECT(!memcmp(got, want, n * sizeof(T)), "all-reduce of " #TYPE ", " #OP); \
    MPI_Allreduce(MPI_IN_PLACE, in_place, n, TYPE, OP, COMM); \
    EXPECT(!memcmp(in_place, want, n * sizeof(T)), "all-reduce in place of " #TYPE ", " #OP); \
    root = counts % all; \
    memset(got, 0x55, sizeof got); \
    memcpy(in_place, own, n * sizeof(T)); \
    if (me == root && counts % 2) { \
        MPI_Reduce(MPI_IN_PLACE, in_place, n, TYPE, OP, root, COMM); \
        memcpy(got, in_place, n * sizeof(T)); \
    } else { \
        MPI_Reduce(own, me == root ? got : NULL, n, TYPE, OP, root, COMM); \
    } \
    EXPECT(me != root || !memcmp(got, want, n * sizeof(T)), "reduce of " #TYPE ", " #OP); \
    *(all > 1 ? &small : &others) += 3; \
} while (0)

#define ARITHMETIC(T, TYPE, COMM) do { \
    REDUCE(T, TYPE, MPI_SUM, ADD, COMM); \
    REDUCE(T, TYPE, MPI_MIN, LESS, COMM); \
    REDUCE(T, TYPE, MPI_MAX, MORE, COMM); \
} while (0)
#define BITWISE(T, TYPE, COMM) do { \
    REDUCE(T, TYPE, MPI_BAND, BAND, COMM); \
    REDUCE(T, TYPE, MPI_BOR, BOR, COMM); \
    REDUCE(T, TYPE, MPI_BXOR, BXOR, COMM); \
} while (0)
/* The results of logical operations are 0 and 1, so two ranks at least must take part. */
#define LOGICAL(T, TYPE, COMM) do { \
    REDUCE(T, TYPE, MPI_LAND, LAND, COMM); \
    REDUCE(T, TYPE, MPI_LOR, LOR, COMM); \
} while (0)
#define INTEGER(T, TYPE, COMM) do { \
    ARITHMETIC(T, TYPE, COMM); \
    BITWISE(T, TYPE, COMM); \
    LOGICAL(T, TYPE, COMM); \
} while (0)

static void every_type(MPI_Comm comm)
{
    INTEGER(signed char, MPI_SIGNED_CHAR, comm);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR, comm);
    INTEGER(short, MPI_SHORT, comm);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT, comm);
    INTEGER(int, MPI_INT, comm);
    INTEGER(unsigned, MPI_UNSIGNED, comm);
    INTEGER(long, MPI_LONG, comm);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG, comm);
    INTEGER(int64_t, MPI_INT64_T, comm);
    INTEGER(uint64_t, MPI_UINT64_T, comm);
    BITWISE(unsigned char, MPI_BYTE, comm);
    ARITHMETIC(float, MPI_FLOAT, comm);
    ARITHMETIC(double, MPI_DOUBLE, comm);
}

/* Smallest and largest with their places, of which several are equal; places go down as ranks go up. */
#define PLACES(T, TYPE, COMM) do { \
    struct { T value; int at; } own[16], found[16]; \
    int me, all, n = counts++ % 2 ? 16 : 3; \
    MPI_Comm_rank(COMM, &me); \
    MPI_Comm_size(COMM, &all); \
    for (int largest = 0; largest < 2; largest++) { \
        for (int i = 0; i < n; i++) { \
            own[i].value = (T)((me + i) % 2 - 1); \
            own[i].at = 5 - 4 * me; \
        } \
        MPI_Allreduce(own, found, n, TYPE, largest ? MPI_MAXLOC : MPI_MINLOC, COMM); \
        for (int i = 0; i < n; i++) { \
            T value = (T)(i % 2 - 1); \
            int at = 5; \
            for (int r = 1; r < all; r++) { \
                T other = (T)((r + i) % 2 - 1); \
                if (other == value || (largest ? other > value : other < value)) { \
                    value = other; \
                    at = 5 - 4 * r; \
                } \
            } \
            EXPECT(found[i].value == value && found[i].at == at, "place of " #TYPE); \
        } \
        MPI_Reduce(me == all - 1 ? MPI_IN_PLACE : own, own, n, TYPE, largest ? MPI_MAXLOC : MPI_MINLOC, all - 1, COMM); \
        for (int i = 0; me == all - 1 && i < n; i++) \
            EXPECT(own[i].value == found[i].value && own[i].at == found[i].at, "place at one of " #TYPE); \
    } \
    *(all > 1 ? &small : &others) += 4; \
} while (0)

static void every_place(MPI_Comm comm)
{
    for (int turn = 0; turn < 2; turn++) {
        PLACES(float, MPI_FLOAT_INT, comm);
        PLACES(double, MPI_DOUBLE_INT, comm);
        PLACES(long, MPI_LONG_INT, comm);
        PLACES(int, MPI_2INT, comm);
    }
    /* Zeros are equal whatever their sign. */
    struct { double value; int at; } own = {rank % 2 ? -0.0 : 0.0, 10 - rank}, found;
    MPI_Allreduce(&own, &found, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    EXPECT(found.value == 0.0 && found.at == 11 - ranks, "place of zeros");
    small++;
}

static void broadcasts(MPI_Comm comm)
{
    static const int sizes[] = {1, 8, 33, 256, 257, 5000};
    int me, all;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    for (int at = 0; at < 6; at++) {
        char bytes[5000];
        int root = at % all;
        for (int i = 0; i < sizes[at]; i++)
            bytes[i] = me == root ? i * 5 + at : 0;
        MPI_Bcast(bytes, sizes[at], MPI_CHAR, root, comm);
        for (int i = 0; i < sizes[at]; i++)
            EXPECT(bytes[i] == (char)(i * 5 + at), "broadcast");
        *(sizes[at] <= 256 && all > 1 ? &small : &others) += 1;
    }
    /* The root sends integers, the others receive every second place of a vector. */
    int numbers[8] = {0};
    MPI_Datatype spread;
    MPI_Type_vector(4, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    if (me == 0) {
        for (int i = 0; i < 4; i++)
            numbers[i] = 100 + i;
        MPI_Bcast(numbers, 4, MPI_INT, 0, comm);
    } else {
        MPI_Bcast(numbers, 1, spread, 0, comm);
        for (int i = 0; i < 4; i++)
            EXPECT(numbers[2 * i] == 100 + i && numbers[2 * i + 1] == 0, "broadcast of another type");
    }
    MPI_Type_free(&spread);
    /* The root sends what it has packed. */
    char packed[64];
    int end = 0;
    if (me == 0) {
        MPI_Pack(numbers, 4, MPI_INT, packed, sizeof packed, &end, comm);
        MPI_Bcast(packed, end, MPI_PACKED, 0, comm);
    } else {
        memset(numbers, 0, sizeof numbers);
        MPI_Bcast(numbers, 4, MPI_INT, 0, comm);
        for (int i = 0; i < 4; i++)
            EXPECT(numbers[i] == 100 + i, "broadcast of packed numbers");
    }
    *(all > 1 ? &small : &others) += 2;
}

static void barrier(MPI_Comm comm)
{
    int all;
    MPI_Barrier(comm);
    MPI_Comm_size(comm, &all);
    *(all > 1 ? &small : &others) += 1;
}

static void parts(void)
{
    MPI_Comm half, again, backwards, alone;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    REDUCE(int, MPI_INT, MPI_SUM, ADD, half);
    barrier(half);
    MPI_Comm_dup(half, &again);
    REDUCE(double, MPI_DOUBLE, MPI_MAX, MORE, again);
    MPI_Comm_free(&half);
    REDUCE(long, MPI_LONG, MPI_SUM, ADD, again);
    MPI_Comm_free(&again);
    /* The tree's root is another rank. */
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    REDUCE(int, MPI_INT, MPI_SUM, ADD, backwards);
    broadcasts(backwards);
    MPI_Comm_free(&backwards);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    REDUCE(int, MPI_INT, MPI_SUM, ADD, alone);
    MPI_Comm_free(&alone);
    for (int turn = 0; turn < 5; turn++) {
        MPI_Comm short_lived;
        MPI_Comm_dup(MPI_COMM_WORLD, &short_lived);
        barrier(short_lived);
        MPI_Comm_free(&short_lived);
    }
}

/* Messages under way during reductions; reductions of the library under way, which it must go on with. */
static void mixtures(void)
{
    enum { LONG = 1 << 18 };
    int after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, one = 1, sum = 0;
    char *out = malloc(LONG), *in = malloc(LONG);
    memset(out, rank + 1, LONG);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Request requests[2], reduction;
        memset(in, 0, LONG);
        MPI_Isend(out, LONG, MPI_CHAR, after, turn, MPI_COMM_WORLD, &requests[0]);
        REDUCE(int, MPI_INT, MPI_SUM, ADD, MPI_COMM_WORLD);
        MPI_Irecv(in, LONG, MPI_CHAR, before, turn, MPI_COMM_WORLD, &requests[1]);
        barrier(MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(in[0] == before + 1 && in[LONG - 1] == before + 1, "message beside reductions");
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reduction);
        if (rank % 2)
            MPI_Wait(&reduction, MPI_STATUS_IGNORE);
        barrier(MPI_COMM_WORLD);
        if (rank % 2 == 0)
            MPI_Wait(&reduction, MPI_STATUS_IGNORE);
        EXPECT(sum == ranks, "all-reduce that nobody waits for");
        small++;
        /* A rank that is late. */
        if (rank == turn % ranks)
            for (volatile long busy = 0; busy < 30000000; busy++)
                ;
        REDUCE(double, MPI_DOUBLE, MPI_SUM, ADD, MPI_COMM_WORLD);
    }
    free(out);
    free(in);
}

static void largest(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
}

/* What switches cannot do. */
static void left_to_the_library(void)
{
    double many[65], sums[65];
    int own = rank + 1, product = 1, want = 1, most = 0;
    struct { short value; int at; } place = {rank == 1 ? -5 : rank, rank}, found;
    MPI_Op op;
    for (int i = 0; i < 65; i++)
        many[i] = i;
    MPI_Allreduce(many, sums, 65, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sums[64] == 64.0 * ranks, "long sum");
    MPI_Allreduce(&own, &product, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    for (int r = 1; r <= ranks; r++)
        want *= r;
    EXPECT(product == want, "product");
    MPI_Allreduce(&place, &found, 1, MPI_SHORT_INT, MPI_MINLOC, MPI_COMM_WORLD);
    EXPECT(found.value == -5 && found.at == 1, "smallest and its place");
    MPI_Op_create(largest, 1, &op);
    MPI_Allreduce(&own, &most, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    EXPECT(most == ranks, "an operation of the program");
    MPI_Allreduce(&own, &most, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
    others += 6;
    /* Between two groups. */
    MPI_Comm half, between;
    int got = 0, sum = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &between);
    MPI_Allreduce(&own, &got, 1, MPI_INT, MPI_SUM, between);
    MPI_Barrier(between);
    others += 2;
    for (int r = 1 - rank % 2; r < ranks; r += 2)
        sum += r + 1;
    EXPECT(got == sum, "sum of the other group");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

/* The same numbers, each time at other ranks: their exact sum is 2, their plain sum depends on the order. */
static void print_sum(void)
{
    static const double numbers[] = {1e16, 1.0, -1e16, 1.0};
    double first = 0;
    for (int turn = 0; turn < ranks; turn++) {
        int at = (rank * 3 + turn) % ranks;
        double own = at < 4 ? numbers[at] : 0.0, sum;
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        small++;
        if (turn == 0)
            first = sum;
        EXPECT(!memcmp(&sum, &first, sizeof sum), "sum in another order");
    }
    if (rank == 0)
        printf("sum %a\n", first);
}

/* More communicators than a card has queue pairs: those that are too many are left to the library, by all ranks alike. */
static void many(void)
{
    enum { MANY = 80 };
    MPI_Comm all[MANY];
    for (int at = 0; at < MANY; at++) {
        int one = at + rank, sum = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &all[at]);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all[at]);
        EXPECT(sum == at * ranks + ranks * (ranks - 1) / 2, "sum in one of many");
    }
    for (int at = MANY - 1; at >= 0; at--)
        MPI_Comm_free(&all[at]);
    small += MANY;
}

#include "nonblocking.h"

/* Two threads, each with a communicator of its own. */
static void *half_of_it(void *comm)
{
    for (int turn = 0; turn < 50; turn++) {
        int one = turn + rank, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm);
        EXPECT(sum == turn * ranks + ranks * (ranks - 1) / 2, "sum of a thread");
    }
    return NULL;
}

static void threads(void *(*half)(void *), int calls)
{
    MPI_Comm mine[2];
    pthread_t other;
    for (int at = 0; at < 2; at++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &mine[at]);
        barrier(mine[at]);
    }
    pthread_create(&other, NULL, half, &mine[0]);
    half(&mine[1]);
    pthread_join(other, NULL);
    for (int at = 0; at < 2; at++)
        MPI_Comm_free(&mine[at]);
    small += calls;
}

/* With ranks in Fortran: as `mixed` in reductions.F90, call by call. */
static void mixed(void)
{
    for (int turn = 0; turn < 20; turn++) {
        int own[5], sums[5], numbers[12] = {0}, many[65], totals[65], root = turn % ranks;
        double one = rank + 0.5 * turn, most;
        for (int i = 0; i < 5; i++)
            own[i] = rank * 3 + turn + i;
        MPI_Allreduce(own, sums, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < 5; i++)
            EXPECT(sums[i] == ranks * (turn + i) + 3 * ranks * (ranks - 1) / 2, "sum of both languages");
        MPI_Reduce(&one, &most, 1, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        EXPECT(rank != root || most == ranks - 1 + 0.5 * turn, "largest of both languages");
        if (rank == root)
            for (int i = 0; i < 12; i++)
                numbers[i] = turn * (i + 1);
        MPI_Bcast(numbers, 12, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < 12; i++)
            EXPECT(numbers[i] == turn * (i + 1), "broadcast to both languages");
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 65; i++)
            many[i] = turn;
        MPI_Allreduce(many, totals, 65, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(totals[64] == turn * ranks, "long sum of both languages");
        small += 4;
        others++;
    }
}

/* One rank writes to a window of another, which waits in the switches: its library must work meanwhile. */
static void window(void)
{
    long word = -1, value = 4711;
    int target = ranks - 1;
    MPI_Win win;
    MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(target, win);
    }
    barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    EXPECT(word == (rank == target ? 4711 : -1), "word of a window");
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

/* Functions whose counts are MPI_Count, of which libraries before MPI 4 have none. */
static void large_forms(void)
{
#if MPI_VERSION >= 4
    enum { LONG = 100 };
    long own[LONG], got[LONG], word[3], all = ranks * (ranks + 1) / 2;
    MPI_Request requests[3];
    for (int i = 0; i < LONG; i++)
        own[i] = rank + 1 + i;
    MPI_Allreduce_c(own, got, (MPI_Count)2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(got[0] == all && got[1] == all + ranks, "large all-reduce");
    MPI_Reduce_c(own, got, (MPI_Count)1, MPI_LONG, MPI_MAX, ranks - 1, MPI_COMM_WORLD);
    EXPECT(rank != ranks - 1 || got[0] == ranks, "large reduce");
    word[0] = rank ? 0 : 77;
    MPI_Bcast_c(word, (MPI_Count)1, MPI_LONG, 0, MPI_COMM_WORLD);
    EXPECT(word[0] == 77, "large broadcast");
    word[2] = rank == 1 ? 55 : 0;
    MPI_Iallreduce_c(own, &word[0], (MPI_Count)1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ireduce_c(own, &word[1], (MPI_Count)1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibcast_c(&word[2], (MPI_Count)1, MPI_LONG, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    EXPECT(word[0] == all && (rank || word[1] == all) && word[2] == 55, "large non-blocking calls");
    small += 6;
    MPI_Allreduce_c(own, got, (MPI_Count)LONG, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(got[LONG - 1] == all + ranks * (LONG - 1), "large all-reduce of many");
    others++;
#else
    fail("version of MPI", __LINE__);
#endif
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "all";
    int level;
    MPI_Init_thread(&count, &arguments, strstr(what, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    barrier(MPI_COMM_WORLD);
    if (!strcmp(what, "all")) {
        every_type(MPI_COMM_WORLD);
        every_place(MPI_COMM_WORLD);
        broadcasts(MPI_COMM_WORLD);
        parts();
        mixtures();
        window();
        left_to_the_library();
    } else if (!strcmp(what, "some")) {
        INTEGER(int, MPI_INT, MPI_COMM_WORLD);
        broadcasts(MPI_COMM_WORLD);
        parts();
        mixtures();
    } else if (!strcmp(what, "sum")) {
        print_sum();
    } else if (!strcmp(what, "large")) {
        large_forms();
    } else if (!strcmp(what, "mixed")) {
        mixed();
    } else if (!strcmp(what, "many")) {
        many();
    } else if (!strcmp(what, "threads") && level == MPI_THREAD_MULTIPLE) {
        threads(half_of_it, 100);
    } else if (!strcmp(what, "nonblocking-threads") && level == MPI_THREAD_MULTIPLE) {
        threads(half_without_blocking, 200);
    } else if (!strcmp(what, "nonblocking")) {
        nonblocking();
    } else if (!strcmp(what, "stop-nonblocking")) {
        MPI_Request request;
        if (rank == 1)
            raise(SIGSTOP);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "stop")) {
        REDUCE(int, MPI_INT, MPI_SUM, ADD, MPI_COMM_WORLD);
        if (rank == 1)
            raise(SIGSTOP);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "die")) {
        REDUCE(int, MPI_INT, MPI_SUM, ADD, MPI_COMM_WORLD);
        if (rank == 1)
            raise(SIGKILL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    long own[2] = {small, others}, all[2];
    PMPI_Reduce(own, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("small %ld others %ld\n", all[0], all[1]);
    MPI_Finalize();
    return 0;
}
