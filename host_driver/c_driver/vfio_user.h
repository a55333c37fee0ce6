/* Client of the vfio-user protocol: a PCI device of another process, behind a Unix socket.
 * Written from the specification of libvfio-user (docs/vfio-user.rst there). */
#ifndef C_DRIVER_VFIO_USER_H
#define C_DRIVER_VFIO_USER_H

#include <stddef.h>
#include <stdint.h>

/* Indices of a PCI device's regions, and of its interrupts. */
#define VFIO_BAR0 0u
#define VFIO_CONFIG 7u
#define VFIO_MSIX 2u

struct vfio {
    int socket;
    uint16_t next_message;
};

/* Ends the program with a text: what cannot be mended in an example. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Connects and agrees on a version. Each of these functions ends the program if the server does not do as asked. */
void vfio_connect(struct vfio *device, const char *path);
void vfio_close(struct vfio *device);

/* Bytes of a region. */
uint64_t vfio_region_size(struct vfio *device, uint32_t region);

/* Reads and writes a region; the bytes are little-endian, as on the bus. */
void vfio_read(struct vfio *device, uint32_t region, uint64_t offset, void *bytes, uint32_t count);
void vfio_write(struct vfio *device, uint32_t region, uint64_t offset, const void *bytes, uint32_t count);

/* Lets the device reach a whole file at a bus address, and no longer. */
void vfio_dma_map(struct vfio *device, int file, uint64_t address, uint64_t size);
void vfio_dma_unmap(struct vfio *device, uint64_t address, uint64_t size);

/* An interrupt vector signals this eventfd from now on. */
void vfio_set_event(struct vfio *device, uint32_t vector, int event);

#endif
