#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""wire A B SEED DELAY JITTER: a wire between two interfaces of this namespace. Each frame is late
by DELAY ms and up to JITTER ms more, and so may overtake others; one of 50 comes twice. Frames keep
what the kernel has still to do to them (PACKET_VNET_HDR)."""

import heapq, itertools, random, select, socket, sys, time

SOL_PACKET, PACKET_VNET_HDR, PACKET_OUTGOING, ETH_P_ALL = 263, 15, 4, 3
TWICE = 50
HELD = 5000  # frames on the wire, at most: then they are lost

dice = random.Random(int(sys.argv[3]))
delay, jitter = float(sys.argv[4]) / 1000, float(sys.argv[5]) / 1000
sides = []
for name in sys.argv[1:3]:
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.bind((name, ETH_P_ALL))
    s.setblocking(False)
    sides.append(s)
print("up", flush=True)
held, numbers = [], itertools.count()
while True:
    wait = max(0, held[0][0] - time.monotonic()) if held else None
    for s in select.select(sides, [], [], wait)[0]:
        frame, source = s.recvfrom(1 << 17)
        if source[2] == PACKET_OUTGOING or len(held) >= HELD:
            continue
        for _ in range(1 + (dice.randrange(TWICE) == 0)):
            heapq.heappush(
                held,
                (
                    time.monotonic() + delay + dice.random() * jitter,
                    next(numbers),
                    sides[s is sides[0]],
                    frame,
                ),
            )
    while held and held[0][0] <= time.monotonic():
        _, _, to, frame = heapq.heappop(held)
        try:
            to.send(frame)
        except OSError:  # its queue is full: lost, as on any wire
            pass
