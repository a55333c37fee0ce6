/* Joins ports to multicast groups at the subnet administrator: `join LID`, and on standard input lines of
   `GROUP PORT_GUID` (decimal, hexadecimal). A MCMemberRecord of InfiniBand 15.2.5.17 is set for each; the port that asks
   may be another than the one that joins. Status 1 and a line on standard error at the first answer that is not good. */
#include <endian.h>
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAD_LEN = 256,
    SA_CLASS = 3,
    SA_VERSION = 2,
    METHOD_SET = 2,
    MC_MEMBER_RECORD = 0x38,
    /* MGID, PortGID, Q_Key, traffic class, P_Key, service level, flow label, join state */
    COMPONENTS = 1 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16,
};

static void put64(uint8_t *at, uint64_t value)
{
    value = htobe64(value);
    memcpy(at, &value, sizeof value);
}

int main(int count, char **arguments)
{
    if (count != 2 || umad_init() < 0)
        return 2;
    int lid = atoi(arguments[1]);
    int port = umad_open_port(NULL, 0);
    int agent = port < 0 ? -1 : umad_register(port, SA_CLASS, SA_VERSION, 0, NULL);
    uint8_t *umad = calloc(1, umad_size() + MAD_LEN);
    if (agent < 0 || !umad) {
        fprintf(stderr, "no port: %d\n", port);
        return 2;
    }
    unsigned group;
    unsigned long long guid;
    uint64_t transaction = 0;
    while (scanf("%u %llx", &group, &guid) == 2) {
        memset(umad, 0, umad_size() + MAD_LEN);
        umad_set_addr(umad, lid, 1, 0, 0x80010000);
        uint8_t *mad = umad_get_mad(umad);
        mad[0] = 1;
        mad[1] = SA_CLASS;
        mad[2] = SA_VERSION;
        mad[3] = METHOD_SET;
        put64(mad + 8, ++transaction);
        mad[17] = MC_MEMBER_RECORD;
        mad[45] = 7;
        put64(mad + 48, COMPONENTS);
        uint8_t *record = mad + 56;
        /* MGID ff15:a01b:ffff::group + 1 */
        memcpy(record, "\xff\x15\xa0\x1b\xff\xff", 6);
        record[14] = (group + 1) >> 8;
        record[15] = group + 1;
        put64(record + 16, 0xfe80ull << 48);
        put64(record + 24, guid);
        record[34] = 0x0b;
        record[35] = 0x1b;
        record[40] = record[41] = 0xff;
        /* site-local, full member */
        record[48] = 0x51;
        int length = MAD_LEN;
        if (umad_send(port, agent, umad, MAD_LEN, 2000, 3) < 0
            || umad_recv(port, umad, &length, 10000) < 0 || umad_status(umad)) {
            fprintf(stderr, "group %u, port %llx: no answer\n", group, guid);
            return 1;
        }
        mad = umad_get_mad(umad);
        if (mad[4] || mad[5]) {
            fprintf(stderr, "group %u, port %llx: status %02x%02x\n", group, guid, mad[4], mad[5]);
            return 1;
        }
    }
    return 0;
}
