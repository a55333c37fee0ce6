/* A card: registers, commands, memory. Written from docs/card.md and the generated header alone. */
#ifndef C_DRIVER_CARD_H
#define C_DRIVER_CARD_H

#include "tributary_card.h"
#include "vfio_user.h"

struct card {
    struct vfio vfio;
    uint32_t node;
    uint16_t mtu;
    uint32_t queue_pairs, regions, vectors;
    /* Next bus address that was never handed out. */
    uint64_t next_address;
};

/* Memory that program and card both reach. */
struct memory {
    uint8_t *bytes;
    uint64_t address;
    uint64_t length;
};

/* Rights of a region. */
enum {
    LOCAL_WRITE = 1,
    REMOTE_WRITE = 2,
    REMOTE_READ = 4,
    REMOTE_ATOMIC = 8,
};

/* From reset to a card that sends and receives. */
void card_open(struct card *card, const char *socket, uint32_t node, uint16_t mtu);
/* Resets it: it does nothing any more. */
void card_close(struct card *card);

uint32_t card_read(struct card *card, uint32_t offset);
void card_write(struct card *card, uint32_t offset, uint32_t value);
uint64_t card_counter(struct card *card, uint32_t counter);

/* Runs a command; its status (TRIB_STATUS_...). `args` has as many words as the command looks at; `results` may be NULL. */
uint32_t card_command(struct card *card, uint32_t command, uint32_t index, const uint32_t *args, unsigned count,
                      uint32_t results[2]);

struct memory card_memory(struct card *card, uint64_t length);
void card_free(struct card *card, struct memory *memory);

/* Makes memory a region; its key. */
uint32_t card_set_region(struct card *card, uint32_t index, uint8_t variant, uint16_t domain, const struct memory *memory,
                         unsigned rights);

/* Milliseconds of some clock; ends the program if `since` is PATIENCE_MS ago. */
#ifndef PATIENCE_MS
#define PATIENCE_MS 10000
#endif
uint64_t now_ms(void);
void give_up(uint64_t since, const char *what);

#endif
