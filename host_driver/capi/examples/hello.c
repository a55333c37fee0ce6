/* Two simulated hosts over a bad link: 100 messages there, each delivered once. Every tenth is a long one.
 *
 * cargo build -p tributary-capi
 * cc -I host_driver/capi host_driver/capi/examples/hello.c -L target/debug -ltributary_c -Wl,-rpath,target/debug -o hello
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tributary.h"

#define MESSAGES 100
#define LONG 200000

static void check(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", tributary_error());
        exit(1);
    }
}

static size_t length_of(int message) {
    return message % 10 == 9 ? LONG : 32;
}

int main(void) {
    tributary_sim_config links = {.seed = 1, .loss = 0.01, .duplication = 0.01, .delay = 20, .reorder = 64};
    tributary_device *devices[2];
    tributary_card *cards[2];
    tributary_endpoint *ends[2];
    tributary_endpoint_config config;
    check(tributary_sim_network(&links, 2, devices));
    tributary_endpoint_defaults(&config);
    for (int node = 0; node < 2; node++) {
        check(tributary_open(devices[node], (uint32_t)node, 1024, &cards[node]));
        check(tributary_endpoint_new(cards[node], &config, &ends[node]));
        /* What was made on a card keeps it open. */
        tributary_close(cards[node]);
        tributary_device_free(devices[node]);
    }
    tributary_address to = tributary_endpoint_address(ends[1]);
    for (int i = 0; i < MESSAGES; i++) {
        static char text[LONG];
        snprintf(text, sizeof text, "message %d", i);
        check(tributary_send(ends[0], to, text, length_of(i), NULL));
    }
    int delivered[MESSAGES] = {0};
    int completed = 0, arrived = 0;
    while (completed < MESSAGES || arrived < MESSAGES) {
        for (int node = 0; node < 2; node++) {
            tributary_event event;
            int found = tributary_wait(ends[node], 1000, &event);
            check(found);
            if (found == 0) continue;
            if (event.kind == TRIBUTARY_DELIVERED) {
                int i = -1;
                if (sscanf((const char *)event.payload, "message %d", &i) != 1 || i < 0 || i >= MESSAGES || delivered[i]++ ||
                    event.length != length_of(i)) {
                    fprintf(stderr, "delivered twice, or not sent: %.*s\n", 32, (const char *)event.payload);
                    return 1;
                }
                arrived++;
            } else if (event.status == TRIBUTARY_OK) {
                completed++;
            } else {
                fprintf(stderr, "message %llu ended as %d\n", (unsigned long long)event.id, event.status);
                return 1;
            }
            tributary_event_free(&event);
        }
    }
    tributary_endpoint_free(ends[0]);
    tributary_endpoint_free(ends[1]);
    printf("%d messages delivered once\n", arrived);
    return 0;
}
