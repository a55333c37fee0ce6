/* A part of reductions.c: non-blocking calls, checked and counted as its others are. */
/* Waits for all, each rank in a way of its own. */
static void wait_for(MPI_Request *requests, int count, int way)
{
    MPI_Status status;
    int done, at;
    switch (way % 5) {
    case 0:
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        for (at = count - 1; at >= 0; at--)
            MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
        break;
    case 2:
        for (done = 0; !done;)
            MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        break;
    case 3:
        for (int left = count; left > 0; left--) {
            MPI_Waitany(count, requests, &at, &status);
            MPI_Test_cancelled(&status, &done);
            EXPECT(at >= 0 && at < count && !done, "end of one of many");
        }
        break;
    default:
        for (at = 0; at < count; at++) {
            for (done = 0; !done;)
                MPI_Request_get_status(requests[at], &done, MPI_STATUS_IGNORE);
            for (done = 0; !done;)
                MPI_Test(&requests[at], &done, MPI_STATUS_IGNORE);
        }
    }
    for (at = 0; at < count; at++)
        EXPECT(requests[at] == MPI_REQUEST_NULL, "request that has ended");
}

/* Several under way at once, one that blocks among them, one of the library. */
static void several(MPI_Comm comm, int turn)
{
    enum { MANY = 9 };
    int me, all, root, own[5], sums[5], again[5], numbers[8] = {0}, blocking = 0, every[8];
    char text[40] = "";
    double one, most = 0, longer[65], longest[65];
    MPI_Request requests[MANY];
    MPI_Datatype spread;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    root = turn % all;
    for (int i = 0; i < 5; i++)
        own[i] = again[i] = me * 3 + turn + i;
    MPI_Iallreduce(own, sums, 5, MPI_INT, MPI_SUM, comm, &requests[0]);
    if (me == root)
        strcpy(text, "from one to all");
    MPI_Ibcast(text, 40, MPI_CHAR, root, comm, &requests[1]);
    one = me + turn;
    MPI_Ireduce(&one, me == root ? &most : NULL, 1, MPI_DOUBLE, MPI_MAX, root, comm, &requests[2]);
    /* The type is gone before the elements come. */
    MPI_Type_vector(4, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    if (me == root)
        for (int i = 0; i < 8; i++)
            numbers[i] = 100 + i + turn;
    MPI_Ibcast(numbers, 1, spread, root, comm, &requests[3]);
    MPI_Type_free(&spread);
    MPI_Allreduce(&turn, &blocking, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(blocking == turn * all, "sum that waits behind others");
    MPI_Iallgather(&me, 1, MPI_INT, every, 1, MPI_INT, comm, &requests[4]);
    MPI_Iallreduce(MPI_IN_PLACE, again, 5, MPI_INT, MPI_SUM, comm, &requests[5]);
    MPI_Ibarrier(comm, &requests[6]);
    for (int i = 0; i < 65; i++)
        longer[i] = i;
    MPI_Iallreduce(longer, longest, 65, MPI_DOUBLE, MPI_SUM, comm, &requests[7]);
    MPI_Ibarrier(comm, &requests[8]);
    if (turn % 3 == me % 3)
        for (volatile long busy = 0; busy < 3000000; busy++)
            ;
    wait_for(requests, MANY, me + turn);
    for (int i = 0; i < 5; i++) {
        int want = all * (turn + i) + 3 * all * (all - 1) / 2;
        EXPECT(sums[i] == want && again[i] == want, "non-blocking all-reduce");
    }
    EXPECT(!strcmp(text, "from one to all"), "non-blocking broadcast");
    EXPECT(me != root || most == all - 1 + turn, "non-blocking reduce");
    for (int i = 0; i < 8; i++)
        EXPECT(numbers[i] == (me == root || i % 2 == 0 ? 100 + i + turn : 0), "non-blocking broadcast of another type");
    for (int r = 0; r < all; r++)
        EXPECT(every[r] == r, "the library's own meanwhile");
    EXPECT(longest[64] == 64.0 * all, "non-blocking long sum");
    /* Of nine calls that are counted, the long sum is the library's; so is the one that gathers, which is not. */
    small += 8;
    others++;
}

static void nonblocking(void)
{
    enum { MANY = 40 };
    int sums[MANY], own[MANY];
    MPI_Comm comm;
    MPI_Request request, requests[MANY];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Before any call that waits, nobody may wait to make a group. */
    own[0] = 1;
    MPI_Iallreduce(own, sums, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sums[0] == ranks, "first of a communicator");
    others++;
    barrier(comm);
    for (int turn = 0; turn < 10; turn++)
        several(turn % 2 ? comm : MPI_COMM_WORLD, turn);
    /* The first rank begins alone, and goes on. */
    int token = rank == 0;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(comm, &request);
    if (rank + 1 < ranks)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(token == 1, "token");
    small++;
    /* The communicator is gone before they end, which Open MPI 4.1.4's own do not survive. */
    for (int at = 0; at < MANY; at++) {
        own[at] = rank + at;
        MPI_Iallreduce(&own[at], &sums[at], 1, MPI_INT, MPI_SUM, comm, &requests[at]);
    }
    MPI_Comm_free(&comm);
    wait_for(requests, MANY, rank);
    for (int at = 0; at < MANY; at++)
        EXPECT(sums[at] == at * ranks + ranks * (ranks - 1) / 2, "one of many sums");
    small += MANY;
}

/* Two threads, each with a communicator of its own and two operations under way. */
static void *half_without_blocking(void *comm)
{
    for (int turn = 0; turn < 50; turn++) {
        int own[2] = {turn + rank, turn - rank}, sums[2] = {0};
        MPI_Request requests[2];
        for (int at = 0; at < 2; at++)
            MPI_Iallreduce(&own[at], &sums[at], 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm, &requests[at]);
        wait_for(requests, 2, turn + rank);
        EXPECT(sums[0] == turn * ranks + ranks * (ranks - 1) / 2, "sum of a thread");
        EXPECT(sums[1] == turn * ranks - ranks * (ranks - 1) / 2, "other sum of a thread");
    }
    return NULL;
}
