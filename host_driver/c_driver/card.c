#define _GNU_SOURCE
#include "card.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Configuration space: the PCI Command register, its bits for memory accesses and bus mastering. */
#define PCI_COMMAND 4u
#define PCI_MEMORY 2u
#define PCI_BUS_MASTER 4u

/* Bus addresses are handed out from here on, never one twice, so that a late access meets nothing. */
#define FIRST_ADDRESS 0x100000000ull
#define PAGE_BYTES 4096u

uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void give_up(uint64_t since, const char *what) {
    if (now_ms() - since > PATIENCE_MS) fail("waited too long for %s", what);
}

uint32_t card_read(struct card *card, uint32_t offset) {
    uint8_t bytes[4];
    vfio_read(&card->vfio, VFIO_BAR0, offset, bytes, sizeof bytes);
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

void card_write(struct card *card, uint32_t offset, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    vfio_write(&card->vfio, VFIO_BAR0, offset, bytes, sizeof bytes);
}

/* Waits until no command runs and no reset is under way; the status. */
static uint32_t wait_idle(struct card *card) {
    uint64_t start = now_ms();
    uint32_t status;
    while (TRIB_GET(TRIB_CARD_STATUS_BUSY, status = card_read(card, TRIB_CARD_STATUS)))
        give_up(start, "status.busy");
    return TRIB_GET(TRIB_CARD_STATUS_CODE, status);
}

static void reset(struct card *card) {
    card_write(card, TRIB_CARD_CONTROL, TRIB_PUT(TRIB_CARD_CONTROL_RESET, 1));
    wait_idle(card);
}

void card_open(struct card *card, const char *socket, uint32_t node, uint16_t mtu) {
    memset(card, 0, sizeof *card);
    vfio_connect(&card->vfio, socket);
    card->node = node;
    card->mtu = mtu;
    card->next_address = FIRST_ADDRESS;

    uint8_t pci_command[2];
    vfio_read(&card->vfio, VFIO_CONFIG, PCI_COMMAND, pci_command, sizeof pci_command);
    pci_command[0] |= PCI_MEMORY | PCI_BUS_MASTER;
    vfio_write(&card->vfio, VFIO_CONFIG, PCI_COMMAND, pci_command, sizeof pci_command);

    uint32_t id = card_read(card, TRIB_CARD_ID);
    if (id != TRIB_CARD_MAGIC) fail("%s: id 0x%x is no card's", socket, id);
    uint32_t version = card_read(card, TRIB_CARD_VERSION);
    if (TRIB_GET(TRIB_CARD_VERSION_MAJOR, version) != TRIB_GET(TRIB_CARD_VERSION_MAJOR, TRIB_CARD_MAP_VERSION) ||
        TRIB_GET(TRIB_CARD_VERSION_MINOR, version) < TRIB_GET(TRIB_CARD_VERSION_MINOR, TRIB_CARD_MAP_VERSION))
        fail("%s: map version 0x%x, this driver knows 0x%x", socket, version, TRIB_CARD_MAP_VERSION);
    uint32_t features = card_read(card, TRIB_CARD_FEATURES);
    if (!TRIB_GET(TRIB_CARD_FEATURES_XUD, features)) fail("%s: no datagrams", socket);
    uint32_t sizes = card_read(card, TRIB_CARD_SIZES);
    card->queue_pairs = 1u << TRIB_GET(TRIB_CARD_SIZES_QPS, sizes);
    card->regions = 1u << TRIB_GET(TRIB_CARD_SIZES_REGIONS, sizes);
    card->vectors = 1u << TRIB_GET(TRIB_CARD_SIZES_VECTORS, sizes);
    uint64_t bar0 = vfio_region_size(&card->vfio, VFIO_BAR0);
    if (bar0 != trib_card_bar0_bytes(TRIB_GET(TRIB_CARD_SIZES_QPS, sizes)))
        fail("%s: BAR0 of 0x%llx bytes is not that of %u queue pairs", socket, (unsigned long long)bar0,
             card->queue_pairs);

    reset(card);
    card_write(card, TRIB_CARD_NODE, TRIB_PUT(TRIB_CARD_NODE_NUMBER, node));
    card_write(card, TRIB_CARD_MTU, TRIB_PUT(TRIB_CARD_MTU_BYTES, mtu));
    card_write(card, TRIB_CARD_CONTROL, TRIB_PUT(TRIB_CARD_CONTROL_ENABLE, 1));
}

void card_close(struct card *card) {
    reset(card);
    vfio_close(&card->vfio);
}

uint64_t card_counter(struct card *card, uint32_t counter) {
    card_write(card, TRIB_CARD_STATISTICS_SELECT, TRIB_PUT(TRIB_CARD_STATISTICS_SELECT_COUNTER, counter));
    uint64_t low = card_read(card, TRIB_CARD_STATISTICS_LOW);
    return low | (uint64_t)card_read(card, TRIB_CARD_STATISTICS_HIGH) << 32;
}

uint32_t card_command(struct card *card, uint32_t command, uint32_t index, const uint32_t *args, unsigned count,
                      uint32_t results[2]) {
    wait_idle(card);
    for (unsigned at = 0; at < count; at++) card_write(card, TRIB_CARD_ARG0 + 4 * at, args[at]);
    card_write(card, TRIB_CARD_COMMAND,
               TRIB_PUT(TRIB_CARD_COMMAND_CODE, command) | TRIB_PUT(TRIB_CARD_COMMAND_INDEX, index));
    uint32_t status = wait_idle(card);
    if (results != NULL) {
        results[0] = card_read(card, TRIB_CARD_RESULT0);
        results[1] = card_read(card, TRIB_CARD_RESULT1);
    }
    return status;
}

struct memory card_memory(struct card *card, uint64_t length) {
    struct memory memory = {.length = (length + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES};
    int file = memfd_create("c_driver", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)memory.length) < 0) fail("no memory: %s", strerror(errno));
    void *mapped = mmap(NULL, memory.length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) fail("no memory: %s", strerror(errno));
    memory.bytes = mapped;
    memory.address = card->next_address;
    /* A page in between, so that an access beyond the end meets nothing. */
    card->next_address += memory.length + PAGE_BYTES;
    vfio_dma_map(&card->vfio, file, memory.address, memory.length);
    close(file);
    return memory;
}

void card_free(struct card *card, struct memory *memory) {
    vfio_dma_unmap(&card->vfio, memory->address, memory->length);
    munmap(memory->bytes, memory->length);
    memory->bytes = NULL;
}

uint32_t card_set_region(struct card *card, uint32_t index, uint8_t variant, uint16_t domain, const struct memory *memory,
                         unsigned rights) {
    uint32_t args[TRIB_SET_REGION_ARGS] = {0};
    TRIB_ARG_PUT(TRIB_SET_REGION_VARIANT, args, variant);
    TRIB_ARG_PUT(TRIB_SET_REGION_LOCAL_WRITE, args, (rights & LOCAL_WRITE) != 0);
    TRIB_ARG_PUT(TRIB_SET_REGION_REMOTE_WRITE, args, (rights & REMOTE_WRITE) != 0);
    TRIB_ARG_PUT(TRIB_SET_REGION_REMOTE_READ, args, (rights & REMOTE_READ) != 0);
    TRIB_ARG_PUT(TRIB_SET_REGION_REMOTE_ATOMIC, args, (rights & REMOTE_ATOMIC) != 0);
    TRIB_ARG_PUT(TRIB_SET_REGION_DOMAIN, args, domain);
    TRIB_ARG_PUT(TRIB_SET_REGION_BASE, args, memory->address);
    TRIB_ARG_PUT(TRIB_SET_REGION_LENGTH, args, memory->length);
    uint32_t status = card_command(card, TRIB_COMMAND_SET_REGION, index, args, TRIB_SET_REGION_ARGS, NULL);
    if (status != TRIB_STATUS_OK) fail("SET_REGION: status %u", status);
    return TRIB_PUT(TRIB_KEY_INDEX, index) | TRIB_PUT(TRIB_KEY_VARIANT, variant);
}
