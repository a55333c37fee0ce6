#include "vfio_user.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    VERSION = 1,
    DMA_MAP = 2,
    DMA_UNMAP = 3,
    GET_REGION_INFO = 5,
    SET_IRQS = 8,
    REGION_READ = 9,
    REGION_WRITE = 10,
};

/* Of the header's flags: bits 3:0 are 1 in a reply, bit 5 says that it is an error. */
#define TYPE_MASK 0xfu
#define REPLY 1u
#define ERROR (1u << 5)

#define DMA_READ_WRITE 3u
#define IRQ_BY_EVENTFD (1u << 2 | 1u << 5)

/* The longest message here: a register access, or the version with its text. */
#define PAYLOAD_MAX 512u

struct header {
    uint16_t message;
    uint16_t command;
    uint32_t size;
    uint32_t flags;
    uint32_t error;
};

struct region_access {
    uint64_t offset;
    uint32_t region;
    uint32_t count;
};

struct region_info {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t capabilities;
    uint64_t size;
    uint64_t offset;
};

struct dma_map {
    uint32_t argsz;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t size;
};

struct dma_unmap {
    uint32_t argsz;
    uint32_t flags;
    uint64_t address;
    uint64_t size;
};

struct irq_set {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t start;
    uint32_t count;
};

_Noreturn void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

/* Sends a message, with a file if that is not -1. */
static void send_message(struct vfio *device, const void *bytes, size_t count, int file) {
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    if (file >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *with = CMSG_FIRSTHDR(&message);
        with->cmsg_level = SOL_SOCKET;
        with->cmsg_type = SCM_RIGHTS;
        with->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(with), &file, sizeof file);
    }
    ssize_t sent = sendmsg(device->socket, &message, MSG_NOSIGNAL);
    if (sent < 0 || (size_t)sent != count) fail("cannot send to the card: %s", strerror(errno));
}

static void receive(struct vfio *device, void *bytes, size_t count) {
    char *at = bytes;
    while (count > 0) {
        ssize_t got = recv(device->socket, at, count, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) fail("the card is gone, or did not understand");
        at += got;
        count -= (size_t)got;
    }
}

/* Sends a command and waits for its reply; bytes of the reply's payload. */
static uint32_t call(struct vfio *device, uint16_t command, const void *payload, size_t count, int file,
                     unsigned char reply[PAYLOAD_MAX]) {
    unsigned char message[sizeof(struct header) + PAYLOAD_MAX];
    struct header header = {
        .message = device->next_message++,
        .command = command,
        .size = (uint32_t)(sizeof header + count),
    };
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, payload, count);
    send_message(device, message, sizeof header + count, file);

    struct header answer;
    receive(device, &answer, sizeof answer);
    if ((answer.flags & TYPE_MASK) != REPLY || answer.message != header.message || answer.size < sizeof answer ||
        answer.size - sizeof answer > PAYLOAD_MAX)
        fail("an answer to vfio-user command %u that is none", command);
    uint32_t length = answer.size - (uint32_t)sizeof answer;
    receive(device, reply, length);
    if (answer.flags & ERROR) fail("vfio-user command %u: %s", command, strerror((int)answer.error));
    return length;
}

void vfio_connect(struct vfio *device, const char *path) {
    static const char capabilities[] = "{\"capabilities\":{\"max_msg_fds\":1,\"max_data_xfer_size\":1048576}}";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fail("%s: too long for the name of a socket", path);
    strcpy(address.sun_path, path);
    device->next_message = 0;
    device->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (device->socket < 0 || connect(device->socket, (struct sockaddr *)&address, sizeof address) < 0)
        fail("%s: %s", path, strerror(errno));

    /* Version 0.0: major and minor, then what this side can do. */
    unsigned char payload[4 + sizeof capabilities] = {0};
    unsigned char reply[PAYLOAD_MAX];
    memcpy(payload + 4, capabilities, sizeof capabilities);
    uint16_t major;
    if (call(device, VERSION, payload, sizeof payload, -1, reply) < 4) fail("%s: no version", path);
    memcpy(&major, reply, sizeof major);
    if (major != 0) fail("%s: version %u of vfio-user, not 0", path, major);
}

void vfio_close(struct vfio *device) {
    close(device->socket);
}

uint64_t vfio_region_size(struct vfio *device, uint32_t region) {
    struct region_info info = {.argsz = sizeof info, .index = region};
    unsigned char reply[PAYLOAD_MAX];
    if (call(device, GET_REGION_INFO, &info, sizeof info, -1, reply) < sizeof info) fail("no region %u", region);
    memcpy(&info, reply, sizeof info);
    return info.size;
}

void vfio_read(struct vfio *device, uint32_t region, uint64_t offset, void *bytes, uint32_t count) {
    struct region_access access = {.offset = offset, .region = region, .count = count};
    unsigned char reply[PAYLOAD_MAX];
    uint32_t length = call(device, REGION_READ, &access, sizeof access, -1, reply);
    if (length != sizeof access + count) fail("read of %u bytes at 0x%llx", count, (unsigned long long)offset);
    memcpy(bytes, reply + sizeof access, count);
}

void vfio_write(struct vfio *device, uint32_t region, uint64_t offset, const void *bytes, uint32_t count) {
    struct region_access access = {.offset = offset, .region = region, .count = count};
    unsigned char payload[sizeof access + 8];
    unsigned char reply[PAYLOAD_MAX];
    if (count > 8) fail("write of %u bytes", count);
    memcpy(payload, &access, sizeof access);
    memcpy(payload + sizeof access, bytes, count);
    call(device, REGION_WRITE, payload, sizeof access + count, -1, reply);
}

void vfio_dma_map(struct vfio *device, int file, uint64_t address, uint64_t size) {
    struct dma_map map = {.argsz = sizeof map, .flags = DMA_READ_WRITE, .address = address, .size = size};
    unsigned char reply[PAYLOAD_MAX];
    call(device, DMA_MAP, &map, sizeof map, file, reply);
}

void vfio_dma_unmap(struct vfio *device, uint64_t address, uint64_t size) {
    struct dma_unmap unmap = {.argsz = sizeof unmap, .address = address, .size = size};
    unsigned char reply[PAYLOAD_MAX];
    call(device, DMA_UNMAP, &unmap, sizeof unmap, -1, reply);
}

void vfio_set_event(struct vfio *device, uint32_t vector, int event) {
    struct irq_set set = {
        .argsz = sizeof set,
        .flags = IRQ_BY_EVENTFD,
        .index = VFIO_MSIX,
        .start = vector,
        .count = 1,
    };
    unsigned char reply[PAYLOAD_MAX];
    call(device, SET_IRQS, &set, sizeof set, event, reply);
}
