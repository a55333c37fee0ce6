/* Four hosts on one switch reduce in it. Then one goes, and the others are told which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tributary.h"

#define HOSTS 4

static const char FABRIC[] =
    "[[switch]]\nname = \"s\"\nports = 4\n"
    "[[endpoint]]\nname = \"a\"\n[[endpoint]]\nname = \"b\"\n[[endpoint]]\nname = \"c\"\n[[endpoint]]\nname = \"d\"\n"
    "[[cable]]\nends = [\"s.0\", \"a\"]\n[[cable]]\nends = [\"s.1\", \"b\"]\n"
    "[[cable]]\nends = [\"s.2\", \"c\"]\n[[cable]]\nends = [\"s.3\", \"d\"]\n";

static void check(int result)
{
    if (result < 0) {
        fprintf(stderr, "%s\n", tributary_error());
        exit(1);
    }
}

static void expect(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(1);
    }
}

/* Polls all members until each but `without` has ended an operation; who has, still passes on what others wait for. */
static void run(tributary_communicator **all, int without, tributary_result *results)
{
    int left = without < 0 ? HOSTS : HOSTS - 1;
    while (left > 0) {
        for (int rank = 0; rank < HOSTS; rank++) {
            if (rank == without)
                continue;
            tributary_result ended;
            int found = tributary_communicator_poll(all[rank], &ended);
            check(found);
            if (found) {
                results[rank] = ended;
                left--;
            }
        }
    }
}

int main(void)
{
    tributary_device *devices[HOSTS];
    tributary_card *cards[HOSTS];
    tributary_host *hosts[HOSTS];
    tributary_address members[HOSTS];
    tributary_communicator *all[HOSTS];
    tributary_result results[HOSTS];
    tributary_trees *trees;
    uint16_t count;
    check(tributary_sim_fabric(FABRIC, 1, HOSTS, devices, &count, &trees));
    expect(count == HOSTS, "number of cards");

    tributary_endpoint_config config;
    tributary_endpoint_defaults(&config);
    for (int i = 0; i < HOSTS; i++) {
        check(tributary_open(devices[i], (uint32_t)i, 1024, &cards[i]));
        check(tributary_host_new(cards[i], &config, 7, &hosts[i]));
        members[i] = tributary_host_address(hosts[i]);
    }
    tributary_communicator_options options;
    tributary_communicator_defaults(&options);
    options.ask_after_ns = 500000;
    options.questions = 4;
    for (int i = 0; i < HOSTS; i++)
        check(tributary_communicator_create(hosts[i], 1, members, HOSTS, trees, &options, &all[i]));

    /* 1e16 + 1 - 1e16 + 1, whose plain sum depends on the order. */
    const double numbers[HOSTS] = {1e16, 1.0, -1e16, 1.0};
    for (int i = 0; i < HOSTS; i++)
        check(tributary_post_all_reduce(all[i], TRIBUTARY_SUM_REPRODUCIBLE, TRIBUTARY_F64, &numbers[i], 1, NULL));
    run(all, -1, results);
    for (int i = 0; i < HOSTS; i++) {
        expect(results[i].why == 0 && results[i].count == 1, "outcome of the sum");
        expect(*(double *)results[i].payload == 2.0, "reproducible sum");
        tributary_result_free(&results[i]);
    }

    for (int i = 0; i < HOSTS; i++) {
        tributary_i64_extremes own = {10 - i, (uint64_t)i, i % 2, (uint64_t)i};
        check(tributary_post_all_reduce(all[i], TRIBUTARY_MINMAXLOC, TRIBUTARY_I64_EXTREMES, &own, 1, NULL));
    }
    run(all, -1, results);
    for (int i = 0; i < HOSTS; i++) {
        const tributary_i64_extremes *found = results[i].payload;
        expect(found->min == 7 && found->min_at == 3, "smallest");
        expect(found->max == 1 && found->max_at == 1, "largest, the lower place of two");
        tributary_result_free(&results[i]);
    }

    for (int i = 0; i < HOSTS; i++) {
        char text[6] = "other";
        if (i == 3)
            memcpy(text, "hello", sizeof text);
        check(tributary_post_broadcast(all[i], 3, text, sizeof text, NULL));
    }
    run(all, -1, results);
    for (int i = 0; i < HOSTS; i++) {
        expect(results[i].count == 6 && strcmp(results[i].payload, "hello") == 0, "broadcast");
        tributary_result_free(&results[i]);
    }

    /* So long that members write blocks into each other's memory. */
    static unsigned char bytes[HOSTS][70000];
    for (int i = 0; i < HOSTS; i++) {
        for (size_t at = 0; at < sizeof bytes[i]; at++)
            bytes[i][at] = i == 1 ? (unsigned char)(at * 7) : 0xEE;
        check(tributary_post_broadcast(all[i], 1, bytes[i], sizeof bytes[i], NULL));
    }
    run(all, -1, results);
    for (int i = 0; i < HOSTS; i++) {
        expect(results[i].why == 0 && results[i].count == sizeof bytes[1], "long broadcast");
        expect(memcmp(results[i].payload, bytes[1], sizeof bytes[1]) == 0, "bytes of the long broadcast");
        tributary_result_free(&results[i]);
    }

    /* 2 * -3 * 4 * 5, by messages; and whether all, some, and an odd number have something, in the switches. */
    const int64_t factors[HOSTS] = {2, -3, 4, 5}, some[HOSTS] = {7, 0, -1, 8};
    const int64_t logical[][2] = {{TRIBUTARY_LOGICAL_AND, 0}, {TRIBUTARY_LOGICAL_OR, 1}, {TRIBUTARY_LOGICAL_XOR, 1}};
    for (int i = 0; i < HOSTS; i++)
        check(tributary_post_all_reduce(all[i], TRIBUTARY_PRODUCT, TRIBUTARY_I64, &factors[i], 1, NULL));
    run(all, -1, results);
    for (int i = 0; i < HOSTS; i++) {
        expect(results[i].why == 0 && *(int64_t *)results[i].payload == -120, "product");
        tributary_result_free(&results[i]);
    }
    for (int of = 0; of < 3; of++) {
        for (int i = 0; i < HOSTS; i++)
            check(tributary_post_all_reduce(all[i], (uint8_t)logical[of][0], TRIBUTARY_I64, &some[i], 1, NULL));
        run(all, -1, results);
        for (int i = 0; i < HOSTS; i++) {
            expect(results[i].why == 0 && *(int64_t *)results[i].payload == logical[of][1], "truth");
            tributary_result_free(&results[i]);
        }
    }

    tributary_collective_counters counters;
    uint32_t size;
    uint8_t path;
    check(tributary_communicator_query(all[0], NULL, &size, &path));
    check(tributary_communicator_counters(all[0], &counters));
    expect(path == 3 && counters.in_software == 1 && counters.in_blocks == 1, "way of the operations");
    expect(tributary_post_all_reduce(all[0], TRIBUTARY_AND, TRIBUTARY_F64, numbers, 1, NULL) == -1, "and of doubles");
    expect(tributary_post_all_reduce(all[0], TRIBUTARY_LOGICAL_AND, TRIBUTARY_F64, numbers, 1, NULL) == -1, "truth of doubles");

    /* Rank 2 works no more. */
    for (int i = 0; i < HOSTS; i++) {
        if (i != 2)
            check(tributary_post_barrier(all[i], NULL));
    }
    run(all, 2, results);
    for (int i = 0; i < HOSTS; i++)
        expect(i == 2 || (results[i].why == TRIBUTARY_RANK_SILENT && results[i].rank == 2), "who is gone");
    printf("%u members, %llu operations in the switches; rank %u is gone\n", size, (unsigned long long)counters.in_switches, results[0].rank);

    for (int i = 0; i < HOSTS; i++) {
        tributary_communicator_free(all[i]);
        tributary_host_free(hosts[i]);
        tributary_close(cards[i]);
        tributary_device_free(devices[i]);
    }
    tributary_trees_free(trees);
    return 0;
}
