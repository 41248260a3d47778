/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file h2_end.h  How a connection ended. */
#ifndef AGENT_NET_H2_END_H
#define AGENT_NET_H2_END_H

enum h2_end {
	H2_END_BROKEN, /**< error of the socket or of the protocol */
	H2_END_REFUSED, /**< no listener, or one side rejects the other */
	H2_END_SILENT, /**< nothing received for `silence_ms`, or no handshake */
	H2_END_GOODBYE, /**< closed by the other side, in order */
};

#endif
