/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file h2_session.h  The nghttp2 session of a connection, for h2_conn.c. */
#ifndef AGENT_NET_H2_SESSION_H
#define AGENT_NET_H2_SESSION_H

struct h2_conn;

/** Makes it, when both sides know each other. 0 or -ENOMEM. */
int h2_session_start(struct h2_conn *conn);

#endif
