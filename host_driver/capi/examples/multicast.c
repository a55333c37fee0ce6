/* Four simulated hosts over a bad network: the first one sends a large object, the others pass its blocks on. Then one of them
 * goes, and the others go on without it. Once with blocks that the hosts carry, once with blocks that the cards carry.
 *
 * cargo build -p tributary-capi
 * cc -I host_driver/capi host_driver/capi/examples/multicast.c -L target/debug -ltributary_c -Wl,-rpath,target/debug -o multicast
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tributary.h"

#define HOSTS 4
#define BYTES 100001

static int check(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", tributary_error());
        exit(1);
    }
    return result;
}

static void fill(uint8_t *bytes, uint32_t seed) {
    for (size_t i = 0; i < BYTES; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* All hosts are in one thread, so each works in turn until those that are there have the message. */
static void receive(tributary_group **groups, const uint8_t *right) {
    int got[HOSTS] = {0};
    for (int left = 1; left;) {
        left = 0;
        for (int host = 0; host < HOSTS; host++) {
            tributary_group_message message;
            if (groups[host] == NULL) continue;
            if (check(tributary_group_next(groups[host], 0, &message)) == 1) {
                if (message.length != BYTES || memcmp(message.payload, right, BYTES) != 0) {
                    fprintf(stderr, "host %d got something else\n", host);
                    exit(1);
                }
                got[host]++;
                tributary_group_message_free(&message);
            }
            left |= host > 0 && got[host] == 0;
        }
    }
}

/* Until all that are there know how it ended: each works on until then, since it may have to tell the others. The verdict of the
 * root. */
static tributary_group_verdict end(tributary_group **groups, int64_t *watermarks) {
    tributary_group_verdict verdict = {0}, of_root = {0};
    for (int left = 1; left;) {
        left = 0;
        for (int host = HOSTS - 1; host >= 0; host--) {
            if (groups[host] == NULL) continue;
            left |= !check(tributary_group_close(groups[host], 0, &verdict, watermarks));
            of_root = verdict;
        }
    }
    return of_root;
}

static int play(int offload) {
    tributary_sim_config links = {.seed = 1, .loss = 0.01, .duplication = 0.01, .delay = 20, .reorder = 64};
    tributary_device *devices[HOSTS];
    tributary_card *card;
    tributary_seat *seats[HOSTS];
    tributary_group *groups[HOSTS];
    tributary_address members[HOSTS];
    tributary_endpoint_config config;
    tributary_group_options options;
    static uint8_t bytes[BYTES];
    int64_t watermarks[HOSTS];

    check(tributary_sim_network(&links, HOSTS, devices));
    tributary_endpoint_defaults(&config);
    for (int host = 0; host < HOSTS; host++) {
        check(tributary_open(devices[host], (uint32_t)host, 1024, &card));
        check(tributary_seat_new(card, &config, &seats[host]));
        members[host] = tributary_seat_address(seats[host]);
        tributary_close(card);
        tributary_device_free(devices[host]);
    }
    tributary_group_defaults(&options);
    options.block_bytes = 8192;
    options.memory = 1 << 20;
    options.resumable = 1;
    options.offload = (uint8_t)offload;
    /* Of simulated time. */
    options.silence_ns = 5000000;
    for (int host = 0; host < HOSTS; host++) {
        check(tributary_group_create(seats[host], members, HOSTS, &options, &groups[host]));
    }
    fill(bytes, 1);
    check(tributary_group_send(groups[0], bytes, BYTES, NULL));
    receive(groups, bytes);

    /* One leaves without a word. */
    tributary_group_free(groups[2]);
    groups[2] = NULL;
    tributary_group_verdict verdict = end(groups, watermarks);
    if (verdict.success || verdict.suspect != 2 || verdict.why != TRIBUTARY_GONE || watermarks[2] != -1 || watermarks[1] != 1) {
        fprintf(stderr, "a wrong verdict: suspect %u\n", verdict.suspect);
        return 1;
    }
    for (int host = 0; host < HOSTS; host++) {
        if (groups[host] != NULL) check(tributary_group_resume(groups[host], &groups[host]));
    }
    while (tributary_group_is_open(groups[0]) != 1) {
        for (int host = 0; host < HOSTS; host++) {
            tributary_group_message message;
            if (groups[host] != NULL && check(tributary_group_next(groups[host], 0, &message)) == 1) return 1;
        }
    }
    uint32_t number;
    fill(bytes, 2);
    check(tributary_group_send(groups[0], bytes, BYTES, &number));
    receive(groups, bytes);
    verdict = end(groups, NULL);
    if (!verdict.success || verdict.messages != 2 || number != 1) return 1;
    for (int host = 0; host < HOSTS; host++) {
        tributary_group_free(groups[host]);
    }
    printf("%s: 2 messages at all that are there\n", offload ? "cards" : "hosts");
    return 0;
}

int main(void) {
    return play(0) || play(1);
}
